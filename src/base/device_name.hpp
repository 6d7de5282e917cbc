// Devices as programs name them: cpu, cuda0, Theano's gpu and gpu,0, TensorFlow's /gpu:0. This file defines the meaning
// of names; the runtime decides whether a device exists.
//
// Nodes, buffers and values hold the number of a device, its place. Before placement 0 means that no device is chosen;
// after it every node has a device, and 0 is the host. So a graph in which no device is chosen, as in most programs,
// needs no placement. The name cpu needs another number (1), because a program can choose the host; placement
// replaces it by 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace croton::base {

/// Of nodes before placement: no device is chosen.
inline constexpr std::uint16_t unplaced = 0;
/// The host in placed graphs, in plans and as the home of values.
inline constexpr std::uint16_t host_place = 0;

/// A kind of device and an index. It is small and trivially comparable, and nodes hold its number.
struct DeviceName {
  enum class Kind : std::uint8_t { cpu, cuda };  // and those that add_device_kind() returns
  Kind kind = Kind::cpu;
  int index = 0;

  /// "cpu" (the first one), "cpu2", "cuda0".
  std::string to_string() const;
  bool is_gpu() const { return kind == Kind::cuda; }
  /// Its number, which is not 0.
  constexpr std::uint16_t place() const {
    return static_cast<std::uint16_t>(1 + static_cast<int>(kind) * max_devices + index);
  }
  /// The device of a place; cpu for `host_place`.
  static constexpr DeviceName of_place(std::uint16_t place) {
    const int number = place == host_place ? 0 : place - 1;
    return {static_cast<Kind>(number / max_devices), number % max_devices};
  }
  static constexpr int max_devices = 256;  // of one kind
  friend auto operator<=>(const DeviceName&, const DeviceName&) = default;
};

/// Whether the place is the host, by either of its numbers.
constexpr bool is_host(std::uint16_t place) { return place == host_place || place == DeviceName{}.place(); }
/// The number that placed graphs and homes have for a chosen device.
constexpr std::uint16_t placed_number(std::uint16_t place) { return is_host(place) ? host_place : place; }

/// The kind of devices whose names are `word`, in lower case, and a number: a new kind if none has that word. For kinds
/// of devices that are not part of the library.
DeviceName::Kind add_device_kind(std::string_view word);

/// The device of that name: cpu, cpuN, cuda, cudaN, gpu, gpuN, each also with ':' or ',' before the number and with a
/// leading '/'. Without a number it is the first one. ValueError, which lists the accepted names.
DeviceName parse_device(std::string_view text);

}  // namespace croton::base
