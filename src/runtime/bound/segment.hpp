// BoundSegment: the steps of a plan between two numbers that the host reads back, with numbers for their sizes. Kernels
// of the variants that it needs are compiled when it is made; a call then fills in the addresses of arrays and runs
// launches that are ready. What each file does: segment.cpp finds sizes and places memory, segment_launches.cpp makes
// the launches, segment_run.cpp runs them, segment_lanes.cpp in lanes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/bound/launch.hpp"
#include "runtime/bound/segment_lanes.hpp"
#include "runtime/bound/workspace.hpp"

namespace croton::runtime {

class TracedCall;  // trace.hpp
struct TracedWork;

struct BindOptions {
  Engine engine = Engine::compiled;  // where there is a compiler; else the reference evaluator
  bool simulated = false;            // devices are simulated ones, whatever there is
  std::string schedule;              // overrides, see codegen/schedule.hpp
  std::string_view name = {};        // of the function, for timings; empty: none are printed
  bool inside = false;               // of a loop or a branch: one thread runs it, and it is part of that one's event
};

class BoundSegment {
 public:
  /// `before`: the segment before, of which sizes and layouts are taken over; none for the first. `fresh`: what it
  /// found.
  BoundSegment(std::shared_ptr<const Executable> executable, fuse::SegmentId number, const BoundSegment* before,
               std::span<const std::int64_t> fresh, const CallArrays& arrays, const BindOptions& options,
               RunCounts& counts);
  ~BoundSegment();

  const SizeTable& sizes() const { return sizes_; }
  Device& device_of(expr::Place place) const;
  /// Where a buffer is in the present call.
  const char* address(plan::BufferId buffer) const { return memory_.base[buffer]; }
  /// Memory for what this segment computes; everything that may fail to be allocated is allocated here.
  void start(CallArrays& arrays, Workspace& workspace, RunCounts& counts);
  /// Whether it is a few kernels and products over little memory on the host.
  bool is_brief() const;
  /// Runs its launches. Throws what a failed check says.
  void run(RunCounts& counts);
  /// Makes the devices of the plan count as lost: some values there are overwritten, and not all that should be.
  void give_up() const noexcept;
  /// The numbers that are read back at its end.
  std::vector<std::int64_t> read_fresh() const;
  /// The same segment for arrays of the same sizes and other numbers that the host reads, where these are only
  /// positions in what kernels and loops read: the number of a batch. False, and nothing has changed, where sizes, or
  /// the kernels that are needed, depend on them. Raises what binding raises.
  bool renumber(const CallArrays& arrays);
  /// The next segment for these numbers.
  BoundSegment& next(std::vector<std::int64_t> fresh, const CallArrays& arrays, const BindOptions& options,
                     RunCounts& counts);

 private:
  std::string print() const;
  std::string texts() const;
  void find_workspaces();
  void find_uploads();
  std::size_t bytes_of(plan::BufferId buffer) const;
  void place_temporaries();
  void send_constant(plan::BufferId buffer, RunCounts& counts);
  const Array& at_home(const Array& value, const Device& home, NodeId node) const;
  void send_copy(plan::BufferId buffer, CallArrays& arrays, RunCounts& counts);
  void bind_launches(const CallArrays& arrays, const BindOptions& options, RunCounts& counts);
  void compile_texts(const CallArrays& arrays, RunCounts& counts);
  std::vector<codegen::Text> small_products(const CallArrays& arrays) const;

  class Binder;  // segment_launches.cpp
  struct BoundLaunch {
    std::unique_ptr<Launch> what;
    bool after_commit;
    plan::LaunchId number;  // of the plan's launches
  };
  /// What a lane's launches count and fail in.
  struct InLane {
    RunCounts& counts;
    std::uint32_t* failure;
    const TracedCall* traced;  // null: nobody records it
  };
  void run(BoundLaunch& launch, const InLane& in);
  void run_in_order(RunCounts& counts, const TracedCall* traced, Undo& undo, bool& overwritten);
  void run_lanes(RunCounts& counts, const TracedCall* traced, Undo& undo, bool& overwritten);
  bool uses_lanes() const;
  const TracedCall* traced() const;
  TracedWork sent(const plan::Buffer& to, std::size_t bytes) const;
  // segment_lanes.cpp
  std::unique_ptr<SegmentLanes> find_lanes() const;
  LaneName lane_of(const BoundLaunch& launch) const;
  std::vector<LaneOrder::Touch> touches(const BoundLaunch& launch) const;
  LaunchTime time_of(const BoundLaunch& launch) const;
  void keep_updates(Undo& undo) const;

  std::shared_ptr<const Executable> executable_;
  fuse::SegmentId number_;
  bool inside_;
  Engine engine_;
  std::map<expr::Place, Device*> devices_;  // of the plan, besides the host
  SizeTable sizes_;
  Memory memory_;
  std::vector<plan::BufferId> own_, in_place_;                     // that get memory here, and that share another's
  base::IdVector<plan::BufferId, std::int64_t> temporary_offset_;  // of one that is uploaded, among these
  base::IdVector<plan::BufferId, bool> uploaded_;                  // an argument that its device gets ahead
  struct Temporaries {
    std::size_t bytes = 0;
    char* address = nullptr;             // in the present call
    std::vector<expr::Origin> for_what;  // some of them, for messages
  };
  std::map<expr::Place, Temporaries> temporaries_, arguments_;
  std::map<expr::Place, Uploads*> uploads_;  // for the arguments, in the present call
  std::vector<BoundLaunch> launches_;
  std::unique_ptr<SegmentLanes> lanes_;  // null: one
  HostResults host_results_;             // of callbacks, in the present run
  bool fails_late_ = false;              // a launch after the commit point may fail
  std::map<std::vector<std::int64_t>, std::unique_ptr<BoundSegment>> next_;
  alignas(16) std::uint32_t failure_[4] = {};
};

}  // namespace croton::runtime
