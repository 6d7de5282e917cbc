// Sums of products by Einstein's convention, two operands at a time.
#include <croton/ops.hpp>
#include <croton/products.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "ops/linear/products.hpp"

namespace croton {
namespace {

/// A variable whose axes have letters.
struct Term {
  Variable value;
  std::string axes;
};

int position(const std::string& axes, char letter) { return base::to_int(axes.find(letter)); }
bool has(const std::string& axes, char letter) { return axes.find(letter) != std::string::npos; }

/// Sums over the letters that are not needed.
Term summed(const Term& term, const std::string& needed) {
  std::vector<int> axes;
  std::string left;
  for (std::size_t i = 0; i < term.axes.size(); ++i) {
    if (has(needed, term.axes[i]))
      left += term.axes[i];
    else
      axes.push_back(base::to_int(i));
  }
  if (axes.empty()) return term;
  ReduceOptions options(axes);
  options.dtype = term.value.dtype();
  return {sum(term.value, options), left};
}

Term product(Term a, Term b, const std::string& needed, Where where) {
  a = summed(a, needed + b.axes);
  b = summed(b, needed + a.axes);
  ops::Contraction axes;
  std::string batch, left, right;
  for (const char letter : a.axes) {
    if (!has(b.axes, letter)) {
      left += letter;
      continue;
    }
    const bool stays = has(needed, letter);
    if (stays) batch += letter;
    (stays ? axes.left_batch : axes.left_summed).push_back(position(a.axes, letter));
    (stays ? axes.right_batch : axes.right_summed).push_back(position(b.axes, letter));
  }
  for (const char letter : b.axes) {
    if (!has(a.axes, letter)) right += letter;
  }
  return {ops::contract("einsum", a.value, b.value, axes, where), batch + left + right};
}

}  // namespace

Variable einsum(const std::string& subscripts, const std::vector<Variable>& operands, Where where) {
  const builder::OriginScope origin(where);
  const auto text = [&](const std::string& message) {
    return fmt::format("einsum ({}): '{}': {}", builder::describe(where), subscripts, message);
  };
  std::string written;
  std::ranges::copy_if(subscripts, std::back_inserter(written), [](char c) { return c != ' '; });
  if (written.find("...") != std::string::npos)
    throw NotImplementedError(text("'...' is not implemented; name all axes"));
  const std::size_t arrow = written.find("->");
  std::vector<std::string> parts{""};
  for (const char c : written.substr(0, arrow)) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  if (parts.size() != operands.size())
    throw ValueError(text(fmt::format("{} operands are described, and {} given", parts.size(), operands.size())));

  std::map<char, int> met;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const char c : parts[i]) {
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
        throw ValueError(text(fmt::format("'{}' is not a letter; axes are named by letters", c)));
      if (std::ranges::count(parts[i], c) > 1)
        throw NotImplementedError(text(fmt::format("'{}' twice in one operand is not implemented", c)));
      ++met[c];
    }
    if (operands[i].type().rank() != parts[i].size()) {
      throw ValueError(
          text(fmt::format("'{}' names {} axes, but {}", parts[i], parts[i].size(), builder::describe(operands[i]))));
    }
  }
  std::string result;
  if (arrow != std::string::npos) {
    result = written.substr(arrow + 2);
  } else {
    for (const auto& [letter, count] : met) {
      if (count == 1) result += letter;
    }
  }
  for (const char c : result) {
    if (!met.contains(c)) throw ValueError(text(fmt::format("'{}' of the result is in no operand", c)));
    if (std::ranges::count(result, c) > 1) throw ValueError(text(fmt::format("'{}' is twice in the result", c)));
  }

  Term total{operands[0], parts[0]};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    std::string needed = result;
    for (std::size_t later = i + 1; later < parts.size(); ++later) needed += parts[later];
    total = product(total, {operands[i], parts[i]}, needed, where);
  }
  total = summed(total, result);
  std::vector<int> order;
  for (const char c : result) order.push_back(position(total.axes, c));
  return result == total.axes ? total.value : dimshuffle(total.value, order);
}

}  // namespace croton
