// What a function is on each set of devices that it has run on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "call/bound_plans.hpp"
#include "call/compiled_function.hpp"

namespace croton::detail {

/// The function as it runs where the flags, and the homes of its shared variables, say at one time.
struct Placed : Planned {
  bool logged = false;
  BoundPlans plans;
};

class Placements {
 public:
  explicit Placements(const CompiledFunction& function) : function_(function) {}

  /// For a call from this thread now; made when first asked for. With the function and its shared variables locked.
  Placed& find(const base::Flags& flags);
  /// Takes over what another function of the same code has planned; not what was bound, which is its calls'.
  void take_over(const Placements& other);

 private:
  bool read_devices(const base::Flags& now);
  Planned plan() const;

  const CompiledFunction& function_;
  std::map<std::vector<std::uint16_t>, Placed> placed_;
  std::vector<std::uint16_t> last_homes_;  // of the shared variables, when last_ was found
  Placed* last_ = nullptr;
  bool devices_read_ = false;  // the rest holds for these flags
  const base::Flags* last_flags_ = nullptr;
  std::uint64_t last_generation_ = 0;
  std::string last_scope_;
  expr::Place scoped_ = 0, fallback_ = 0;
  std::uint16_t device_set_ = 0, available_ = 0;
};

}  // namespace croton::detail
