// The state of a shared variable: one value, its home, and how often it was written.
#pragma once

#include <croton/array.hpp>
#include <croton/variable.hpp>

#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>

namespace croton::builder {

struct SharedState {
  std::shared_mutex mutex;  // calls lock in the order of `id`: shared to read, exclusive to update
  std::uint64_t id = 0;
  Array value;             // in the memory of its home
  std::uint16_t home = 0;  // the number of a device; 0 is the host
  bool pinned = false;
  std::uint64_t version = 0;
  std::shared_ptr<void> copies;  // on other devices; the runtime's

  /// In terms of `self`, which stands for the variable: a state that held its own variable would never end.
  Variable default_update, self;
};

}  // namespace croton::builder
