// LoopMemory: the memory that a loop in one launch keeps from call to call, and the addresses of the body's buffers in
// the present call.
#pragma once

#include "runtime/loops/loop_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace croton::runtime {

class LoopMemory {
 public:
  /// Allocates the memory of a layout that has shares. Keeps a reference to the layout. Raises OutOfMemory.
  explicit LoopMemory(const LoopLayout& layout);
  LoopMemory(const LoopMemory&) = delete;
  LoopMemory& operator=(const LoopMemory&) = delete;

  // ---- addresses ----
  /// Finds the address of each buffer of the body.
  void find_addresses(const LoopPlaces& places);
  char* base(plan::BufferId buffer) const { return base_[buffer]; }
  /// The address of the condition that ends the loop.
  void* condition() const { return temporary(temporary_offset_[layout_.condition_buffer()]); }
  /// The workspace of a split reduction, or the panels of a product; null if the part has none.
  void* workspace(std::size_t part) const { return workspace_[part] < 0 ? nullptr : temporary(workspace_[part]); }
  void* done() const { return done_.get(); }
  void* grid_barrier() const { return grid_barrier_.get(); }
  void* failure(std::size_t part) const;
  /// Adds all memory that a launch on a device uses.
  void add_operands(std::vector<Operand>& operands) const;

  // ---- values ----
  /// Clears failures and the grid barrier before a launch, whatever the state after the previous one.
  void clear() const;
  /// Raises IndexError for a failed check of a value.
  void throw_on_failure() const;
  /// The number of steps of the last launch. `requested`: the number of steps if no condition ends the loop earlier.
  std::int64_t steps_done(std::int64_t requested) const;
  /// Whether the condition ended the loop in the last launch, on the host.
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
  base::IdVector<plan::BufferId, std::int64_t> temporary_offset_;  // -1: it is no temporary
  std::vector<std::int64_t> workspace_;                            // per part: its offset in the temporaries; -1: none
  std::vector<Array> constants_;                                   // on the device, per constant of the body
  std::shared_ptr<void> done_;          // the number of steps, if a condition can end the loop
  std::shared_ptr<void> failures_;      // the failure words of all parts, if any part has checks
  std::shared_ptr<void> grid_barrier_;  // the words of the grid barrier (loop.cuh)
};

}  // namespace croton::runtime
