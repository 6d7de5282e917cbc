// A check whether two numbers satisfy a requirement, and the error if they do not.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "expr/arena.hpp"

namespace croton::expr {

/// Whether the numbers satisfy the requirement. `too_large`: one of them is more than an index can count. Calls whose
/// numbers change use it, so it makes no text.
inline bool is_satisfied(const Requirement& r, std::int64_t left, std::int64_t right, bool too_large) {
  if (too_large) return false;
  if (r.kind == Requirement::Kind::number) return left >= 0;
  return r.kind == Requirement::Kind::equal ? left == right : left >= -right && left < right;
}

/// Throws ShapeError, or IndexError for an index, because the numbers do not satisfy the requirement. `where` and
/// `inputs`: the user's line, and a description of the inputs.
[[noreturn]] void throw_unsatisfied(const Requirement& r, std::int64_t left, std::int64_t right, bool too_large,
                                    const std::string& where, const std::string& inputs);

/// Throws if a requirement whose numbers are constants is not satisfied.
void check_known_requirements(const Arena& arena);

}  // namespace croton::expr
