// A loop in a bound plan: one launch for all steps where that can be, else its body is bound to the sizes of one step,
// and run once a step; a GPU gets such steps as a recording where they need nothing of the host in between.
#pragma once

#include "runtime/loops/native_loop.hpp"
#include "runtime/loops/repeated_work.hpp"

#include <memory>
#include <vector>

namespace croton::runtime {

class LoopLaunch final : public Launch {
 public:
  /// Memory for states that nobody keeps is taken here. OutOfMemory.
  LoopLaunch(const Executable& executable, const plan::Step& step, Device& device, const SizeTable& sizes,
             const Memory& memory, const BindOptions& options, RunCounts& counts);
  LaunchKind kind() const override { return LaunchKind::loop; }
  /// Runs the steps. Raises what a step raises.
  void run(const LaunchRun& in) override;
  const codegen::Text* text() const override { return native_ ? &native_->text() : nullptr; }
  bool on_host() const override { return !native_ || native_->on_host(); }
  void set_entry(cpu::KernelEntry entry) override { native_->set_entry(entry); }
  /// Where all that differs is values that its body is given, and where sequences begin.
  std::optional<Renumbering> renumbered(const SizeTable& before, const SizeTable& sizes, const Memory& memory) override;
  LaunchTime time(double bytes) const override;

 private:
  struct Sequences {
    std::vector<Rows> rows;             // without addresses
    std::vector<std::int64_t> offsets;  // in their buffers, in bytes
  };
  Rows own_rows(const Rows& like, std::int64_t count);
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
  void run_step(std::int64_t t, RunCounts& counts);
  std::int64_t run_by_steps(const Memory& memory, RunCounts& counts);

  const Executable* executable_;
  const plan::Step* step_;
  const fuse::LoopCall* call_;
  Device& device_;
  BodyRun body_;
  std::int64_t steps_ = 0;
  std::vector<plan::BufferId> inputs_;  // of each input of the loop; none: a number
  std::vector<Array> numbers_;          // of those that have none, on the device
  Sequences sequences_;
  std::vector<Rows> own_;  // memory of states of which no history is wanted
  LoopPlaces places_;      // of the present call
  std::vector<std::optional<Rows>> last_;
  std::optional<Rows> done_;
  std::vector<std::shared_ptr<void>> own_memory_;
  std::unique_ptr<NativeLoop> native_;
  std::shared_ptr<const std::string> how_, without_graphs_;  // it runs
  std::vector<Array> unwanted_;           // results of a step that nobody wants, in memory that stays
  std::optional<RepeatedWork> repeated_;  // steps that may be recorded; ends before what it uses
  std::int64_t steps_of_piece_ = 0;       // that are recorded together
};

}  // namespace croton::runtime
