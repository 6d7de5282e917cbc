// CheckWords: where the checks of a segment's launches on one device leave what failed (ct::Failure in
// codegen_templates/common/body.cuh). The host reads those of all launches at once, so that it waits for the device
// once, and not after each launch with checks. Meanwhile later launches run with the wrong values: they read and write
// nothing outside of their operands, whatever the values are. Code of the user waits (Launch::needs_checked_values).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/device/device.hpp"

namespace croton::runtime {

class CheckWords {
 public:
  explicit CheckWords(Device& device) : device_(device) {}

  const Device& device() const { return device_; }
  /// Adds a launch and returns its number: before allocate().
  std::size_t add();
  /// Allocates the words, all 0. Raises OutOfMemory.
  void allocate();
  /// The words of a launch, as an operand that it reads and writes.
  Operand operand(std::size_t launch) const;
  /// Copies the words of all launches to the host, after the work so far. True if a check failed; then the words on the
  /// device are 0 again.
  bool read();
  /// The same for one launch.
  bool read(std::size_t launch);
  /// The three words of a launch, as last read.
  std::span<const std::uint32_t> of(std::size_t launch) const;
  /// Sets all words on the device to 0, after launches whose words were not read.
  void clear();

 private:
  bool read(std::size_t first, std::size_t count);

  Device& device_;
  std::shared_ptr<void> memory_;
  std::vector<std::uint32_t> words_;
};

}  // namespace croton::runtime
