// RepeatedWork: work that a device does repeatedly, such as the steps of a loop in each call of a function. When
// it occurs again at the same addresses it is recorded (Device::record), and later replayed, which costs the
// host one launch.
//
// The first run at some addresses is not recorded. Therefore a program whose addresses change with every call never
// pays for a recording, and everything else that the work needs (memory, compiled code, libraries that are loaded at
// the first use) exists when it is recorded.
#pragma once

#include "runtime/bound/executable.hpp"
#include "runtime/device/device.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <vector>

namespace croton::runtime {

class RepeatedWork {
 public:
  /// The addresses that the work uses and that can change from run to run.
  using Addresses = std::vector<const void*>;
  /// Enqueues one piece of the work on the device, and adds its work to the counts.
  using Piece = std::function<void(std::int64_t piece, RunCounts& counts)>;

  /// `origin`: the user's line, for messages.
  RepeatedWork(Device& device, const expr::Origin& origin) : device_(device), origin_(&origin) {}
  /// Runs pieces 0, 1, ... in order. Each piece has a separate recording, which limits the size of recordings.
  void run(const Addresses& addresses, std::int64_t pieces, const Piece& piece, RunCounts& counts);

 private:
  struct Recorded {
    std::unique_ptr<Recording> recording;
    RunCounts counts;
  };
  struct Place {
    Addresses addresses;
    std::vector<Recorded> pieces;  // empty: it has run there once, not recorded
  };
  Place* find(const Addresses& addresses);
  void add_place(const Addresses& addresses);
  bool record(Place& place, std::int64_t pieces, const Piece& piece);
  void replay(Place& place, const Piece& piece, RunCounts& counts);

  Device& device_;
  const expr::Origin* origin_;
  std::list<Place> places_;  // most recently used first
  std::int64_t recorded_ = 0, replayed_ = 0;
  bool disabled_ = false;
};

/// Counts of recordings in this process.
struct RecordingCounts {
  std::uint64_t recorded = 0, replayed = 0, failed = 0;  // pieces of work
};
RecordingCounts recording_counts();

}  // namespace croton::runtime
