// The memory that a loop in one launch keeps from call to call, and where the buffers of its body are in the present
// one.
#pragma once

#include "runtime/loops/loop_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace croton::runtime {

class LoopMemory {
 public:
  /// For a layout whose shares are found, and that stays where it is. OutOfMemory.
  explicit LoopMemory(const LoopLayout& layout);
  LoopMemory(const LoopMemory&) = delete;
  LoopMemory& operator=(const LoopMemory&) = delete;

  // ---- addresses ----
  /// Where each buffer of the body begins.
  void find_addresses(const LoopPlaces& places);
  char* base(plan::BufferId buffer) const { return base_[buffer]; }
  /// Of the condition that ends the loop.
  void* condition() const { return temporary(temporary_offset_[layout_.condition_buffer()]); }
  /// Of a split reduction, or of panels; null: the part has none.
  void* workspace(std::size_t part) const { return workspace_[part] < 0 ? nullptr : temporary(workspace_[part]); }
  void* done() const { return done_.get(); }
  void* meeting() const { return meeting_.get(); }
  void* failure(std::size_t part) const;
  /// All of it that a launch on a device uses.
  void add_operands(std::vector<Operand>& operands) const;

  // ---- values ----
  /// Before a launch: whatever became of the one before.
  void clear() const;
  /// IndexError for a check of a value that failed.
  void look_at_failures() const;
  /// How many steps the last launch made, of so many that it was asked for.
  std::int64_t steps_done(std::int64_t asked) const;
  /// Whether the last launch, on the host, ended the loop.
  bool condition_holds() const;

 private:
  char* temporary(std::int64_t offset) const { return static_cast<char*>(temporaries_.get()) + offset; }
  std::int64_t place(std::int64_t bytes);
  void place_temporaries();
  char* address_of(const plan::Buffer& buffer, const LoopPlaces& places) const;
  std::size_t failure_bytes() const;

  const LoopLayout& layout_;
  base::IdVector<plan::BufferId, char*> base_;  // in the present call
  std::shared_ptr<void> temporaries_;
  std::int64_t temporary_bytes_ = 0;
  base::IdVector<plan::BufferId, std::int64_t> temporary_offset_;  // -1: it is none
  std::vector<std::int64_t> workspace_;                            // per part, in the temporaries; -1: none
  std::vector<Array> constants_;                                   // on the device, per constant of the body
  std::shared_ptr<void> done_;      // the number of steps, where a condition ends the loop
  std::shared_ptr<void> failures_;  // of each part, where any checks something
  std::shared_ptr<void> meeting_;   // of the blocks of a grid (loop.cuh)
};

}  // namespace croton::runtime
