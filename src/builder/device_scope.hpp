// The device scope of the calling thread, which sets the device of new nodes.
#pragma once

#include <cstdint>

namespace croton::builder {

/// The place of new nodes; base::unplaced if there is no scope.
std::uint16_t current_place();

/// While it lives, new nodes of this thread have that place; base::unplaced changes nothing.
class PlaceScope {
 public:
  explicit PlaceScope(std::uint16_t place);
  /// New nodes have no chosen place, even in an open scope.
  static PlaceScope anywhere() { return PlaceScope(); }
  ~PlaceScope();
  PlaceScope(const PlaceScope&) = delete;
  PlaceScope& operator=(const PlaceScope&) = delete;

 private:
  PlaceScope();
};

}  // namespace croton::builder
