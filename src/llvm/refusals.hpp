// What a text for the simulator may not hold, because it would not be simulated: assembly, which means something else
// to the host's processor than to a GPU, and what reaches out of the text by the names of the linker, by constructors,
// or by builtins of the compiler. Each is an error with its line. (Calls of functions that the text does not define are
// found later: simulator_instrument.hpp. Files are not there: frontend.cpp.)
#pragma once

#include <memory>

namespace clang {
class ASTConsumer;
class CompilerInstance;
}  // namespace clang

namespace croton::llvm_part {

std::unique_ptr<clang::ASTConsumer> make_refusals(clang::CompilerInstance& compiler);

}  // namespace croton::llvm_part
