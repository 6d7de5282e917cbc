// Each barrier and each fence of the templates and of generated texts is needed, and the simulator finds each one that
// is missing: texts without one of them are reported, in at least one of a few orders of threads and blocks. Other
// results do not count, since the next machine may give the right ones.
#include <croton/croton.hpp>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "codegen/embedded.hpp"
#include "codegen/emit.hpp"
#include "runtime/simulator/kernels.hpp"
#include "template_programs.hpp"

namespace ct = croton;
using namespace croton::test;

namespace {

constexpr int orders = 4;

// Where a word begins in a text, from a position on.
std::vector<std::size_t> places_of(std::string_view word, std::string_view text, std::size_t from = 0) {
  std::vector<std::size_t> places;
  for (std::size_t at = text.find(word, from); at != text.npos; at = text.find(word, at + 1)) places.push_back(at);
  return places;
}

std::string without(std::string text, std::size_t place, std::size_t size) { return text.erase(place, size); }

// The line of a place, and its number.
std::string line_at(std::string_view text, std::size_t place) {
  const std::size_t begin = text.rfind('\n', place) + 1, end = text.find('\n', place);
  const auto number = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(place), '\n');
  return std::to_string(number) + ": " + std::string(text.substr(begin, end - begin));
}

using Change = std::function<std::string(std::string)>;

// Whether programs whose texts have that change are reported in one of the orders.
bool are_reported(const std::vector<Program>& programs, const std::vector<std::vector<ct::Array>>& right,
                  const Change& change) {
  for (int seed = 1; seed <= orders; ++seed) {
    const ct::change_flags flags{"cuda_simulator_seed=" + std::to_string(seed)};
    croton::runtime::simulator::change_texts(change);
    for (std::size_t i = 0; i < programs.size(); ++i) {
      std::string report;
      const Fate fate = fate_of({programs[i]}, {right[i]}, &report);
      REQUIRE(fate != Fate::does_not_compile);
      if (fate == Fate::reported && report.starts_with("simulated kernel ")) return true;
    }
  }
  return false;
}

struct Template {
  std::string_view file;
  std::vector<Program> programs;
};

constexpr std::array<std::string_view, 3> words = {"warp_barrier();", "memory_fence();", " barrier();"};

bool has_synchronisation(std::string_view text) {
  return std::ranges::any_of(words, [&](std::string_view word) { return !places_of(word, text).empty(); });
}

}  // namespace

TEST_CASE("a template without one of its barriers or fences is reported", "[simulator]") {
  const ct::change_flags flags{"cuda_simulator=1,device=cuda0"};
  const RestoredTexts restored;
  const std::vector<Template> templates = {
      {"tiles.cuh", tile_programs()},
      {"contract.cuh", contract_programs()},
      {"row.cuh", joined(in_place_warp_programs(), loop_programs())},
      {"row_packs.cuh", joined(joined(in_place_programs(), split_programs()), meeting_programs())},
      {"column_packs.cuh", split_column_programs()},
      {"inner_outer.cuh", inner_outer_programs()},
      {"totals.cuh", joined(split_column_programs(), split_programs())},
      {"loop.cuh", loop_programs()}};
  for (const auto& file : croton::codegen::embedded_files()) {
    if (file.path.starts_with("common/device_") || !has_synchronisation(file.text)) continue;
    INFO(file.path << " has barriers or fences, and no programs here");
    CHECK(std::ranges::find(templates, file.path, &Template::file) != templates.end());
  }
  int count = 0;
  for (const Template& which : templates) {
    const std::string text = template_text(which.file);
    croton::runtime::simulator::change_texts({});
    const auto right = results_of(which.programs);
    for (const std::string_view word : words) {
      for (const std::size_t place : places_of(word, text)) {
        const std::string broken = without(text, place, word.size());
        INFO("without " << word << " of " << which.file << ", line " << line_at(text, place));
        CHECK(are_reported(which.programs, right,
                           [&](std::string unit) { return replaced(std::move(unit), text, broken); }));
        ++count;
      }
    }
  }
  CHECK(count >= 10);
}

TEST_CASE("a generated text without one of its barriers is reported", "[simulator]") {
  const ct::change_flags flags{"cuda_simulator=1,device=cuda0"};
  const RestoredTexts restored;
  const std::size_t prelude = croton::codegen::prelude(croton::codegen::Target::cuda, true).size();
  int count = 0;
  for (const Program& program : joined(in_place_programs(), loop_programs())) {
    std::vector<std::string> units;
    croton::runtime::simulator::change_texts([&](std::string unit) {
      units.push_back(unit);
      return unit;
    });
    const std::vector<std::vector<ct::Array>> right = {program()};
    for (const std::string& whole : units) {
      for (const std::string_view word : {"group.sync();", "team.sync();"}) {
        for (const std::size_t place : places_of(word, whole, prelude)) {
          INFO("without " << word << " of line " << line_at(whole, place) << "\n" << whole.substr(prelude));
          CHECK(are_reported({program}, right, [&](std::string unit) {
            return unit == whole ? without(std::move(unit), place, word.size()) : unit;
          }));
          ++count;
        }
      }
    }
  }
  CHECK(count >= 5);
}
