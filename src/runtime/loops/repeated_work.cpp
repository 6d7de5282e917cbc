#include "runtime/loops/repeated_work.hpp"

#include <algorithm>
#include <atomic>

#include "runtime/bound/user_line.hpp"

namespace croton::runtime {
namespace {

// Arguments, and results that two calls hold in turn, come back to two sets of addresses, sometimes a few more.
constexpr std::size_t most_places = 4;

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

/// The place, which is then the latest; null where it is new.
RepeatedWork::Place* RepeatedWork::find(const Addresses& addresses) {
  const auto found = std::ranges::find(places_, addresses, &Place::addresses);
  if (found == places_.end()) return nullptr;
  places_.splice(places_.begin(), places_, found);
  return &places_.front();
}

/// The one that was not used for longest makes room.
void RepeatedWork::remember(const Addresses& addresses) {
  if (places_.size() >= most_places) places_.pop_back();
  places_.push_front({addresses, {}});
}

bool RepeatedWork::record(Place& place, std::int64_t pieces, const Piece& piece) {
  for (std::int64_t i = 0; i < pieces; ++i) {
    Recorded& recorded = place.pieces.emplace_back();
    recorded.recording = device_.record([&] { piece(i, recorded.counts); });
    if (recorded.recording) continue;
    place.pieces.clear();
    given_up_ = true;
    ++all_counts().failed;
    return false;
  }
  ++recorded_;
  all_counts().recorded += static_cast<std::uint64_t>(pieces);
  return true;
}

void RepeatedWork::replay(Place& place, const Piece& piece, RunCounts& counts) {
  for (std::size_t i = 0; i < place.pieces.size(); ++i) {
    if (!given_up_ && with_lines(*origin_, [&] { return place.pieces[i].recording->replay(); })) {
      counts.add(place.pieces[i].counts);
      ++all_counts().replayed;
      continue;
    }
    if (!given_up_) ++all_counts().failed;
    given_up_ = true;
    piece(static_cast<std::int64_t>(i), counts);
  }
  ++replayed_;
  if (given_up_) places_.clear();
}

void RepeatedWork::run(const Addresses& addresses, std::int64_t pieces, const Piece& piece, RunCounts& counts) {
  // Recordings that are not used again do not go on for ever.
  const auto pays = [&] { return recorded_ <= replayed_ - recorded_ + static_cast<std::int64_t>(most_places); };
  Place* place = given_up_ ? nullptr : find(addresses);
  if (place != nullptr && (!place->pieces.empty() || (pays() && record(*place, pieces, piece))))
    return replay(*place, piece, counts);
  if (given_up_) places_.clear();
  for (std::int64_t i = 0; i < pieces; ++i) piece(i, counts);
  if (place == nullptr && !given_up_) remember(addresses);  // a run that failed may have left something to be made
}

}  // namespace croton::runtime
