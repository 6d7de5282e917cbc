// Whether two numbers keep a requirement, and what is said where they do not.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "expr/arena.hpp"

namespace croton::expr {

/// `too_large`: one of them is more than an index can count. It is asked at every call whose numbers change, before any
/// text is made.
inline bool is_kept(const Requirement& r, std::int64_t left, std::int64_t right, bool too_large) {
  if (too_large) return false;
  if (r.kind == Requirement::Kind::number) return left >= 0;
  return r.kind == Requirement::Kind::equal ? left == right : left >= -right && left < right;
}

/// ShapeError, or IndexError of an index, that such numbers do not keep it. `where` and `inputs`: the user's line, and
/// what was given.
[[noreturn]] void refuse(const Requirement& r, std::int64_t left, std::int64_t right, bool too_large,
                         const std::string& where, const std::string& inputs);

/// The same for requirements whose numbers are known without a call.
void check_known_requirements(const Arena& arena);

}  // namespace croton::expr
