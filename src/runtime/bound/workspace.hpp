// Memory that a function's calls compute in, and what brings back values that a failed call has overwritten.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "runtime/device/device.hpp"

namespace croton::runtime {

/// Memory for the temporaries of a function's calls, a block for each segment and device, and for the arguments that
/// devices get ahead. One plan of a function runs at a time, so they all share it; it grows to what the largest needs.
class Workspace {
 public:
  /// OutOfMemory.
  char* block(Device& device, std::size_t segment, std::size_t bytes);
  /// Of a device that copies ahead.
  Uploads& uploads(Device& device);
  /// Where memory has run out: no more copies ahead. False where that gave none back.
  bool save_memory();

 private:
  struct Block {
    std::shared_ptr<void> memory;
    std::size_t bytes = 0;
  };
  std::vector<std::map<Device*, Block>> blocks_;  // by segment
  std::map<Device*, std::unique_ptr<Uploads>> uploads_;
};

/// Values of shared variables before they were overwritten. After the commit point of a plan nothing fails on the host
/// or on a GPU that is not lost; the reference evaluator and a simulated GPU may run out of memory there.
class Undo {
 public:
  /// OutOfMemory.
  void keep(Device& device, char* address, std::size_t bytes);
  void put_back() noexcept;
  bool empty() const { return kept_.empty(); }

 private:
  struct Kept {
    Device& device;
    char* address;
    std::size_t bytes;
    std::shared_ptr<void> copy;
  };
  std::vector<Kept> kept_;
};

}  // namespace croton::runtime
