// SASS, the instructions of a GPU: the format of nvdisasm, and the lines of a kernel's text that instructions come
// from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace croton::runtime::cuda {

struct SassLine {
  std::string text;        ///< an instruction with its address, or a label
  std::vector<int> lines;  ///< of the program, from 1: the line that it comes from, then the lines that inlined it
};

struct SassFunction {
  std::string name;
  std::vector<SassLine> lines;
};

/// Reads the output of nvdisasm for a cubin with its options -c, or -c and -gi for lines. Ignores everything that is
/// not an instruction, a label or a place.
std::vector<SassFunction> parse_sass(std::string_view listing);

/// Only the instructions, function after function.
std::string print_sass(const std::vector<SassFunction>& functions);

/// The lines of a kernel's own text, each with the instructions that come from it or from functions that it inlined.
/// `prelude_lines`: the number of lines of the program before the text. Instructions of other lines are at the end.
std::string annotate(const std::vector<SassFunction>& functions, std::string_view text, int prelude_lines);

}  // namespace croton::runtime::cuda
