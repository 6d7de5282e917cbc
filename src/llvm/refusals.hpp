// What a text for the simulator may not hold, because it would not be simulated: assembly, which means something else
// to the host's processor than to a GPU, and what reaches out of the text by the names of the linker, by constructors,
// by builtins of the compiler, or by jumps to addresses; and, of a user's text, what takes the place of the simulator's
// own functions. Each is an error with its line. (Functions and variables that the text does not define are found
// later: simulator_faults.cpp. Names of the simulator's hooks are found before: token_checks.hpp. Files are not there:
// frontend.cpp.)
#pragma once

#include <memory>

#include "users_text.hpp"

namespace clang {
class ASTConsumer;
class CompilerInstance;
}  // namespace clang

namespace croton::llvm_part {

std::unique_ptr<clang::ASTConsumer> make_refusals(clang::CompilerInstance& compiler, UsersText users_text);

}  // namespace croton::llvm_part
