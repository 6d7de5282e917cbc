// The plans of a function for each set of devices on which it has run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "call/bound_plans.hpp"
#include "compiled_function.hpp"

namespace croton::detail {

/// The function planned for one choice of devices, by the flags and the homes of its shared variables.
struct Placed : Planned {
  bool logged = false;
  BoundPlans plans;
};

class Placements {
 public:
  explicit Placements(const CompiledFunction& function) : function_(function) {}

  /// The placed function for a call from this thread now; made at first use. The function and its shared variables must
  /// be locked.
  Placed& find(const base::Flags& flags);
  /// Copies the plans of another function of the same code, without bound plans, which belong to its calls.
  void copy_plans(const Placements& other);

 private:
  bool read_devices(const base::Flags& now);
  Planned plan() const;

  const CompiledFunction& function_;
  std::map<std::vector<std::uint16_t>, Placed> placed_;
  std::vector<std::uint16_t> last_homes_;  // of the shared variables, when last_placed_ was found
  Placed* last_placed_ = nullptr;
  bool devices_read_ = false;  // whether the members below are valid
  const base::Flags* last_flags_ = nullptr;
  std::uint64_t last_generation_ = 0;
  std::string last_scope_;
  expr::Place scoped_ = base::unplaced, fallback_ = base::host_place;
  std::uint16_t device_set_ = 0, available_ = 0;
};

}  // namespace croton::detail
