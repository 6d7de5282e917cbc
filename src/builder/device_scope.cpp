#include "builder/device_scope.hpp"

#include <croton/device.hpp>

#include <vector>

#include "base/device_name.hpp"

namespace croton {
namespace builder {
namespace {

/// The open scopes of this thread, outermost first. They need not end in reverse order.
struct Open {
  const PlaceScope* scope;
  std::uint16_t place;
};
std::vector<Open>& open_scopes() {
  thread_local std::vector<Open> scopes;
  return scopes;
}

}  // namespace

std::uint16_t current_place() {
  const std::vector<Open>& scopes = open_scopes();
  return scopes.empty() ? base::unplaced : scopes.back().place;
}

PlaceScope::PlaceScope(std::uint16_t place) {
  if (place != base::unplaced) open_scopes().push_back({this, place});
}
PlaceScope::PlaceScope() { open_scopes().push_back({this, base::unplaced}); }
PlaceScope::~PlaceScope() {
  std::erase_if(open_scopes(), [this](const Open& open) { return open.scope == this; });
}

}  // namespace builder

device_scope::device_scope(const std::string& device)
    : scope_(std::make_unique<builder::PlaceScope>(base::parse_device(device).place())) {}
device_scope::~device_scope() = default;

}  // namespace croton
