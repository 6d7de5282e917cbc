// BoundPlan: a plan with numbers for its sizes: what a call with these sizes runs. Kernels of the variants that it needs are compiled
// when it is made; a call then patches the addresses of arrays and runs prebound steps.
#pragma once

#include "codegen/emit.hpp"
#include "plan/plan.hpp"
#include "runtime/cpu/kernels.hpp"

#include <croton/array.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace croton::runtime {

/// A program that can be bound: everything that does not depend on sizes. Shared by all bound plans of a function.
struct Executable {
  fuse::Program program;
  plan::Plan plan;
  std::vector<std::shared_ptr<const codegen::Analysis>> analyses;  // per call; of a product: its kernel for small sizes
  std::vector<bool> host;                 // graph nodes that the host evaluates
  std::vector<int> host_arguments;        // integer scalar arguments whose values are part of the key
  std::vector<bool> needs_contiguous;     // per argument: a product reads it
};
std::shared_ptr<const Executable> make_executable(fuse::Program program);
/// The lines above a kernel's text: its expression and the user's lines.
std::vector<std::string> kernel_comment(const fuse::KernelCall& call);

/// What calls have run; the caller owns it and guards it.
struct RunCounts {
  std::uint64_t kernels = 0, products = 0, reference_kernels = 0, compiled = 0, cached = 0;
};

struct CallArrays {
  std::vector<Array> arguments;  // converted; contiguous where needed
  std::vector<Array> shared;     // current values
  std::vector<Array> outputs;    // results
  std::vector<Array> updates;    // new values of the updates; one that was written in place is the old array
};

class BoundPlan {
 public:
  /// Sizes and layouts from the arrays. ShapeError or IndexError for requirements that do not hold; OutOfMemory.
  /// `simulated`: kernels run as CUDA text on the simulated GPU.
  BoundPlan(std::shared_ptr<const Executable> executable, const CallArrays& arrays, bool simulated, RunCounts& counts);
  ~BoundPlan();

  /// Runs all steps. If it throws, no shared variable has changed. Without a compiler kernels run in the reference evaluator.
  void run(CallArrays& arrays, RunCounts& counts);

 private:
  struct Step;
  struct Patch {
    std::uint64_t* slot;
    int buffer;
    std::int64_t offset;  // in bytes
  };

  /// The sizes of the graph; `smallest`: as if every size of an argument were 1.
  std::vector<std::int64_t> evaluate_sizes(const CallArrays& arrays, bool smallest) const;
  void check_requirements(const CallArrays& arrays) const;
  void find_layouts(const CallArrays& arrays);
  void allocate_temporaries();
  codegen::Text bind_kernel(const plan::Step& step, const fuse::KernelCall& call, const std::vector<int>& reads);
  bool is_small(const plan::Step& step, const std::vector<std::int64_t>& sizes) const;
  codegen::Text small_product_text(const plan::Step& step) const;
  std::vector<std::int64_t> extents_of(const fuse::KernelCall& call) const;
  /// The variant, sizes and strides for operands that lie in these buffers.
  codegen::Launch launch_of(const codegen::Analysis& analysis, std::span<const std::int64_t> extents, std::span<const int> operands) const;
  void bind_product(const plan::Step& step);
  void run_kernel(const Step& step);
  void run_simulated(const Step& step);
  void run_reference(const Step& step);
  std::string describe(const CallArrays& arrays) const;
  [[noreturn]] void fail(const Step& step) const;

  std::shared_ptr<const Executable> executable_;
  bool simulated_;
  std::vector<std::int64_t> sizes_;                 // per graph node
  std::vector<codegen::Layout> layouts_;            // per buffer
  std::vector<std::int64_t> temporary_offset_;      // per buffer
  std::shared_ptr<void> temporaries_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<Patch> patches_;
  std::vector<Array> spare_updates_;                // memory of old values, used again
  std::vector<char*> base_;                         // per buffer, of the present call
  alignas(16) std::uint32_t failure_[4] = {};
};

}  // namespace croton::runtime
