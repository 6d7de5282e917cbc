// LoopParameters: the parameters of a loop's text. These are numbers of its layout, and addresses that are set for
// every call and every piece of the steps.
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
  /// Keeps references to the layout and the memory.
  LoopParameters(const LoopLayout& layout, const LoopMemory& memory, const codegen::Text& text);

  /// Sets the parameters of a launch of `count` steps from step `first` on, with the present addresses of the memory.
  void set_steps(std::int64_t first, std::int64_t count);
  std::span<std::uint64_t> values() { return values_; }

 private:
  struct Pointer {
    std::size_t parameter;
    plan::BufferId buffer;
    std::int64_t offset;
  };
  const StepPart& part_of(const codegen::Parameter& parameter) const;
  void record_variable(std::size_t number, const codegen::Parameter& parameter);
  std::uint64_t value_of(const codegen::Parameter& parameter) const;
  std::uint64_t value_of_loop(codegen::LoopNumber number) const;

  const LoopLayout& layout_;
  const LoopMemory& memory_;
  std::vector<std::uint64_t> values_;
  std::vector<Pointer> pointers_;
  std::vector<std::pair<std::size_t, plan::BufferId>> slots_;  // parameter and buffer of each slot at the first step
  std::size_t count_parameter_ = 0;                            // the index of the number of steps
};

}  // namespace croton::runtime
