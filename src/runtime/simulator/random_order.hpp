// Orders drawn from a seed, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace croton::runtime::simulator {

class RandomOrder {
 public:
  explicit RandomOrder(std::uint64_t seed) : state_(seed) {}

  /// A number below `bound`, which is not 0 and has 32 bits. By a product, as a division costs more than a switch of
  /// threads.
  std::uint32_t below(std::uint64_t bound) { return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32); }

  void shuffle(std::vector<unsigned>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

  /// 0, 1, ... count - 1 in some order.
  std::vector<unsigned> numbers(unsigned count) {
    std::vector<unsigned> all(count);
    std::iota(all.begin(), all.end(), 0u);
    shuffle(all);
    return all;
  }

 private:
  // SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

}  // namespace croton::runtime::simulator
