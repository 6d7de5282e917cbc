// Whether two numbers keep a requirement. It is asked at every call whose numbers change, before any text is made.
#pragma once

#include "expr/arena.hpp"

namespace croton::expr {

/// `too_large`: one of them is more than an index can count.
inline bool is_kept(const Requirement& r, std::int64_t left, std::int64_t right, bool too_large) {
  if (too_large) return false;
  if (r.kind == Requirement::Kind::number) return left >= 0;
  return r.kind == Requirement::Kind::equal ? left == right : left >= -right && left < right;
}

}  // namespace croton::expr
