// BoundPlan: a plan with numbers for its sizes: what a call with these sizes runs. Kernels of the variants that it
// needs are compiled when it is made; a call then fills in the addresses of arrays and runs prebound launches.
//
// A plan whose sizes are not all known at the start is bound segment by segment: at the end of each the numbers that it
// found are read back, and the next segment is bound to them, or found bound already.
#pragma once

#include "runtime/host_call.hpp"
#include "runtime/launch.hpp"
#include "runtime/routine.hpp"
#include "runtime/segment_lanes.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

namespace croton::runtime {

struct BindOptions {
  Engine engine = Engine::compiled;  // where there is a compiler; else the reference evaluator
  bool simulated = false;            // devices are simulated ones, whatever there is
  std::string schedule;              // overrides, see codegen/schedule.hpp
  std::string_view name = {};        // of the function, for timings; empty: none are printed
  bool inside = false;               // of a loop or a branch: one thread runs it, and it is part of that one's event
};

/// Memory for the temporaries of a function's calls, a block for each segment and device, and for the arguments that
/// devices get ahead. One plan of a function runs at a time, so they all share it; it grows to what the largest needs.
class Workspace {
 public:
  /// OutOfMemory.
  char* block(Device* device, std::size_t segment, std::size_t bytes);
  /// Of a device that copies ahead.
  Uploads& uploads(Device& device);
  /// Where memory has run out: no more copies ahead. False where that gave none back.
  bool save_memory();

 private:
  struct Block {
    std::shared_ptr<void> memory;
    std::size_t bytes = 0;
  };
  std::vector<std::map<Device*, Block>> blocks_;  // by segment
  std::map<Device*, std::unique_ptr<Uploads>> uploads_;
};

/// Values of shared variables before they were overwritten. Behind the commit point of a plan nothing fails on the host
/// or on a GPU that is not lost; the reference evaluator and a simulated GPU may run out of memory there.
class Undo {
 public:
  /// OutOfMemory.
  void keep(Device* device, char* address, std::size_t bytes);
  void put_back() noexcept;
  bool empty() const { return kept_.empty(); }

 private:
  struct Kept {
    Device* device;
    char* address;
    std::size_t bytes;
    std::shared_ptr<void> copy;
  };
  std::vector<Kept> kept_;
};

/// One segment of a plan, bound.
class BranchLaunch;  // branch.hpp
class LoopLaunch;    // loop.hpp
class TracedCall;    // trace.hpp
struct TracedWork;

class BoundSegment {
 public:
  /// `before`: the segment before, of which sizes and layouts are taken over; none for the first. `fresh`: what it
  /// found.
  BoundSegment(std::shared_ptr<const Executable> executable, int number, const BoundSegment* before,
               std::span<const std::int64_t> fresh, const CallArrays& arrays, const BindOptions& options,
               RunCounts& counts);
  ~BoundSegment();

  const SizeTable& sizes() const { return sizes_; }
  /// Null for the host.
  Device* device_of(expr::Place place) const;
  /// Where a buffer is in the present call.
  const char* address(int buffer) const { return memory_.base[static_cast<std::size_t>(buffer)]; }
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
  std::size_t bytes_of(std::size_t buffer) const;
  void place_temporaries();
  void send_constant(std::size_t buffer, RunCounts& counts);
  const Array& at_home(const Array& value, const Device* home, NodeId node) const;
  void send_copy(std::size_t buffer, CallArrays& arrays, RunCounts& counts);
  void bind_launches(const CallArrays& arrays, const BindOptions& options, RunCounts& counts);
  [[noreturn]] void fail(const KernelLaunch& launch, const std::uint32_t* failure) const;

  struct BoundLaunch {
    std::variant<std::unique_ptr<KernelLaunch>, std::unique_ptr<ProductLaunch>, std::unique_ptr<TransferLaunch>,
                 std::unique_ptr<RoutineLaunch>, std::unique_ptr<HostLaunch>, std::unique_ptr<LoopLaunch>,
                 std::unique_ptr<BranchLaunch>>
        what;
    bool after_commit;
    int number;  // of the plan's launches
  };
  /// Null where no text was generated for it.
  static const codegen::Text* text_of(const BoundLaunch& launch);
  /// What a lane's launches count and fail in.
  struct InLane {
    RunCounts& counts;
    std::uint32_t* failure;
    const TracedCall* traced;  // null: nobody records it
  };
  void run(BoundLaunch& launch, const InLane& in);
  void run_untraced(BoundLaunch& launch, const InLane& in);
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
  int number_;
  bool inside_;
  Engine engine_;
  std::map<expr::Place, Device*> devices_;  // of the plan
  SizeTable sizes_;
  Memory memory_;
  std::vector<std::size_t> own_, in_place_;     // buffers that get memory here, and that share another's
  std::vector<std::int64_t> temporary_offset_;  // per buffer; of one that is uploaded, among these
  std::vector<bool> uploaded_;                  // per buffer: an argument that its device gets ahead
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
  bool fails_late_ = false;              // a launch behind the commit point may fail
  std::map<std::vector<std::int64_t>, std::unique_ptr<BoundSegment>> next_;
  alignas(16) std::uint32_t failure_[4] = {};
};

class BoundPlan {
 public:
  /// Sizes and layouts from the arrays. ShapeError or IndexError for requirements that do not hold; OutOfMemory.
  BoundPlan(std::shared_ptr<const Executable> executable, const CallArrays& arrays, BindOptions options,
            RunCounts& counts);

  /// BoundSegment::renumber; of plans of one segment.
  bool renumber(const CallArrays& arrays);
  /// Runs all steps. If it throws, no shared variable has changed. Without a compiler kernels run in the reference
  /// evaluator.
  void run(CallArrays& arrays, Workspace& workspace, RunCounts& counts);
  /// Whether a run is a matter of microseconds: a few kernels and products over little memory on the host.
  bool brief() const { return brief_; }

 private:
  std::shared_ptr<const Executable> executable_;
  BindOptions options_;
  BoundSegment first_;
  bool brief_;
};

}  // namespace croton::runtime
