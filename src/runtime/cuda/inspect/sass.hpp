// SASS, the instructions of a GPU: how nvdisasm prints them, and which lines of a kernel's text they came from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace croton::runtime::cuda {

struct SassLine {
  std::string text;        ///< an instruction with its address, or a label
  std::vector<int> lines;  ///< of the program, from 1: the line it came from, then the lines that inlined that one
};

struct SassFunction {
  std::string name;
  std::vector<SassLine> lines;
};

/// Reads what nvdisasm prints for a cubin with its options -c, or -c and -gi for lines. Anything that is neither an
/// instruction, a label nor a place is passed over.
std::vector<SassFunction> parse_sass(std::string_view listing);

/// The instructions alone, function after function.
std::string print_sass(const std::vector<SassFunction>& functions);

/// The lines of a kernel's own text, each with the instructions that came from it or from what it inlined.
/// `prelude_lines`: how many lines of the program stand in front of the text. Instructions of no such line stand at
/// the end.
std::string annotate(const std::vector<SassFunction>& functions, std::string_view text, int prelude_lines);

}  // namespace croton::runtime::cuda
