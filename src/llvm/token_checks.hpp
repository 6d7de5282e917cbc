// What is looked for in the tokens of a user's text before Clang parses it: names that are the simulator's, and more
// open statements and operators inside of each other than the recursions of Clang have a stack for.
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
