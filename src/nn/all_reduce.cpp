#include "nn/all_reduce.hpp"

#include <croton/device.hpp>
#include <croton/ops.hpp>
#include <croton/views.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/device_name.hpp"
#include "base/index.hpp"
#include "builder/device_scope.hpp"
#include "builder/gradient_context.hpp"
#include "builder/node.hpp"

namespace croton::nn {
namespace {

// Below this number of bytes the cost depends on the number of messages, not on their size.
constexpr std::size_t min_scattered_bytes = std::size_t{1} << 15;

/// The values as one vector; a single value stays as it is.
Variable flattened(const std::vector<Variable>& values) {
  if (values.size() == 1) return values[0];
  std::vector<Variable> flat;
  flat.reserve(values.size());
  for (const Variable& value : values) flat.push_back(flatten(value));
  return concatenate(flat);
}

/// The inverse of flattened(): values with the shapes of `like`.
std::vector<Variable> split_like(const Variable& all, const std::vector<Variable>& like) {
  if (like.size() == 1 && all.rank() == like[0].rank()) return {all};
  std::vector<Variable> values;
  Variable begin = constant(Array(std::int64_t{0}));
  for (const Variable& value : like) {
    const Variable end = begin + value.size();
    const std::vector<Variable> shape = value.shape();
    values.push_back(reshape(all[slice(begin, end)], {shape.begin(), shape.end()}));
    begin = end;
  }
  return values;
}

/// The sums of some values over ranges of shards. A sum is computed on the device that has the whole range, or else on
/// every device that needs it. Each transfer is made once and sends all values as one array.
class SumTree {
 public:
  using Values = std::vector<Variable>;
  SumTree(const std::vector<Values>& by_shard, const std::vector<Variable>& rows, std::string name,
          const Shards& shards)
      : by_shard_(by_shard), rows_(rows), name_(std::move(name)), shards_(shards) {}

  Values on(std::uint16_t device) {
    return shards_.count() == 1 ? masked_sum(0, 1, device) : sum(0, shards_.count(), device);
  }

  /// The sums on each device, by Rabenseifner's scheme (2004): each device adds up one piece of the values, which have
  /// `size` elements in total, and sends it to the others. Each of D devices sends 2 (D - 1) / D of the bytes; if each
  /// device added up everything, it would send D - 1 times the bytes.
  std::vector<Values> scattered(std::int64_t size) {
    const std::int64_t count = std::ssize(shards_.devices);
    std::vector<std::vector<Variable>> pieces(shards_.devices.size());  // [device][piece]
    for (std::int64_t k = 0; k < count; ++k) {
      const std::uint16_t owner = base::nth(shards_.devices, k);
      const Variable piece = sum_of_piece(0, shards_.count(), {size * k / count, size * (k + 1) / count}, owner);
      for (std::size_t d = 0; d < pieces.size(); ++d) pieces[d].push_back(sent({piece}, owner, shards_.devices[d])[0]);
    }
    std::vector<Values> sums;
    for (std::size_t d = 0; d < pieces.size(); ++d) {
      const builder::PlaceScope place(shards_.devices[d]);
      sums.push_back(split_like(concatenate(pieces[d]), by_shard_[0]));
    }
    return sums;
  }

 private:
  using Key =
      std::tuple<std::size_t, std::size_t, std::uint16_t>;  // a range of shards, and the device that needs its sum

  Values sum(std::size_t begin, std::size_t end, std::uint16_t device) {
    const std::uint16_t owner = shards_.place(begin);
    const Key key{begin, end, device};
    if (const auto found = sums_.find(key); found != sums_.end()) return found->second;
    if (owner == shards_.place(end - 1) && owner != device)
      return sums_[key] = sent(sum(begin, end, owner), owner, device);
    if (end - begin == 1) return by_shard_[begin];
    const std::size_t middle = begin + (end - begin + 1) / 2;
    const Values first = masked_sum(begin, middle, device), second = masked_sum(middle, end, device);
    const builder::PlaceScope place(device);
    Values sums;
    for (std::size_t i = 0; i < first.size(); ++i)
      sums.push_back(builder::apply(expr::Core::ordered_add, {first[i], second[i]}, {}, first[i].where()).named(name_));
    return sums_[key] = std::move(sums);
  }

  struct Piece {
    std::int64_t begin, end;
  };
  Variable sum_of_piece(std::size_t begin, std::size_t end, const Piece& piece, std::uint16_t device) {
    const std::uint16_t owner = shards_.place(begin);
    Variable sum;
    if (owner == shards_.place(end - 1)) {
      const Values whole = this->sum(begin, end, owner);
      const builder::PlaceScope place(owner);
      sum = flattened(whole);
      if (whole.size() == 1) sum = flatten(sum);
      sum = sent({sum[slice(piece.begin, piece.end)]}, owner, device)[0];
    } else {
      const std::size_t middle = begin + (end - begin + 1) / 2;
      const Variable first = sum_of_piece(begin, middle, piece, device),
                     second = sum_of_piece(middle, end, piece, device);
      const builder::PlaceScope place(device);
      sum = builder::apply(expr::Core::ordered_add, {first, second}, {}, first.where());
    }
    return end - begin == 1 ? masked({sum}, begin, device)[0] : sum;
  }

  /// The sum on the device, where a shard without rows counts as 0. Its value is masked after the transfer: before, the
  /// mask would need a separate kernel.
  Values masked_sum(std::size_t begin, std::size_t end, std::uint16_t device) {
    return end - begin == 1 ? masked(sum(begin, end, device), begin, device) : sum(begin, end, device);
  }
  Values masked(Values values, std::size_t shard, std::uint16_t device) {
    if (rows_.empty()) return values;
    const builder::PlaceScope place(device);
    const Variable counts = rows_[shard] > constant(Array(std::int64_t{0}));
    for (Variable& value : values) value = where(counts, value, builder::number(0, value));
    return values;
  }

  Values sent(const Values& values, std::uint16_t owner, std::uint16_t device) {
    if (device == 0 || device == owner) return values;
    const builder::PlaceScope from(owner);
    Variable all = transfer(flattened(values), base::DeviceName::of_place(device).to_string(), values[0].where());
    all.named(name_);
    const builder::PlaceScope to(device);
    return split_like(all, values);
  }

  const std::vector<Values>& by_shard_;
  const std::vector<Variable>& rows_;
  std::string name_;
  const Shards& shards_;
  std::map<Key, Values> sums_;
};

/// The bytes of all values, if their sizes are known.
std::optional<std::size_t> bytes_of(const std::vector<Variable>& values) {
  std::size_t bytes = 0;
  for (const Variable& value : values) {
    std::size_t count = size_of(value.dtype());
    for (const std::int64_t size : value.type().shape) {
      if (size == unknown_size) return std::nullopt;
      count *= base::to_size(size);
    }
    bytes += count;
  }
  return bytes;
}

/// The values, with floats of 16 bits as float32, so that their sum is rounded once.
std::vector<std::vector<Variable>> widened(const std::vector<std::vector<Variable>>& by_shard, const Shards& shards) {
  if (shards.count() == 1) return by_shard;
  std::vector<std::vector<Variable>> all = by_shard;
  for (std::size_t shard = 0; shard < all.size(); ++shard) {
    const builder::PlaceScope place(shards.place(shard));
    for (Variable& value : all[shard]) {
      if (value.defined() && is_float(value.dtype()) && size_of(value.dtype()) < 4)
        value = cast(Operand(value, value.where()), DType::float32);
    }
  }
  return all;
}

/// Positions of the values of each array that is sent, the last values first.
std::vector<std::vector<std::size_t>> buckets_of(const std::vector<Variable>& values, std::size_t most) {
  std::vector<std::vector<std::size_t>> buckets;
  std::size_t room = 0;
  for (std::size_t i = values.size(); i-- > 0;) {
    if (!values[i].defined()) continue;
    const std::size_t bytes = bytes_of({values[i]}).value_or(most);
    const bool fits = !buckets.empty() && bytes <= room && values[buckets.back().back()].dtype() == values[i].dtype();
    if (!fits) {
      buckets.emplace_back();
      room = most;
    }
    buckets.back().push_back(i);
    room -= std::min(room, bytes);
  }
  return buckets;
}

}  // namespace

Variable ordered_sum(const std::vector<Variable>& by_shard, const std::string& name, const Shards& shards,
                     std::uint16_t device) {
  std::vector<std::vector<Variable>> values;
  values.reserve(by_shard.size());
  for (const Variable& value : by_shard) values.push_back({value});
  const std::vector<Variable> no_rows;  // every shard counts
  const builder::OriginScope origin(by_shard[0].where());
  return SumTree(values, no_rows, name, shards).on(device)[0];
}

std::vector<std::vector<Variable>> all_reduce(const ShardValues& values, const Shards& shards) {
  const auto& [given, what, names, rows] = values;
  const std::vector<std::vector<Variable>> by_shard = widened(given, shards);
  std::vector<std::vector<Variable>> sums(shards.devices.size(), std::vector<Variable>(by_shard[0].size()));
  for (const std::vector<std::size_t>& bucket : buckets_of(by_shard[0], shards.bucket_bytes)) {
    std::vector<std::vector<Variable>> picked(shards.count());
    for (std::size_t shard = 0; shard < shards.count(); ++shard) {
      for (const std::size_t i : bucket) picked[shard].push_back(by_shard[shard][i]);
    }
    std::string name;
    for (const std::size_t i : bucket) name += (name.empty() ? what + " of " : ", ") + names[i];
    const builder::OriginScope origin(picked[0][0].where());
    SumTree tree(picked, rows, std::move(name), shards);
    const std::optional<std::size_t> bytes = bytes_of(picked[0]);
    const bool in_pieces = shards.devices.size() > 2 && bytes && *bytes >= min_scattered_bytes;
    std::vector<std::vector<Variable>> here;
    if (in_pieces) {
      here = tree.scattered(static_cast<std::int64_t>(*bytes / size_of(picked[0][0].dtype())));
    } else {
      for (const std::uint16_t device : shards.devices) here.push_back(tree.on(device));
    }
    for (std::size_t d = 0; d < here.size(); ++d) {
      const builder::PlaceScope place(shards.devices[d]);
      for (std::size_t k = 0; k < bucket.size(); ++k)
        sums[d][bucket[k]] = cast(here[d][k], given[0][bucket[k]].dtype());
    }
  }
  return sums;
}

}  // namespace croton::nn
