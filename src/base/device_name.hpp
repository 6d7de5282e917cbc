// Devices as programs name them: cpu, cuda0, Theano's gpu and gpu,0, TensorFlow's /gpu:0. What they mean is said here;
// whether there is such a device is the runtime's to know.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace croton::base {

/// A device, or none. It is small and trivially comparable, so that nodes can carry its number.
struct DeviceName {
  enum class Kind : std::uint8_t { cpu, cuda };  // and those that add_device_kind() gives
  Kind kind = Kind::cpu;
  int index = 0;

  /// "cpu" (the first one), "cpu2", "cuda0".
  std::string to_string() const;
  /// Its number in nodes, from 1; 0 there means no device in particular.
  std::uint16_t place() const;
  static DeviceName of_place(std::uint16_t place);
  friend auto operator<=>(const DeviceName&, const DeviceName&) = default;
};

/// The kind of devices whose names are `word`, of small letters, and a number: a new one, where there is none of that
/// name. For kinds of devices that are not part of the library.
DeviceName::Kind add_device_kind(std::string_view word);

/// The device of that name: cpu, cpuN, cuda, cudaN, gpu, gpuN, each also with ':' or ',' before the number and with a
/// leading '/'. Without a number the first. ValueError with what is accepted.
DeviceName parse_device(std::string_view text);

}  // namespace croton::base
