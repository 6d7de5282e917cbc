// The state of a shared variable: one value, its home, and how often it was written.
#pragma once

#include <croton/array.hpp>
#include <croton/variable.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "builder/state_lock.hpp"

namespace croton::builder {

struct Node;

struct SharedState {
  StateLock mutex;  // calls lock in the order of `id`: shared to read, exclusive to update
  std::uint64_t id = 0;
  Array value;             // in the memory of its home
  std::uint16_t home = 0;  // the number of a device; 0 is the host
  bool pinned = false;
  std::uint64_t version = 0;
  std::atomic<bool> exposed{false};  // borrowed from somebody, or given away with borrow: others may see the value
  std::shared_ptr<void> copies;      // on other devices; the runtime's

  struct Mirror {
    std::uint16_t place;  // a number of base/device_name.hpp
    Variable copy;        // pinned there
  };
  std::vector<Mirror> mirrors;   // copies of the value (mirrors.hpp), by id
  std::weak_ptr<Node> mirrored;  // of such a copy: what it is one of

  /// In terms of stand-ins for the variable itself, and for others whose default updates need it, such as those that
  /// one loop updates: states that held each other would never be freed.
  Variable default_update;
  std::vector<std::pair<Variable, std::weak_ptr<Node>>> stand_ins;
};

/// The stand-ins of the node's default update, and what they stand for. ValueError where that is not there any more.
std::vector<std::pair<Variable, Variable>> default_update_inputs(const Node& shared);

}  // namespace croton::builder
