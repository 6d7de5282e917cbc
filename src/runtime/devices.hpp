// The devices of this machine by their names. Only this file knows all back-ends.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "expr/arena.hpp"
#include "runtime/device/backend.hpp"

namespace croton::runtime {

/// The GPUs that cuda0, cuda1, ... are: those of the flags, or simulated ones under any flags (mode=simulate).
enum class Gpus : std::uint8_t { of_flags, simulated };

/// Adds a kind of device for the rest of the process, for programs that have one of their own. It may have no device at
/// times.
void add_backend(const Backend& backend);

/// The place that a value of the flag `device` names; the host has the number of cpu. "auto" is the first real GPU, or
/// the host if there is none. A device that does not exist is as "auto" if `soft`, and else DeviceError, which lists
/// the devices that exist. The driver is looked for only if the value names a GPU or is "auto".
expr::Place place_of(const std::string& device, bool soft);
/// The places of all devices except the host.
std::vector<expr::Place> places();
/// The device of a place; DeviceError, which lists the devices that exist, if there is none.
Device& device_at(expr::Place place, Gpus gpus = Gpus::of_flags);
/// The target of generated code there: "cpu", "cuda:sm_90".
std::string target_of(expr::Place place, Gpus gpus = Gpus::of_flags);
/// All devices, the host first.
std::vector<DeviceFacts> list_devices();
/// "cpu, cuda0 (simulated), cuda1 (simulated)"
std::string describe_devices();
/// A number for the devices that names mean under the current flags: real GPUs or simulated ones, whole or split. Code
/// and plans that were made for one set must not be used for another.
std::uint16_t device_set(Gpus gpus = Gpus::of_flags);
/// Copies flags to settings of all back-ends. ConfigError for values that they do not accept.
void configure_backends(const base::Flags& flags);
/// The flag dump_kernels: the texts are written for each back-end that writes some, unless the flag is empty.
void dump_texts(const DumpedTexts& texts, const std::string& architecture) noexcept;
/// The same for one text without a program.
void dump_text(const std::function<codegen::Text(codegen::Target)>& emit, const std::string& architecture) noexcept;

}  // namespace croton::runtime
