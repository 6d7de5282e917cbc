// A simulated GPU as a device of the runtime: its memory, its kernels, and products that the host's BLAS does in it.
#pragma once

#include "runtime/device/device.hpp"

#include <functional>
#include <memory>
#include <string>

namespace croton::runtime::simulator {

/// cuda0, cuda1, ...: each has memory of its own.
std::unique_ptr<Device> make_device(int index);

/// For tests: every unit that is compiled from now on is what `change` makes of it; none: as it is.
void change_texts(std::function<std::string(std::string)> change);

/// For tests of many kernels: while it holds, texts are compiled when one of them is launched, all of a family that
/// wait as one program, since a program costs milliseconds however little it holds. A text that does not compile is
/// then found late, behind a commit point perhaps.
void compile_together(bool together);

}  // namespace croton::runtime::simulator
