// Mirrored shared variables: copies of one value, each pinned on another device. An op that was asked for on a device
// reads the copy that is there (import.cpp); whoever changes the value changes all of them (shared.cpp, function.cpp;
// call/shared_locks.cpp those that were made after the function).
#pragma once

#include <croton/shared.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace croton::builder {

/// Sees to it that the value is on each of these devices (places of base/device_name.hpp). The variable itself counts
/// as being on the one where it is pinned; one that is not pinned on the first, to which its new values then go.
void mirror(const SharedVariable& variable, std::span<const std::uint16_t> places);
/// Changes whenever a copy is made anywhere: functions that update variables look then whether there are new ones.
std::uint64_t mirror_generation();
/// What an op on that device reads: the copy there, else the variable itself.
Variable copy_at(const Variable& shared, std::uint16_t place);
/// The variable that was mirrored, in front of its copies; of a copy the same. Of one that was never mirrored itself.
std::vector<SharedVariable> with_copies(const Variable& shared);
bool is_mirrored(const Node& shared);

/// While it lives, shared variables that this thread makes without a target are pinned on the first of these devices
/// and mirrored on the others; of nested ones the one that was opened last counts, and one of no devices leaves
/// variables as they are. They need not end in the order in which they were opened.
class MirrorScope {
 public:
  explicit MirrorScope(std::vector<std::uint16_t> places);
  ~MirrorScope();
  MirrorScope(const MirrorScope&) = delete;
  MirrorScope& operator=(const MirrorScope&) = delete;
  /// The devices of that one.
  static std::span<const std::uint16_t> current();

 private:
  std::vector<std::uint16_t> places_;
};

}  // namespace croton::builder
