// Compiled kernels of this process, found by name or compiled: all simulated devices run the same code.
#pragma once

#include "codegen/emit.hpp"
#include "runtime/device/device.hpp"
#include "runtime/simulator/compiler.hpp"

#include <functional>
#include <memory>
#include <string>

namespace croton::runtime::simulator {

/// Makes the text ready, and returns how; its compilation may be delayed (compile_together).
Prepared prepare_program(const codegen::Text& text);
/// The program that has the kernels of the text.
std::shared_ptr<const Program> program_of(const codegen::Text& text);

/// For tests: `change` edits every unit before its compilation from now on; an empty function edits nothing.
void change_texts(std::function<std::string(std::string)> change);
bool texts_are_changed();

/// For tests of many kernels: while it is on, a text is compiled at its launch, in one program with all waiting texts
/// of its family, since a program costs milliseconds however small it is. Errors of compilation then come late, maybe
/// after a commit point.
void compile_together(bool together);

}  // namespace croton::runtime::simulator
