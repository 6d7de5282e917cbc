// Devices as programs name them: cpu, cuda0, Theano's gpu and gpu,0, TensorFlow's /gpu:0. This file defines the meaning
// of names; the runtime decides whether a device exists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace croton::base {

/// A kind of device and an index. It is small and trivially comparable, and nodes hold its number.
struct DeviceName {
  enum class Kind : std::uint8_t { cpu, cuda };  // and those that add_device_kind() returns
  Kind kind = Kind::cpu;
  int index = 0;

  /// "cpu" (the first one), "cpu2", "cuda0".
  std::string to_string() const;
  /// Its number in nodes, from 1; in nodes 0 means that no device is chosen.
  std::uint16_t place() const;
  static DeviceName of_place(std::uint16_t place);
  friend auto operator<=>(const DeviceName&, const DeviceName&) = default;
};

/// The kind of devices whose names are `word`, in lower case, and a number: a new kind if none has that word. For kinds
/// of devices that are not part of the library.
DeviceName::Kind add_device_kind(std::string_view word);

/// The device of that name: cpu, cpuN, cuda, cudaN, gpu, gpuN, each also with ':' or ',' before the number and with a
/// leading '/'. Without a number it is the first one. ValueError, which lists the accepted names.
DeviceName parse_device(std::string_view text);

}  // namespace croton::base
