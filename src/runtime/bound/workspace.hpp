// Workspace: the memory of a function for temporaries. Undo: restores values that a failed call has overwritten.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "runtime/device/device.hpp"

namespace croton::runtime {

/// Memory for the temporaries of a function's calls, one block for each segment and device, and for arguments that are
/// copied in advance. Only one plan of a function runs at a time, so all plans share the memory, which has the size for
/// the largest one.
class Workspace {
 public:
  /// A block of at least this size. Raises OutOfMemory.
  char* block(Device& device, std::size_t segment, std::size_t bytes);
  /// The uploads of a device that copies in advance.
  Uploads& uploads(Device& device);
  /// Stops copies in advance, to free memory after OutOfMemory. False if that frees no memory.
  bool save_memory();

 private:
  struct Block {
    std::shared_ptr<void> memory;
    std::size_t bytes = 0;
  };
  std::vector<std::map<Device*, Block>> blocks_;  // by segment
  std::map<Device*, std::unique_ptr<Uploads>> uploads_;
};

/// Saved values of shared variables that are overwritten. After the commit point of a plan nothing fails on the host,
/// or on a GPU that is not lost; but the reference evaluator and a simulated GPU may run out of memory there.
class Undo {
 public:
  /// Saves a value. Raises OutOfMemory.
  void save(Device& device, char* address, std::size_t bytes);
  /// Restores all saved values.
  void restore() noexcept;
  bool empty() const { return saved_.empty(); }

 private:
  struct SavedValue {
    Device& device;
    char* address;
    std::size_t bytes;
    std::shared_ptr<void> copy;
  };
  std::vector<SavedValue> saved_;
};

}  // namespace croton::runtime
