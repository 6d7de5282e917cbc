#include "expr/requirement.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include "base/source_place.hpp"

namespace croton::expr {

void throw_unsatisfied(const Requirement& r, std::int64_t left, std::int64_t right, bool too_large,
                       const std::string& where, const std::string& inputs) {
  std::string fault;
  if (too_large)
    fault = fmt::format("{}{}: a number that is more than an index can count", r.why, where);
  else if (r.kind == Requirement::Kind::number)
    fault = fmt::format("{} of {}{}; sizes are at least 0", r.why, left, where);
  else if (r.kind == Requirement::Kind::index)
    fault = fmt::format("{}: index {} of an axis of size {}{}", r.why, left, right, where);
  else
    fault = fmt::format("{}: {} is not {}{}", r.why, left, right, where);
  if (!inputs.empty()) fault += "; " + inputs;
  if (r.kind == Requirement::Kind::index) throw IndexError(fault);
  throw ShapeError(fault);
}

void check_known_requirements(const Arena& arena) {
  for (const Requirement& r : arena.requirements()) {
    const auto left = arena.known(r.left), right = arena.known(r.right);
    if (!left || !right || is_satisfied(r, *left, *right, false)) continue;
    const Origin& origin = arena.origin_of(r.origin);
    throw_unsatisfied(r, *left, *right, false,
                      origin.where.known() ? " (" + base::file_and_line(origin.where) + ")" : "", "");
  }
}

}  // namespace croton::expr
