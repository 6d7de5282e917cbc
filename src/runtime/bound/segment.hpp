// BoundSegment: a segment of a plan, with numbers for its sizes. Its kernels are compiled when it is made; a call then
// only sets the addresses of arrays and runs the launches. segment.cpp finds sizes and lays out memory,
// segment_launches.cpp makes the launches, segment_run.cpp runs them, and segment_lanes.cpp arranges them in lanes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/bound/check_words.hpp"
#include "runtime/bound/launch.hpp"
#include "runtime/bound/segment_lanes.hpp"
#include "runtime/bound/workspace.hpp"
#include "runtime/devices.hpp"

namespace croton::runtime {

class TracedCall;  // trace.hpp
struct TracedWork;

struct BindOptions;
/// Binds a loop. Raises OutOfMemory.
using BindLoop = std::unique_ptr<Launch>(const Executable& executable, const plan::Step& step, Device& device,
                                         const SizeTable& sizes, const Memory& memory, const BindOptions& options,
                                         RunCounts& counts);

struct BindOptions {
  BindLoop& bind_loop;               // that of loops/, a folder which uses this one
  Engine engine = Engine::compiled;  // without a compiler the reference evaluator is used
  Gpus gpus = Gpus::of_flags;
  std::string schedule;        // overrides (codegen/schedule.hpp)
  std::string_view name = {};  // of the function, for timings; empty: no timings
  bool inside = false;         // a body of a loop or branch: one thread runs it, as part of their trace event
};

class BoundSegment {
 public:
  /// `before`: the previous segment, whose sizes and layouts are copied; null for the first segment. `fresh`: the fresh
  /// sizes of the previous segment.
  BoundSegment(std::shared_ptr<const Executable> executable, fuse::SegmentId number, const BoundSegment* before,
               std::span<const std::int64_t> fresh, const CallArrays& arrays, const BindOptions& options,
               RunCounts& counts);
  ~BoundSegment();

  const SizeTable& sizes() const { return sizes_; }
  Device& device_of(expr::Place place) const;
  /// The address of a buffer in the present call.
  const char* address(plan::BufferId buffer) const { return memory_.base[buffer]; }
  /// Allocates all memory for the results of this segment, and sets the addresses of buffers.
  void start(CallArrays& arrays, Workspace& workspace, RunCounts& counts);
  /// Whether it has only a few kernels and products with little memory, on the host.
  bool is_tiny() const;
  /// Appends the schedules of its kernels, and of those of the segments after it in the last call.
  void add_schedules(std::vector<KernelSchedule>& schedules) const;
  /// Whether a launch has a table of parameters, which differs from run to run: so the launches cannot be recorded.
  bool has_tables() const { return !with_table_.empty(); }
  /// Runs the launches. Throws CheckFailure or GuardFailure for a failed check.
  void run(RunCounts& counts);
  /// Marks the devices of the plan as lost, because only some of their shared variables have been overwritten.
  void mark_devices_lost() const noexcept;
  /// Reads back the fresh sizes at the end of the segment.
  std::vector<std::int64_t> read_fresh() const;
  /// Renumbers the segment: binds it to other values of the numbers that the host reads, for arrays of the same sizes.
  /// That is possible if the numbers are only positions at which kernels and loops read, such as the number of a batch.
  /// Returns false, without a change, if sizes or variants of kernels depend on them. Raises the errors of binding.
  bool renumber(const CallArrays& arrays);
  /// The next segment, bound to these fresh sizes.
  BoundSegment& next(std::vector<std::int64_t> fresh, const CallArrays& arrays, const BindOptions& options,
                     RunCounts& counts);

 private:
  std::string print() const;
  std::string texts() const;
  void find_uploads();
  std::size_t bytes_of(plan::BufferId buffer) const;
  void place_temporaries();
  void send_constant(plan::BufferId buffer, RunCounts& counts);
  const Array& require_home(const Array& value, const Device& home, NodeId node) const;
  void send_copy(plan::BufferId buffer, CallArrays& arrays, RunCounts& counts);
  void bind_launches(const CallArrays& arrays, const BindOptions& options, RunCounts& counts);
  void compile_texts(const CallArrays& arrays, RunCounts& counts);
  std::vector<codegen::Text> small_products(const CallArrays& arrays) const;

  class Binder;  // segment_launches.cpp
  struct BoundLaunch {
    std::unique_ptr<Launch> impl;
    bool after_commit;
    plan::LaunchId number;  // of the plan's launches
  };
  /// The counters and the failure words for the launches of a lane.
  struct LaneContext {
    RunCounts& counts;
    std::uint32_t* failure;
    const TracedCall* traced;  // null: it is not recorded
    bool defers_checks;
  };
  void run(BoundLaunch& launch, const LaneContext& in);
  void run_in_order(RunCounts& counts, const TracedCall* traced, Undo& undo, bool& overwritten);
  void run_lanes(RunCounts& counts, const TracedCall* traced, Undo& undo, bool& overwritten);
  bool uses_lanes() const;
  const TracedCall* traced() const;
  TracedWork transfer_work(const plan::Buffer& to, std::size_t bytes) const;
  // segment_lanes.cpp
  std::unique_ptr<SegmentLanes> find_lanes() const;
  LaneName lane_of(const BoundLaunch& launch) const;
  std::vector<LaneOrder::Touch> touches(const BoundLaunch& launch) const;
  LaunchTime time_of(const BoundLaunch& launch) const;
  void save_updates(Undo& undo) const;
  CheckWords& check_words(Device& device);
  void read_checks();

  std::shared_ptr<const Executable> executable_;
  fuse::SegmentId number_;
  bool inside_;
  Engine engine_;
  std::vector<std::pair<expr::Place, Device*>> devices_;  // of the plan, the host first
  SizeTable sizes_;
  Memory memory_;
  std::vector<plan::BufferId> own_, in_place_;  // buffers that get memory here; buffers that share it
  base::IdVector<plan::BufferId, std::int64_t> temporary_offset_;  // for uploaded ones: among the arguments
  base::IdVector<plan::BufferId, bool> uploaded_;  // arguments that are copied to their device in advance
  struct Temporaries {
    std::size_t bytes = 0;
    char* address = nullptr;             // in the present call
    std::vector<expr::Origin> for_what;  // the origins of some of them, for messages
  };
  std::map<expr::Place, Temporaries> temporaries_, arguments_;
  std::map<expr::Place, Uploads*> uploads_;               // of the arguments, in the present call
  std::vector<std::unique_ptr<CheckWords>> check_words_;  // per device; before the launches, which use them
  bool checks_unread_ = false;                            // launches ran whose words were not read
  std::vector<BoundLaunch> launches_;
  std::vector<Launch*> with_table_;      // those of them that have a table of parameters
  std::unique_ptr<SegmentLanes> lanes_;  // null: one lane
  HostResults host_results_;             // of callbacks in the present run
  bool may_fail_after_commit_ = false;   // a launch after the commit point may fail
  std::map<std::vector<std::int64_t>, std::unique_ptr<BoundSegment>> next_;
  const BoundSegment* last_next_ = nullptr;  // of the last call
  alignas(16) std::uint32_t failure_[4] = {};
};

}  // namespace croton::runtime
