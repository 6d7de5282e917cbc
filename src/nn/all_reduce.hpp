// Sums over the shards of a batch, by a binary tree whose shape depends only on the number of shards. So the bits of a
// sum do not depend on the devices of the shards.
#pragma once

#include <croton/variable.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace croton::nn {

/// The devices of the shards of a batch, as places of base/device_name.hpp; place 0 is any device.
struct Shards {
  std::vector<std::uint16_t> devices{0};
  std::vector<std::size_t> device_of{0};  // of each shard: an index of `devices`, ascending
  std::uint16_t main_device = 0;          // where the results of all shards are combined
  std::size_t bucket_bytes = std::size_t{1} << 20;

  std::size_t count() const { return device_of.size(); }
  std::uint16_t place(std::size_t shard) const { return devices[device_of[shard]]; }
};

/// The sum of one value of each shard, on one device. Where the tree allows it, a device adds up its own shards and
/// sends one sum. Transferred values get the name.
Variable ordered_sum(const std::vector<Variable>& by_shard, const std::string& name, const Shards& shards,
                     std::uint16_t device);

/// Values of each shard to be summed, and their names.
struct ShardValues {
  std::vector<std::vector<Variable>> by_shard;  // [shard][value]; a value is empty in all shards or in none
  std::string what;                             // the kind of value: "gradients"
  std::vector<std::string> names;               // "w", "b": they are transferred as "gradients of w, b"
  std::vector<Variable> rows;  // of each shard: values of a shard without rows count as 0; empty: all count
};

/// The sums of all values, [device][value]. Two devices send their sums to each other; of more devices each adds up one
/// piece of a large array. Neighbouring values of one dtype are sent as one array of at most `bucket_bytes`, the last
/// values first, as the gradients of the last layers are computed first.
std::vector<std::vector<Variable>> all_reduce(const ShardValues& values, const Shards& shards);

}  // namespace croton::nn
