// LoopLayout: the facts about a loop that is one launch. These are the sizes of the arrays of a step, the motion of
// each buffer of the body from step to step, the kernels and products of a step, and the partition of its rows into
// shares. The first two are found here, the others by loop_parts.hpp and loop_shares.hpp; loop_memory.hpp and
// loop_text.hpp use all of them.
#pragma once

#include "runtime/bound/body.hpp"
#include "runtime/loops/loop_choice.hpp"
#include "runtime/loops/step_part.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace croton::runtime {

/// The arrays that a loop reads and writes.
struct LoopPlaces {
  std::vector<Rows> sequences;
  std::vector<Operand> read;  // the memory that contains the sequences
  std::vector<Rows> states;
  std::vector<std::int64_t> slots;  // per state: the size of its ring of rows; 0: a row for each step
  std::vector<char*> captures;
  std::vector<std::optional<Rows>> stacked;
};

/// The motion of a buffer of the body: how its address changes from step to step, and its first slot.
struct BufferMotion {
  codegen::Motion kind = codegen::Motion::none;
  std::int64_t step = 0, slot = 0, slots = 0;
  bool written = false;  // the loop writes it
};

/// The partition of a loop's rows among threads or blocks: each has one share.
struct LoopShares {
  std::int64_t rows = 1;        // the number of rows that are partitioned; 1: none
  std::int64_t share_rows = 1;  // rows of a share
  std::int64_t shares = 1;
  LoopWork work;
  LoopChoice choice;
  int blocks = 1;  // for a GPU
  codegen::Schedule schedule;
};

struct LoopLayout {
  LoopLayout(std::shared_ptr<const Executable> body, const expr::Loop& loop, std::int64_t steps, Device& device);

  /// Whether it runs on the host; else on a GPU.
  bool on_host() const { return device.on_host(); }
  bool is_grid() const { return shares.choice.form == LoopForm::grid; }
  DType dtype_of(plan::BufferId buffer) const;
  /// The dtype of a part that is a product.
  DType dtype_of_product(const StepPart& part) const;
  /// The buffer of the condition that ends the loop.
  plan::BufferId condition_buffer() const;

  std::shared_ptr<const Executable> body;
  const expr::Loop* loop;
  std::int64_t steps;
  Device& device;
  bool shown = false;  // shown without a call: sizes are examples and must not be used
  SizeTable sizes;
  Memory memory;  // the layouts of the body's buffers, without addresses
  base::IdVector<plan::BufferId, BufferMotion> motions;
  std::vector<StepPart> parts;  // in the order of the step
  LoopShares shares;
};

/// Finds the sizes of the body's arrays in a step. `shapes`: without addresses. Returns false, with the reason in
/// `why`, if they depend on numbers. Raises the errors of check_requirements.
bool find_sizes_of_body(LoopLayout& layout, const LoopPlaces& shapes, const std::vector<Sizes>& captures,
                        std::string& why);
/// Finds the motion of each buffer of the body.
void find_motions(LoopLayout& layout, const LoopPlaces& shapes);

}  // namespace croton::runtime
