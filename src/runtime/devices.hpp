// The devices of this machine by their names. Only this file knows all back-ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "expr/arena.hpp"
#include "runtime/device/backend.hpp"

namespace croton::runtime {

/// Adds a kind of device for the rest of the process, for programs that have one of their own. It may have no device at
/// times.
void add_backend(const Backend& backend);

/// The place that a value of the flag `device` names; the host has the number of cpu. "auto" is the first real GPU, or
/// the host if there is none. A device that does not exist is as "auto" if `soft`, and else DeviceError, which lists
/// the devices that exist. The driver is looked for only if the value names a GPU or is "auto".
expr::Place place_of(const std::string& device, bool soft);
/// The places of all devices except the host.
std::vector<expr::Place> places();
/// The device of a place; DeviceError, which lists the devices that exist, if there is none. `simulated`: the simulated
/// GPU for the place of a GPU, even if the flags ask for none.
Device& device_at(expr::Place place, bool simulated = false);
/// The target of generated code there: "cpu", "cuda:sm_90".
std::string target_of(expr::Place place, bool simulated = false);
/// All devices, the host first.
std::vector<DeviceFacts> list_devices();
/// "cpu, cuda0 (simulated), cuda1 (simulated)"
std::string describe_devices();
/// A number for the devices that names mean under the current flags: real GPUs or simulated ones, whole or split. Code
/// and plans that were made for one set must not be used for another.
std::uint16_t device_set();

}  // namespace croton::runtime
