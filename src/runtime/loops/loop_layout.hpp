// A loop on its way to one launch: how large the arrays of a step are, how each buffer of the body moves from step to
// step, the kernels and products that a step is made of, and how its rows are shared out. The first two are found here,
// the others by loop_parts.hpp and loop_shares.hpp; loop_memory.hpp and loop_text.hpp read them all.
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

/// Where a loop finds its values.
struct LoopPlaces {
  std::vector<Rows> sequences;
  std::vector<Operand> read;  // the memory that these lie in
  std::vector<Rows> states;
  std::vector<std::int64_t> slots;  // per state: its rows go round in so many; 0: there is one for each step
  std::vector<char*> captures;
  std::vector<std::optional<Rows>> stacked;
};

/// How the address of a buffer of the body goes on, and from where.
struct Moving {
  codegen::Motion motion = codegen::Motion::none;
  std::int64_t step = 0, slot = 0, slots = 0;
  bool written = false;  // by the loop
};

/// How the rows of a loop go to threads or blocks.
struct LoopShares {
  std::int64_t rows = 1;        // that may be shared out; 1: none
  std::int64_t share_rows = 1;  // of a share
  std::int64_t shares = 1;
  LoopWork work;
  LoopChoice choice;
  int blocks = 1;  // of a GPU
  codegen::Schedule schedule;
};

struct LoopLayout {
  LoopLayout(std::shared_ptr<const Executable> body, const expr::Loop& loop, std::int64_t steps, Device& device);

  /// Whether the threads of the host run it; else a GPU does.
  bool on_host() const { return device.on_host(); }
  bool is_grid() const { return shares.choice.form == LoopForm::grid; }
  DType dtype_of(plan::BufferId buffer) const;
  /// Of a part that is a product.
  DType dtype_of_product(const StepPart& part) const;
  /// Where the condition of a loop that ends by one is.
  plan::BufferId condition_buffer() const;

  std::shared_ptr<const Executable> body;
  const expr::Loop* loop;
  std::int64_t steps;
  Device& device;
  bool shown = false;  // sizes stand for any: none is looked at
  SizeTable sizes;
  Memory memory;  // how the buffers of the body lie; no addresses
  base::IdVector<plan::BufferId, Moving> moving;
  std::vector<StepPart> parts;  // in order
  LoopShares shares;
};

/// The sizes of the body's arrays in a step; `shapes`: without addresses. False where they depend on numbers: `why`
/// says so. Raises what check_requirements raises.
bool find_sizes_of_body(LoopLayout& layout, const LoopPlaces& shapes, const std::vector<Sizes>& captures,
                        std::string& why);
/// How each buffer of the body moves.
void find_motions(LoopLayout& layout, const LoopPlaces& shapes);

}  // namespace croton::runtime
