// Parses the lines `rule group: declarations left => right` of tests/text.
#pragma once

#include <croton/error.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace croton::test {

inline std::string trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

inline std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

inline bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

struct RuleLine {
  std::vector<std::string> words;   // "rule", the group, then ieee, special, in=LOW..HIGH
  std::string inputs, left, right;  // declarations as lines of a graph, expressions
  std::string left_graph() const { return inputs + "return " + left; }
  std::string right_graph() const { return inputs + "return " + right; }
};

/// The graph text of "x: f32[n], y: f32[n] expression"; `rest` is set to the expression.
inline std::string declarations(const std::string& text, std::string& rest) {
  std::string result;
  std::size_t at = 0;
  while (true) {
    const std::size_t colon = text.find(':', at), close = text.find(']', at);
    if (colon == std::string::npos || close == std::string::npos || colon > close) break;
    result += trim(std::string_view(text).substr(at, close + 1 - at)) + " = input\n";
    at = close + 1;
    const std::size_t comma = text.find_first_not_of(' ', at);
    if (comma == std::string::npos || text[comma] != ',') break;
    at = comma + 1;
  }
  rest = trim(std::string_view(text).substr(at));
  return result;
}

inline RuleLine parse_rule_line(const std::string& line) {
  const std::size_t colon = line.find(':'), arrow = line.find("=>");
  if (colon == std::string::npos || arrow == std::string::npos)
    throw ValueError("'rule group: declarations left => right' is expected");
  RuleLine result{.words = words_of(line.substr(0, colon)), .inputs = {}, .left = {}, .right = {}};
  result.inputs = declarations(line.substr(colon + 1, arrow - colon - 1), result.left);
  result.right = trim(line.substr(arrow + 2));
  return result;
}

}  // namespace croton::test
