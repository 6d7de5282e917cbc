#include "runtime/cuda/inspect/sass.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>

namespace croton::runtime::cuda {
namespace {

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// N of `//## File "kernel.cu", line N inlined at ...`; 0 for other text.
int line_number(std::string_view place) {
  constexpr std::string_view word = "\", line ";
  const std::size_t at = place.find(word);
  int number = 0;
  if (at != place.npos) std::from_chars(place.data() + at + word.size(), place.data() + place.size(), number);
  return number;
}

/// The line of the kernel's own text for an instruction: the innermost one, as a template or a function of the prelude
/// works for the line that called it.
int own_line(const SassLine& sass, int prelude_lines) {
  const auto own = std::ranges::find_if(sass.lines, [&](int line) { return line > prelude_lines; });
  return own == sass.lines.end() ? 0 : *own - prelude_lines;
}

}  // namespace

std::vector<SassFunction> parse_sass(std::string_view listing) {
  constexpr std::string_view section = ".text.", place_mark = "//## File ";
  std::vector<SassFunction> functions;
  std::vector<int> place;
  bool in_place = false;
  for (const std::string_view raw : split_lines(listing)) {
    const std::string_view line = trimmed(raw);
    if (line.starts_with(place_mark)) {
      if (!in_place) place.clear();
      in_place = true;
      if (const int number = line_number(line); number > 0) place.push_back(number);
      continue;
    }
    in_place = false;
    if (line.starts_with(section) && line.ends_with(":")) {
      functions.push_back({std::string(line.substr(section.size(), line.size() - section.size() - 1)), {}});
      place.clear();
      continue;
    }
    if (functions.empty()) continue;
    // Subroutines within the function, such as those of divisions, have labels like
    // "$__internal_0_$__cuda_sm20_div_u64:".
    const bool label = (line.starts_with(".L_") || line.starts_with("$")) && line.ends_with(":");
    if (line.starts_with("/*") || label) functions.back().lines.push_back({std::string(line), place});
  }
  return functions;
}

std::string print_sass(const std::vector<SassFunction>& functions) {
  std::string text;
  for (const SassFunction& function : functions) {
    text += function.name + ":\n";
    for (const SassLine& line : function.lines)
      text += fmt::format("{}{}\n", line.text.starts_with("/*") ? "  " : "", line.text);
  }
  return text;
}

std::string annotate(const std::vector<SassFunction>& functions, std::string_view source, int prelude_lines) {
  const std::vector<std::string_view> lines = split_lines(source);
  std::string text;
  for (const SassFunction& function : functions) {
    std::map<int, std::vector<std::string_view>> by_line;  // 0: of none
    std::size_t instructions = 0;
    for (const SassLine& sass : function.lines) {
      if (!sass.text.starts_with("/*")) continue;  // labels: instructions of a line may be apart
      by_line[own_line(sass, prelude_lines)].push_back(sass.text);
      ++instructions;
    }
    text += fmt::format("{}: {} instructions\n", function.name, instructions);
    const auto add = [&](int line) {
      for (const std::string_view sass : by_line[line]) text += fmt::format("      |     {}\n", sass);
    };
    int number = 0;
    for (const std::string_view line : lines) {
      text += fmt::format("{:5} | {}\n", ++number, line);
      add(number);
    }
    if (by_line.contains(0)) text += "      | of no line\n";
    add(0);
  }
  return text;
}

}  // namespace croton::runtime::cuda
