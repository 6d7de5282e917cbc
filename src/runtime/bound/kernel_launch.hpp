// KernelLaunch: kernels of a bound plan that run as one launch, on the host or on a device.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/bound/bound_kernel.hpp"
#include "runtime/bound/check_words.hpp"
#include "runtime/bound/launch.hpp"
#include "runtime/bound/parameter_table.hpp"

namespace croton::runtime {

struct BoundConvolution;

class KernelLaunch final : public Launch {
 public:
  /// `machine` and `overrides`: those of the schedules, for launches that are renumbered. `words`: for its checks, if
  /// the device has memory of its own; they must outlive it.
  KernelLaunch(std::vector<BoundKernel> kernels, codegen::Text text, Engine engine, Device& device, CheckWords& words,
               const codegen::Machine& machine, std::string_view overrides, RunCounts& counts);

  bool has_table() const override { return bool(table_); }
  void prepare(const Memory& memory) override;
  /// Runs the kernels. Raises CheckFailure or GuardFailure if a check fails that is not deferred.
  void run(const LaunchRun& in) override;
  /// Code of the user may do anything with a wrong value.
  bool needs_checked_values() const override { return has_user_text_; }
  bool has_check_words() const override { return has_checks() && !on_host(); }
  void report_checks(const std::shared_ptr<const Executable>& executable) const override;
  const codegen::Text* text() const override { return &text_; }
  bool on_host() const override { return device_.on_host(); }
  void set_entry(cpu::KernelEntry entry) override { entry_ = entry; }
  /// Possible if the new extents change neither the variant nor the sizes of the launch.
  std::optional<Renumbering> renumbered(const SizeTable& before, const SizeTable& sizes, const Memory& memory) override;
  bool is_tiny() const override { return true; }
  void add_schedules(std::vector<KernelSchedule>& schedules) const override;
  bool may_fail() const override;
  LaunchTime time(double bytes) const override;

  /// Lets a library compute the sums of a contraction, if the device has a routine for it and that is faster. Not after
  /// the commit point, because a library may fail.
  void use_library(const Memory& memory);

 private:
  struct Pointer {  // a parameter that every call sets
    std::size_t parameter;
    plan::BufferId buffer;
    std::int64_t offset;  // in bytes
  };
  bool by_reference() const { return on_host() && engine_ == Engine::reference; }
  bool uses_library() const { return library_ != nullptr; }
  const codegen::Schedule& schedule() const { return kernels_[0].schedule; }
  bool keeps_schedule(const BoundKernel& kernel) const;
  bool keeps_pass(const std::map<std::size_t, BoundKernel>& changed) const;
  void allocate_memory();
  std::int64_t value_of(const codegen::Parameter& parameter, std::int64_t& last_tile) const;
  void clear_counters();
  void prepare_device(RunCounts& counts);
  void renumber(std::map<std::size_t, BoundKernel> kernels);
  void run_kernels(const Memory& memory, std::uint32_t* failure);
  [[noreturn]] void fail(std::span<const std::uint32_t> failure,
                         const std::shared_ptr<const Executable>& executable) const;
  void fill_parameters();
  void set_addresses(const Memory& memory, std::uint32_t* failure);
  bool has_checks() const { return !kernels_[0].analysis->kernel.checks.empty(); }
  void run_library(const Memory& memory) const;
  void run_on_threads();
  void run_on_device(const Memory& memory);
  void run_reference(const Memory& memory) const;

  std::vector<BoundKernel> kernels_;
  codegen::Text text_;
  bool has_user_text_;
  Engine engine_;
  Device& device_;
  codegen::Machine machine_;
  std::string overrides_;
  cpu::KernelEntry entry_;
  std::vector<std::uint64_t> parameters_;
  std::vector<Pointer> pointers_;
  ParameterTable table_;
  codegen::Work work_;
  std::shared_ptr<void> workspace_, counters_;
  CheckWords& words_;
  std::size_t number_ = 0;                           // in the words
  std::vector<codegen::LaunchMemory> memory_begin_;  // on a GPU: where that of each kernel begins
  std::size_t workspace_bytes_ = 0, counter_bytes_ = 0;
  bool counters_are_dirty_ = false;  // a launch failed, and they are to be cleared before the next one
  std::shared_ptr<const BoundConvolution> convolution_;  // the contraction that a library computes
  std::shared_ptr<const ReadyConvolution> library_;
  std::vector<Operand> operands_;  // for the device, in the present call
};

}  // namespace croton::runtime
