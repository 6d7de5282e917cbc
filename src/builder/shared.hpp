// The state of a shared variable: its value, its home, and the number of writes.
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

#include "base/device_name.hpp"
#include "builder/state_lock.hpp"

namespace croton::builder {

struct Node;

struct SharedState {
  StateLock mutex;  // calls lock in the order of `id`: shared to read, exclusive to update
  std::uint64_t id = 0;
  Array value;  // in the memory of its home
  std::uint16_t home = base::host_place;
  bool pinned = false;
  std::uint64_t version = 0;
  std::atomic<bool> exposed{false};  // borrowed from or given to the user, whose code may see the value
  std::shared_ptr<void> copies;      // on other devices; managed by the runtime

  struct Mirror {
    std::uint16_t place;  // a number of base/device_name.hpp
    Variable copy;        // pinned there
  };
  std::vector<Mirror> mirrors;   // copies of the value (mirrors.hpp), by id
  std::weak_ptr<Node> mirrored;  // for such a copy: the original

  /// The default update, with placeholders for the variable itself and for variables whose default updates need it,
  /// such as those that one loop updates: states that own each other would never be freed.
  Variable default_update;
  std::vector<std::pair<Variable, std::weak_ptr<Node>>> placeholders;
};

/// The placeholders of the node's default update, and their variables. ValueError if a variable no longer exists.
std::vector<std::pair<Variable, Variable>> default_update_inputs(const Node& shared);

}  // namespace croton::builder
