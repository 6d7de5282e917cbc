// NativeLoop: a loop as one launch of a kernel that runs all steps. It has a layout for its sizes (loop_layout.hpp),
// memory (loop_memory.hpp) and a text (loop_text.hpp).
#pragma once

#include "runtime/bound/parameter_table.hpp"
#include "runtime/loops/loop_layout.hpp"
#include "runtime/loops/loop_memory.hpp"
#include "runtime/loops/loop_parameters.hpp"
#include "runtime/loops/loop_shares.hpp"
#include "runtime/support/pieces.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace croton::runtime {

/// The limits of pieces on the host: a loop runs in pieces of some steps, between which a call can be interrupted. The
/// first piece has about `elements` elements, the others take about `seconds`. Tests set small limits.
struct LoopPieces {
  std::int64_t elements = std::int64_t{1} << 24;
  double seconds = seconds_of_piece;
};
LoopPieces& loop_pieces();

/// A loop that is bound as one launch.
class NativeLoop {
 public:
  /// Binds a loop. `shapes`: without addresses. Returns null, with the reason in `why`, if the host should run the
  /// steps. Raises OutOfMemory.
  static std::unique_ptr<NativeLoop> bind(std::shared_ptr<const Executable> body, const expr::Loop& loop,
                                          const LoopPlaces& shapes, const std::vector<Sizes>& captures,
                                          std::int64_t steps, Device& device, std::string_view schedule,
                                          RunCounts& counts, std::string& why);

  /// The text of a loop that is shown without a call, with partitioned rows if that is possible.
  static codegen::Text show(std::shared_ptr<const Executable> body, const fuse::LoopCall& call, codegen::Target target);

  const codegen::Text& text() const { return text_; }
  /// "one launch of 8 blocks, each with rows of its own"
  std::string describe() const { return describe_shares(layout_); }
  /// The width of indices on a GPU.
  codegen::IndexWidth index() const { return layout_.shares.schedule.index; }
  /// Whether it runs on the host; else on a GPU.
  bool on_host() const { return layout_.on_host(); }
  void set_entry(cpu::KernelEntry entry) { entry_ = entry; }
  /// Runs the steps and returns their number. Raises IndexError if a check of a value fails in a step.
  std::int64_t run(const LoopPlaces& places);

 private:
  NativeLoop(LoopLayout layout, RunCounts& counts);
  std::int64_t run_on_host();
  void run_piece(std::int64_t first, std::int64_t count);
  void launch(const LoopPlaces& places);

  LoopLayout layout_;
  LoopMemory memory_;
  codegen::Text text_;
  LoopParameters parameters_;
  ParameterTable table_;
  cpu::KernelEntry entry_;
  std::vector<Operand> operands_;  // for a launch on a device
};

}  // namespace croton::runtime
