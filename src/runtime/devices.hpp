// The devices of this machine by their names: what back-ends there are is known here and nowhere else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "expr/arena.hpp"
#include "runtime/device/backend.hpp"

namespace croton::runtime {

/// A kind of device more, for the rest of the process: of a program that has one of its own. It may have no device most
/// of the time.
void add_backend(const Backend& backend);

/// The place that a value of the flag `device` names: that of the host is cpu's number. "auto" is the first real GPU,
/// else the host. DeviceError, which lists what there is, where it is not there; with `soft` that is as "auto". The
/// driver is looked for only where a GPU, or "auto", is asked for.
expr::Place place_of(const std::string& device, bool soft);
/// Those that there are besides the host.
std::vector<expr::Place> places();
/// The device of a place. DeviceError that lists those that there are. `simulated`: of a GPU's place the simulated one,
/// whether or not the flags say that there is any.
Device& device_at(expr::Place place, bool simulated = false);
/// What code is made for there: "cpu", "cuda:sm_90".
std::string target_of(expr::Place place, bool simulated = false);
/// All there are, the host first.
std::vector<DeviceFacts> list_devices();
/// "cpu, cuda0 (simulated), cuda1 (simulated)"
std::string describe_devices();
/// A number for what the names of devices stand for under the present flags: real GPUs or simulated ones, whole or
/// split. What was made for one must not be used for another.
std::uint16_t device_set();

}  // namespace croton::runtime
