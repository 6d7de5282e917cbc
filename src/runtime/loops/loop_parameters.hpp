// The parameters of the text of a loop: numbers of its layout, and addresses that every call and every piece of the
// steps fills in.
#pragma once

#include "runtime/loops/loop_layout.hpp"
#include "runtime/loops/loop_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace croton::runtime {

class LoopParameters {
 public:
  /// Layout and memory stay where they are.
  LoopParameters(const LoopLayout& layout, const LoopMemory& memory, const codegen::Text& text);

  /// For the addresses that the memory has now: from which step on a launch runs, and how many.
  void set_steps(std::int64_t first, std::int64_t count);
  std::span<std::uint64_t> values() { return values_; }

 private:
  struct Pointer {
    std::size_t parameter;
    plan::BufferId buffer;
    std::int64_t offset;
  };
  const StepPart& part_of(const codegen::Parameter& parameter) const;
  void remember(std::size_t number, const codegen::Parameter& parameter);
  std::uint64_t value_of(const codegen::Parameter& parameter) const;
  std::uint64_t value_of_loop(codegen::LoopNumber number) const;

  const LoopLayout& layout_;
  const LoopMemory& memory_;
  std::vector<std::uint64_t> values_;
  std::vector<Pointer> pointers_;
  std::vector<std::pair<std::size_t, plan::BufferId>> slots_;  // parameters: the slot of a buffer at the first step
  std::size_t count_parameter_ = 0;                            // the one that is the number of steps
};

}  // namespace croton::runtime
