// A loop as one launch: a kernel of the body's kernels and products that goes through all steps by itself
// (codegen/emit_loop.cpp). Where all that a step reads of the steps before lies in the row that it computes, rows are
// shared out: to threads of the host, to blocks of a GPU. Where rows need each other, one thread, or one block, goes
// through the steps; or all blocks of a GPU do, and meet between the parts of a step (loop_choice.hpp says when).
#pragma once

#include "runtime/bound/body.hpp"
#include "runtime/bound/bound_kernel.hpp"
#include "runtime/bound/product_launch.hpp"
#include "runtime/loops/loop_choice.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
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
                                          std::int64_t steps, Device* device, std::string_view schedule,
                                          RunCounts& counts, std::string& why);

  /// The text as it is for sizes that stand for any, rows being shared out where they can be.
  static codegen::Text show(std::shared_ptr<const Executable> body, const fuse::LoopCall& call, codegen::Target target);

  const codegen::Text& text() const { return text_; }
  /// "one launch of 8 blocks, each with rows of its own"
  std::string describe() const;
  bool runs_cuda() const { return device_ != nullptr && device_->runs_cuda(); }
  void set_entry(cpu::KernelEntry entry) { entry_ = entry; }
  /// Runs the steps and returns how many these were. IndexError for a check of a value that fails in one of them.
  std::int64_t run(const LoopPlaces& places);

 private:
  struct Part {
    std::optional<BoundKernel> kernel;
    std::shared_ptr<const codegen::Analysis> as_row;  // of a kernel whose reduction would be split
    ProductSizes sizes{};                             // of a product
    const plan::Step* step = nullptr;
    std::vector<int> buffers;           // per access
    std::vector<std::int64_t> offsets;  // in bytes, per access
    std::vector<std::int64_t> rows;     // from row to row, in bytes, per access
    std::vector<std::int64_t> matrix;   // numbers of a product
    bool meets = true;
    std::int64_t workspace = -1;  // of a split reduction, or of panels: in bytes behind the temporaries' address

    bool checks() const { return kernel && !kernel->analysis->kernel.checks.empty(); }
    const codegen::Analysis* analysis() const { return as_row ? as_row.get() : kernel ? kernel->analysis : nullptr; }
    bool is_split() const { return kernel && !as_row && kernel->analysis->kernel.family == kernel::Family::split; }
    std::int64_t points() const { return kernel ? codegen::point_count(kernel->launch) : sizes.m * sizes.n; }
    std::int64_t split_blocks() const;
    std::int64_t warps() const;
  };
  /// How the address of a buffer of the body goes on, and from where.
  struct Moving {
    codegen::Motion motion = codegen::Motion::none;
    std::int64_t step = 0, slot = 0, slots = 0;
    bool written = false;  // by the loop
  };
  struct Pointer {  // a parameter that every call fills in
    std::size_t parameter;
    int buffer;
    std::int64_t offset;
  };

  NativeLoop(std::shared_ptr<const Executable> body, const expr::Loop& loop, std::int64_t steps, Device* device);
  bool find_sizes_of_body(const LoopPlaces& shapes, const std::vector<Sizes>& captures, std::string& why);
  void find_motions(const LoopPlaces& shapes);
  bool find_parts(std::string& why);
  bool add_product(const plan::Step& step, std::string& why);
  bool fits(const plan::Step& step, const ProductSizes& sizes, std::int64_t item, std::string& why);
  void show_part(const plan::Step& step);
  void add_kernel(const plan::Step& step, int generated);
  static void finish_kernel(Part& part);
  void share_out();
  bool walks_rows(const Part& part) const;
  bool find_shares(std::string_view schedule, std::string& why);
  std::int64_t work_of_step() const;
  bool choose_blocks(std::int64_t work, std::string& why);
  void use_grid();
  void find_blocks();
  void take_memory();
  void find_meetings();
  std::int64_t panel_bytes(const Part& part) const;
  std::int64_t row_bytes(const Part& part, std::size_t access) const;
  codegen::Text emit_for(codegen::Target target) const;
  bool emit(RunCounts& counts, std::string& why);
  std::uint64_t value_of(const codegen::Parameter& parameter) const;
  void find_addresses(const LoopPlaces& places);
  void set_steps(std::int64_t first, std::int64_t count);
  bool condition_holds() const;
  std::int64_t run_on_host();
  void launch(const LoopPlaces& places);
  std::size_t failure_bytes() const;
  void look_at_failures() const;

  std::shared_ptr<const Executable> body_;
  const expr::Loop* loop_;
  std::int64_t steps_;
  Device* device_;
  bool shown_ = false;  // sizes stand for any: none is looked at
  SizeTable sizes_;
  Memory memory_;
  std::vector<Moving> moving_;  // per buffer
  std::vector<Part> parts_;
  std::int64_t rows_ = 1;        // that may be shared out; 1: none
  std::int64_t share_rows_ = 1;  // of a share
  std::int64_t shares_ = 1;
  LoopWork work_;
  LoopChoice choice_;
  int blocks_ = 1;  // of a GPU
  codegen::Schedule schedule_;
  codegen::Text text_;
  cpu::KernelEntry entry_;
  std::vector<std::uint64_t> parameters_;
  std::vector<Pointer> pointers_;
  std::vector<std::pair<std::size_t, int>> slots_;  // parameters that are the slot of a buffer at the first step
  std::size_t count_parameter_ = 0;                 // the one that is the number of steps
  std::shared_ptr<void> temporaries_;
  std::size_t temporary_bytes_ = 0;
  std::vector<std::int64_t> temporary_offset_;  // per buffer
  std::vector<Array> constants_;                // on the device, per constant of the body
  std::shared_ptr<void> done_;
  std::shared_ptr<void> failures_;  // of each part, where any checks something
  std::shared_ptr<void> meeting_;   // of the blocks of a grid (loop.cuh)
  std::vector<Operand> operands_;
};

}  // namespace croton::runtime
