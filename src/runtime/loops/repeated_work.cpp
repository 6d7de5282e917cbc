#include "runtime/loops/repeated_work.hpp"

#include <algorithm>
#include <atomic>

#include "runtime/bound/user_line.hpp"

namespace croton::runtime {
namespace {

// The maximal number of sets of addresses that are kept. Programs that use two result arrays in turn need two sets,
// sometimes a few more.
constexpr std::size_t max_places = 4;

struct AtomicCounts {
  std::atomic<std::uint64_t> recorded{0}, replayed{0}, failed{0};
};
AtomicCounts& all_counts() {
  static AtomicCounts counts;
  return counts;
}

}  // namespace

RecordingCounts recording_counts() {
  const AtomicCounts& counts = all_counts();
  return {counts.recorded, counts.replayed, counts.failed};
}

/// The place with these addresses, moved to the front; null if it is new.
RepeatedWork::Place* RepeatedWork::find(const Addresses& addresses) {
  const auto found = std::ranges::find(places_, addresses, &Place::addresses);
  if (found == places_.end()) return nullptr;
  places_.splice(places_.begin(), places_, found);
  return &places_.front();
}

/// Adds a place, and removes the least recently used one if there are too many.
void RepeatedWork::add_place(const Addresses& addresses) {
  if (places_.size() >= max_places) places_.pop_back();
  places_.push_front({addresses, {}});
}

bool RepeatedWork::record(Place& place, std::int64_t pieces, const Piece& piece) {
  for (std::int64_t i = 0; i < pieces; ++i) {
    Recorded& recorded = place.pieces.emplace_back();
    recorded.recording = device_.record([&] { piece(i, recorded.counts); });
    if (recorded.recording) continue;
    place.pieces.clear();
    disabled_ = true;
    ++all_counts().failed;
    return false;
  }
  ++recorded_;
  all_counts().recorded += static_cast<std::uint64_t>(pieces);
  return true;
}

void RepeatedWork::replay(Place& place, const Piece& piece, RunCounts& counts) {
  for (std::size_t i = 0; i < place.pieces.size(); ++i) {
    if (!disabled_ && with_lines(*origin_, [&] { return place.pieces[i].recording->replay(); })) {
      counts.add(place.pieces[i].counts);
      ++all_counts().replayed;
      continue;
    }
    if (!disabled_) ++all_counts().failed;
    disabled_ = true;
    piece(static_cast<std::int64_t>(i), counts);
  }
  ++replayed_;
  if (disabled_) places_.clear();
}

void RepeatedWork::run(const Addresses& addresses, std::int64_t pieces, const Piece& piece, RunCounts& counts) {
  // Stops recording if recordings are rarely replayed.
  const auto pays = [&] { return recorded_ <= replayed_ - recorded_ + static_cast<std::int64_t>(max_places); };
  Place* place = disabled_ ? nullptr : find(addresses);
  if (place != nullptr && (!place->pieces.empty() || (pays() && record(*place, pieces, piece))))
    return replay(*place, piece, counts);
  if (disabled_) places_.clear();
  for (std::int64_t i = 0; i < pieces; ++i) piece(i, counts);
  // Only after success: a failed run may not have prepared everything.
  if (place == nullptr && !disabled_) add_place(addresses);
}

}  // namespace croton::runtime
