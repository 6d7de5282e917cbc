#include "builder/device_scope.hpp"

#include <croton/device.hpp>

#include "base/device_name.hpp"

namespace croton {
namespace builder {
namespace {

thread_local std::uint16_t current = 0;

}  // namespace

std::uint16_t current_place() { return current; }

PlaceScope::PlaceScope(std::uint16_t place) : outer_(current) {
  if (place != 0) current = place;
}
PlaceScope::~PlaceScope() { current = outer_; }

}  // namespace builder

device_scope::device_scope(const std::string& device)
    : scope_(std::make_unique<builder::PlaceScope>(base::parse_device(device).place())) {}
device_scope::~device_scope() = default;

}  // namespace croton
