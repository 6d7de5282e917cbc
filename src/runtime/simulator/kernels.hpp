// Compiled kernels of this process, found by name or compiled: all simulated devices run the same code.
#pragma once

#include "codegen/emit.hpp"
#include "runtime/device/device.hpp"
#include "runtime/simulator/compiler.hpp"

#include <functional>
#include <memory>
#include <string>

namespace croton::runtime::simulator {

/// Makes the text ready, and says what that took; it may be left for later (compile_together).
Prepared prepare_program(const codegen::Text& text);
/// The program that has the kernels of the text.
std::shared_ptr<const Program> program_of(const codegen::Text& text);

/// For tests: every unit that is compiled from now on is what `change` makes of it; none: as it is.
void change_texts(std::function<std::string(std::string)> change);
bool texts_are_changed();

/// For tests of many kernels: while it holds, texts are compiled when one of them is launched, all of a family that
/// wait as one program, since a program costs milliseconds however little it holds. A text that does not compile is
/// then found late, behind a commit point perhaps.
void compile_together(bool together);

}  // namespace croton::runtime::simulator
