// Work that a device does over and over, such as the steps of a loop in each call of a function: where it is asked for
// at the same addresses again it is recorded (Device::record), and from then on replayed, which costs the host one
// launch.
//
// The first run at some addresses is a plain one. So a program whose addresses change with every call never pays for a
// recording, and whatever the work needs besides its addresses (memory, compiled code, what libraries load when first
// used) is there when it is recorded.
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
  /// All that the work depends on and that may differ from run to run.
  using Addresses = std::vector<const void*>;
  /// Asks the device for piece i of the work; adds to the counts what that runs.
  using Piece = std::function<void(std::int64_t piece, RunCounts& counts)>;

  /// `origin`: the user's line, for messages.
  RepeatedWork(Device& device, const expr::Origin& origin) : device_(device), origin_(&origin) {}
  /// Does pieces 0, 1, ... in order, recorded one by one: a bound on how large a recording is.
  void run(const Addresses& addresses, std::int64_t pieces, const Piece& piece, RunCounts& counts);

 private:
  struct Recorded {
    std::unique_ptr<Recording> recording;
    RunCounts counts;
  };
  struct Place {
    Addresses addresses;
    std::vector<Recorded> pieces;  // none: it ran there once
  };
  Place* find(const Addresses& addresses);
  void remember(const Addresses& addresses);
  bool record(Place& place, std::int64_t pieces, const Piece& piece);
  void replay(Place& place, const Piece& piece, RunCounts& counts);

  Device& device_;
  const expr::Origin* origin_;
  std::list<Place> places_;  // the latest first
  std::int64_t recorded_ = 0, replayed_ = 0;
  bool given_up_ = false;
};

/// Of this process.
struct RecordingCounts {
  std::uint64_t recorded = 0, replayed = 0, failed = 0;  // pieces of work
};
RecordingCounts recording_counts();

}  // namespace croton::runtime
