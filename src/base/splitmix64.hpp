// SplitMix64 (Steele, Lea and Flood 2014, Fast splittable pseudorandom number generators): a counter and a bijection of
// 64 bits.
#pragma once

#include <cstdint>

namespace croton::base {

inline constexpr std::uint64_t splitmix64_step = 0x9E3779B97F4A7C15u;

constexpr std::uint64_t splitmix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace croton::base
