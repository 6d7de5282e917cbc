// What a bound plan runs, with numbers for its sizes: kernels, products, transfers and (routine.hpp) routines, on the
// host or on a device.
#pragma once

#include "codegen/emit.hpp"
#include "runtime/cpu/blas.hpp"
#include "runtime/cpu/kernels.hpp"
#include "runtime/device.hpp"
#include "runtime/executable.hpp"
#include "runtime/sizes.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace croton::runtime {

/// Where a launch finds its buffers: how each lies, and where it is in the present call, in the memory of its device.
struct Memory {
  std::vector<codegen::Layout> layouts;  // per buffer of the plan
  std::vector<char*> base;
};

/// How the buffers of a segment lie at these sizes; those of routines' workspaces are left out. OutOfMemory for those
/// that no memory could hold.
void find_layouts(const Executable& executable, const CallArrays& arrays, int segment, const SizeTable& sizes,
                  Memory& memory);

/// How kernels of the host run; those of a device run there.
enum class Engine : std::uint8_t { compiled, reference };

/// A kernel of a launch: the operands are buffers.
struct BoundKernel {
  const fuse::KernelCall* call = nullptr;
  const codegen::Analysis* analysis = nullptr;
  std::vector<int> operands;
  std::vector<std::int64_t> extents;
  codegen::Launch launch;
};
BoundKernel bind_kernel(const Executable& executable, const plan::Step& step, int generated, const SizeTable& sizes,
                        const Memory& memory);
/// The texts of kernels that are to run as one launch: one, unless their parameters are too many for that. `count`:
/// kernels per text.
std::vector<codegen::Text> emit_launch(std::span<const BoundKernel> kernels, codegen::Target target,
                                       std::vector<std::size_t>& count);

/// The schedule of a family with overrides applied; on simulated devices, where nothing is overridden, one of few
/// threads.
codegen::Schedule choose_launch_schedule(kernel::Family family, const Device* device, std::string_view overrides,
                                         std::string_view kernel_name);
void count_prepared(Prepared prepared, RunCounts& counts);

struct BoundConvolution;
namespace cpu {
class DnnConvolution;
}

/// Kernels that run as one.
class KernelLaunch {
 public:
  /// `device`: null for the host.
  KernelLaunch(std::vector<BoundKernel> kernels, codegen::Text text, Engine engine, Device* device,
               std::string_view schedule, RunCounts& counts);

  const codegen::Text& text() const { return text_; }
  std::span<const BoundKernel> kernels() const { return kernels_; }
  /// Those of the kernels whose extents are others now, by their places, if these leave the code, and how much of it
  /// runs, as they are; else nothing.
  std::optional<std::map<std::size_t, BoundKernel>> renumbered(const SizeTable& sizes, const Memory& memory) const;
  /// Takes over what `renumbered` gave.
  void renumber(std::map<std::size_t, BoundKernel> kernels);
  void set_entry(cpu::KernelEntry entry) { entry_ = entry; }
  /// Has a library compute the sums of a contraction, where there is one that has a routine for it and it pays. Not for
  /// what runs behind the commit point: a library may fail.
  void use_library(const Memory& memory);
  bool uses_library() const { return convolution_ != nullptr; }
  bool by_reference() const { return !runs_cuda() && engine_ == Engine::reference; }
  bool runs_cuda() const { return device_ != nullptr && device_->runs_cuda(); }
  std::span<const expr::Origin> origins() const { return kernels_[0].call->origins; }
  const codegen::Work& work() const { return work_; }
  /// Whether running it may fail although nothing is wrong with it: for want of host memory.
  bool may_fail() const;
  /// Runs it. A check that fails leaves its number and value in `failure` (three words, as ct::Failure).
  void run(const Memory& memory, std::uint32_t* failure);

 private:
  struct Pointer {  // a parameter that every call fills in
    std::size_t parameter;
    int buffer;
    std::int64_t offset;  // in bytes
  };
  void prepare_device(RunCounts& counts);
  void fill_parameters();
  bool has_checks() const { return !kernels_[0].analysis->kernel.checks.empty(); }
  void run_library(const Memory& memory) const;
  void run_on_device(const Memory& memory, std::uint32_t* failure);
  void run_reference(const Memory& memory) const;

  std::vector<BoundKernel> kernels_;
  codegen::Text text_;
  Engine engine_;
  Device* device_;
  codegen::Schedule schedule_;
  cpu::KernelEntry entry_;
  std::vector<std::uint64_t> parameters_;
  std::vector<Pointer> pointers_;
  codegen::Work work_;
  std::shared_ptr<void> workspace_, device_failure_;
  std::size_t workspace_bytes_ = 0;
  std::shared_ptr<const BoundConvolution> convolution_;  // what a library computes
  std::shared_ptr<const cpu::DnnConvolution> dnn_;       // on the host
  std::vector<Operand> operands_;                        // of the present call, on a device
};

/// m, k and n of the product of a step, and how many there are of it.
struct ProductSizes {
  std::int64_t m, k, n, batch;
};
ProductSizes product_sizes(const Executable& executable, const plan::Step& step, const SizeTable& sizes);

/// A product by a library.
class ProductLaunch {
 public:
  ProductLaunch(const Executable& executable, const plan::Step& step, Device* device, const ProductSizes& sizes);
  /// Whether the device has a routine for it: if not, a generated kernel runs in its place.
  bool has_routine() const { return has_routine_; }
  const expr::Origin& origin() const { return *origin_; }
  void run(const Memory& memory) const;

 private:
  const plan::Step* step_;
  Device* device_;
  const expr::Origin* origin_;
  bool has_routine_ = true;
  cpu::MatrixProduct product_;
  std::int64_t result_bytes_ = 0;
};

/// A copy from one device to another; null is the host.
class TransferLaunch {
 public:
  TransferLaunch(const Executable& executable, const plan::Step& step, Device* from, Device* to, const Memory& memory);
  /// `uploads`: where these have the memory that it writes.
  void run(const Memory& memory, Uploads* uploads) const;
  int target() const { return step_->writes[0]; }
  const expr::Origin& origin() const { return *origin_; }
  const Transferred& record() const { return record_; }

 private:
  const plan::Step* step_;
  const expr::Origin* origin_;
  Device *from_, *to_;
  Transferred record_;
};
void copy_between(Device* to, void* target, Device* from, const void* source, std::size_t bytes);

/// The kernel that stands in for it at these sizes; -1: none, a library does it.
int generated_for(const Executable& executable, const plan::Step& step, const SizeTable& sizes);
/// The one for where there is no library.
int generated_always(const Executable& executable, const plan::Step& step, const SizeTable& sizes);

}  // namespace croton::runtime
