// Checks of the syntax tree of a text for the simulator. Constructs that cannot be simulated are errors with their
// line: assembly, which the host's processor and a GPU read differently; ways out of the text, by names of the linker,
// by constructors, by builtins of the compiler or by computed jumps; and declarations of a user that replace the
// simulator's own functions. (Names of the simulator's hooks are rejected before, in token_checks.hpp; undefined
// functions and variables after, in simulator_faults.cpp. There are no files to include: frontend.cpp.)
#pragma once

#include <memory>

#include "users_text.hpp"

namespace clang {
class ASTConsumer;
class CompilerInstance;
}  // namespace clang

namespace croton::llvm_part {

/// The checks, as a consumer of Clang's syntax tree that reports to the compiler's diagnostics.
std::unique_ptr<clang::ASTConsumer> make_ast_checks(clang::CompilerInstance& compiler, UsersText users_text);

}  // namespace croton::llvm_part
