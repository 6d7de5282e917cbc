// The device scope of the calling thread: nodes made meanwhile are asked for there.
#pragma once

#include <cstdint>

namespace croton::builder {

/// The place of new nodes; 0: free.
std::uint16_t current_place();

/// While it lives, new nodes of this thread have that place; 0 changes nothing.
class PlaceScope {
 public:
  explicit PlaceScope(std::uint16_t place);
  /// New nodes are free, whatever scopes are open.
  static PlaceScope anywhere() { return PlaceScope(); }
  ~PlaceScope();
  PlaceScope(const PlaceScope&) = delete;
  PlaceScope& operator=(const PlaceScope&) = delete;

 private:
  PlaceScope();
};

}  // namespace croton::builder
