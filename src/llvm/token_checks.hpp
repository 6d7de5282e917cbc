// Checks of the tokens of a user's text before Clang parses it: it must not use names of the simulator, nor nest
// statements and operators deeper than Clang's recursion has stack for.
#pragma once

#include <clang/Frontend/FrontendAction.h>

#include "users_text.hpp"

namespace croton::llvm_part {

/// Each finding is an error with its line.
class TokenChecks : public clang::PreprocessorFrontendAction {
 public:
  explicit TokenChecks(UsersText users_text) : users_text_(users_text) {}

 protected:
  void ExecuteAction() override;

 private:
  UsersText users_text_;
};

}  // namespace croton::llvm_part
