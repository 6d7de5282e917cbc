// Mirrored shared variables: copies of one value, each pinned on another device. An op with a chosen device reads the
// copy on it (import.cpp); all changes of the value change all copies (shared.cpp, function.cpp; call/shared_locks.cpp
// for copies that were made after the function).
#pragma once

#include <croton/shared.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace croton::builder {

/// Makes copies so that the value is on each of these devices (places of base/device_name.hpp). The variable itself
/// counts for the device where it is pinned or, if it is not pinned, for the first device, to which its new values
/// then go.
void mirror(const SharedVariable& variable, std::span<const std::uint16_t> places);
/// Changes whenever a copy of any variable is made: functions that update variables then check for new copies.
std::uint64_t mirror_generation();
/// The variable that an op on that device reads: the copy there, otherwise the variable itself.
Variable copy_at(const Variable& shared, std::uint16_t place);
/// The original variable, followed by its copies; for a copy the same list. A variable that was never mirrored is its
/// only element.
std::vector<SharedVariable> with_copies(const Variable& shared);
bool is_mirrored(const Node& shared);

/// While it lives, shared variables that this thread makes without a target are pinned on the first of these devices
/// and mirrored on the others; of nested scopes the last one that was opened counts, and a scope without devices does
/// not change variables. They need not end in reverse order.
class MirrorScope {
 public:
  explicit MirrorScope(std::vector<std::uint16_t> places);
  ~MirrorScope();
  MirrorScope(const MirrorScope&) = delete;
  MirrorScope& operator=(const MirrorScope&) = delete;
  /// The devices of the scope that counts.
  static std::span<const std::uint16_t> current();

 private:
  std::vector<std::uint16_t> places_;
};

}  // namespace croton::builder
