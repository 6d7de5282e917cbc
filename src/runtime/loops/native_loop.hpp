// A loop as one launch: a kernel of the body's kernels and products that goes through all steps by itself. It is laid
// out for its sizes (loop_layout.hpp), gets memory (loop_memory.hpp) and a text (loop_text.hpp), and runs.
#pragma once

#include "runtime/loops/loop_layout.hpp"
#include "runtime/loops/loop_memory.hpp"
#include "runtime/loops/loop_parameters.hpp"
#include "runtime/loops/loop_shares.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace croton::runtime {

/// On the host a call may be interrupted between launches of some steps each: of the first one these are about so many
/// elements and multiplications, of the others as many as take so long. Tests make them short.
struct LoopPieces {
  std::int64_t elements = std::int64_t{1} << 24;
  double seconds = 0.05;
};
LoopPieces& loop_pieces();

class NativeLoop {
 public:
  /// `shapes`: without addresses. Null where the host should run the steps: `why` says the reason. OutOfMemory.
  static std::unique_ptr<NativeLoop> bind(std::shared_ptr<const Executable> body, const expr::Loop& loop,
                                          const LoopPlaces& shapes, const std::vector<Sizes>& captures,
                                          std::int64_t steps, Device& device, std::string_view schedule,
                                          RunCounts& counts, std::string& why);

  /// The text as it is for sizes that stand for any, rows being shared out where they can be.
  static codegen::Text show(std::shared_ptr<const Executable> body, const fuse::LoopCall& call, codegen::Target target);

  const codegen::Text& text() const { return text_; }
  /// "one launch of 8 blocks, each with rows of its own"
  std::string describe() const { return describe_shares(layout_); }
  /// Whether the threads of the host run it; else a GPU does.
  bool on_host() const { return layout_.on_host(); }
  void set_entry(cpu::KernelEntry entry) { entry_ = entry; }
  /// Runs the steps and returns how many these were. IndexError for a check of a value that fails in one of them.
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
  cpu::KernelEntry entry_;
  std::vector<Operand> operands_;  // of a launch on a device
};

}  // namespace croton::runtime
