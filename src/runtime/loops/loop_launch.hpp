// LoopLaunch: a loop in a bound plan. It is one launch of all steps if that is possible. Otherwise the body is bound to
// the sizes of one step and runs once per step; a GPU replays such steps from a recording if they do not need the host
// in between.
#pragma once

#include "runtime/loops/native_loop.hpp"
#include "runtime/loops/repeated_work.hpp"

#include <memory>
#include <vector>

namespace croton::runtime {

class LoopLaunch final : public Launch {
 public:
  /// Allocates the states whose history is not a result. Raises OutOfMemory.
  LoopLaunch(const Executable& executable, const plan::Step& step, Device& device, const SizeTable& sizes,
             const Memory& memory, const BindOptions& options, RunCounts& counts);
  /// Runs the steps, and raises their errors.
  void run(const LaunchRun& in) override;
  bool needs_checked_values() const override { return true; }
  const codegen::Text* text() const override { return native_ ? &native_->text() : nullptr; }
  bool on_host() const override { return !native_ || native_->on_host(); }
  void set_entry(cpu::KernelEntry entry) override { native_->set_entry(entry); }
  /// Possible if only values of numbers and the offsets of sequences change.
  std::optional<Renumbering> renumbered(const SizeTable& before, const SizeTable& sizes, const Memory& memory) override;
  LaunchTime time(double bytes) const override;
  void add_schedules(std::vector<KernelSchedule>& schedules) const override;

 private:
  struct Sequences {
    std::vector<Rows> rows;             // without addresses
    std::vector<std::int64_t> offsets;  // offsets in their buffers, in bytes
  };
  Rows allocate_rows(const Rows& like, std::int64_t count);
  void copy(const Rows& to, std::int64_t row, const Rows& from, std::int64_t first, std::int64_t count) const;
  std::int64_t slot_of(std::size_t state, std::int64_t row) const;
  void bind_native(const Memory& memory, const BindOptions& options, RunCounts& counts);
  std::int64_t steps_for(const SizeTable& sizes) const;
  void find_numbers(const SizeTable& sizes);
  Sequences find_sequences(const SizeTable& sizes, const Memory& memory) const;
  void find_places(const Memory& memory);
  Array element(std::size_t sequence, std::int64_t position) const;
  void prepare_recording();
  RepeatedWork::Addresses addresses() const;
  /// Known after the first step, which binds the body.
  std::shared_ptr<const std::string> how_it_runs() const;
  void run_step(std::int64_t t, RunCounts& counts);
  std::int64_t run_by_steps(const Memory& memory, RunCounts& counts);

  const Executable* executable_;
  const plan::Step* step_;
  const fuse::LoopCall* call_;
  Device& device_;
  BodyRun body_;
  std::int64_t steps_ = 0;
  std::vector<plan::BufferId> inputs_;  // of each input of the loop; no_buffer: a number
  std::vector<Array> numbers_;          // the numbers among the inputs, on the device
  Sequences sequences_;
  std::vector<Rows> own_states_;  // memory of states whose history is not a result
  LoopPlaces places_;             // places in the present call
  std::vector<std::optional<Rows>> last_;
  std::optional<Rows> done_;
  std::vector<std::shared_ptr<void>> own_memory_;
  std::unique_ptr<NativeLoop> native_;
  std::string overrides_;                                          // of schedules
  std::shared_ptr<const std::string> description_;                 // how it runs
  std::shared_ptr<const std::string> description_without_graphs_;  // if the flag cuda_graphs is off
  std::shared_ptr<const std::string> description_with_tables_;     // if kernels have tables of parameters
  std::vector<Array> unused_results_;     // memory for results of a step that are not needed, at constant addresses
  std::optional<RepeatedWork> repeated_;  // recorded steps; after what it uses, so that it is destroyed first
  std::int64_t steps_per_piece_ = 0;      // the number of steps that are recorded together
};

/// Binds a loop, and allocates the states whose history is not a result. Raises OutOfMemory.
std::unique_ptr<Launch> bind_loop(const Executable& executable, const plan::Step& step, Device& device,
                                  const SizeTable& sizes, const Memory& memory, const BindOptions& options,
                                  RunCounts& counts);

}  // namespace croton::runtime
