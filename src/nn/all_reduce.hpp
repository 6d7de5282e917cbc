// Sums over the shards of a batch, in an order that the number of shards alone says: a tree that halves them. So the
// bits of a sum do not depend on which devices the shards are on.
#pragma once

#include <croton/variable.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace croton::nn {

/// Where the shards of a batch are computed. A place is a number of base/device_name.hpp, 0 any device.
struct Shards {
  std::vector<std::uint16_t> devices{0};
  std::vector<std::size_t> device_of{0};  // of each shard; neighbours are on one device
  std::uint16_t main_device = 0;          // where what all shards give is put together
  std::size_t bucket_bytes = std::size_t{1} << 20;

  std::size_t count() const { return device_of.size(); }
  std::uint16_t place(std::size_t shard) const { return devices[device_of[shard]]; }
};

/// The sum of a value that each shard has, on one device. A device adds up its own shards and sends one sum, where the
/// tree allows it. What is sent is called by the name.
Variable ordered_sum(const std::vector<Variable>& by_shard, const std::string& name, const Shards& shards,
                     std::uint16_t device);

/// Values of which each shard has one, and what they are called.
struct ShardValues {
  std::vector<std::vector<Variable>> by_shard;  // [shard][value]; empty ones are empty in each
  std::string what;                             // "gradients"
  std::vector<std::string> names;               // "w", "b": they are sent as "gradients of w, b"
  std::vector<Variable> rows;                   // of the shards: those without rows count as 0; empty: all count
};

/// The sums of all values, [device][value]. Each of two devices sends its sums to the other; of more, each adds up a
/// piece of what is large. Neighbouring values of one dtype are sent as one array as long as they have `bucket_bytes`
/// at most, the last values first: gradients of last layers are there first.
std::vector<std::vector<Variable>> all_reduce(const ShardValues& values, const Shards& shards);

}  // namespace croton::nn
