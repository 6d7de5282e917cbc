// Functions of the library that this program overrides, so that bugs can be planted without code in the product: the
// dynamic linker prefers a program's function to a library's function of the same name. Without hooks each forwards to
// the library.
#pragma once

#include "codegen/emit.hpp"
#include "expr/op.hpp"
#include "plan/plan.hpp"
#include "rewrite/rule.hpp"

#include <functional>
#include <string>
#include <vector>

namespace differential {

struct Hooks {
  std::function<const croton::expr::Op*(const croton::expr::Op*)> op;
  std::function<std::string(std::string)> prelude;                  // of every kernel
  std::function<void(std::string&, croton::codegen::Target)> text;  // of one kernel
  std::function<void(std::string&)> loop_text;                      // of a loop that is one launch
  std::function<void(const croton::codegen::Part&)> part;           // of which a text is generated
  std::function<void(croton::plan::Plan&)> plan;
  const std::vector<croton::rewrite::Group>* groups = nullptr;
  bool skip_requirements = false;
  /// Whether arithmetic of sizes is exact; the argument is the library's answer.
  std::function<bool(const croton::expr::Op&, bool)> exact;
};

Hooks& hooks();

}  // namespace differential
