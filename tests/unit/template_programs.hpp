// Programs that use the templates of GPU kernels, and broken texts for them: for tests that break the templates
// (test_mutants.cpp, test_missing_barriers.cpp).
#pragma once

#include <croton/croton.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace croton::test {

/// Calls a function, maybe several times, and returns all results.
using Program = std::function<std::vector<Array>()>;

/// Sizes go past a warp, a block, and the blocks of trees.
std::vector<Program> pointwise_programs();
std::vector<Program> tile_programs();
std::vector<Program> row_programs();
std::vector<Program> column_programs();
std::vector<Program> split_programs();
std::vector<Program> meeting_programs();
std::vector<Program> group_programs();
std::vector<Program> contract_programs();
/// Reductions over columns whose parts are joined by the last block.
std::vector<Program> split_column_programs();
/// A row and a column kernel in one launch.
std::vector<Program> inner_outer_programs();
/// Results of rows take the place of operands that all lanes of a warp, or all warps of a block, read.
std::vector<Program> in_place_programs();
/// The same in the form that loops also have.
std::vector<Program> in_place_warp_programs();
/// Reductions of rows by a warp each, without packs.
std::vector<Program> warp_row_programs();
/// Loops whose steps all blocks share, one block runs, or each block runs for its own rows.
std::vector<Program> loop_programs();

/// Both lists.
std::vector<Program> joined(std::vector<Program> first, const std::vector<Program>& more);

enum class Fate { reported, different, survived, does_not_compile };
/// The outcome of programs whose right results are given; those after the first that differs do not run. `report` gets
/// the simulator's message.
Fate fate_of(const std::vector<Program>& programs, const std::vector<std::vector<Array>>& right,
             std::string* report = nullptr);
std::vector<std::vector<Array>> results_of(const std::vector<Program>& programs);

/// The text of a file of codegen_templates.
std::string template_text(std::string_view file);
/// With the first occurrence of a text replaced by another one; unchanged if there is none.
std::string replaced(std::string unit, const std::string& from, const std::string& to);

/// Compiles texts unchanged again, when it ends.
struct RestoredTexts {
  RestoredTexts() = default;
  ~RestoredTexts();
  RestoredTexts(const RestoredTexts&) = delete;
  RestoredTexts& operator=(const RestoredTexts&) = delete;
};

}  // namespace croton::test
