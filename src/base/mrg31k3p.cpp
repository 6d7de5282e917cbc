#include "base/mrg31k3p.hpp"

#include "base/half.hpp"
#include "base/index.hpp"
#include "base/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

namespace croton::base {
namespace {

constexpr std::uint32_t modulus_1 = 2147483647;  // 2^31 - 1
constexpr std::uint32_t modulus_2 = 2147462579;  // 2^31 - 21069
constexpr std::int64_t most_elements = std::numeric_limits<std::int32_t>::max();

/// One or more steps of a recurrence: the matrix times the column of its last three numbers, modulo its modulus.
using Matrix = std::array<std::array<std::uint64_t, 3>, 3>;

constexpr Matrix product(const Matrix& a, const Matrix& b, std::uint64_t modulus) {
  Matrix result{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 3; ++k) result[i][j] = (result[i][j] + a[i][k] * b[k][j]) % modulus;
    }
  }
  return result;
}

/// 2^exponent steps of the recurrence with these factors, by squaring.
constexpr Matrix jump(std::array<std::uint64_t, 3> factors, std::uint64_t modulus, int exponent) {
  Matrix steps{factors, {1, 0, 0}, {0, 1, 0}};
  for (int i = 0; i < exponent; ++i) steps = product(steps, steps, modulus);
  return steps;
}

struct Jump {
  Matrix first, second;
};
constexpr Jump jump_of(int exponent) {
  return {jump({0, 1u << 22, (1u << 7) + 1}, modulus_1, exponent),
          jump({1u << 15, 0, (1u << 15) + 1}, modulus_2, exponent)};
}
constexpr Jump to_next_stream = jump_of(72), to_next_draw = jump_of(134);

using State = std::array<std::uint32_t, 6>;

State jumped(const State& state, const Jump& jump) {
  State result{};
  for (std::size_t i = 0; i < 6; ++i) {
    const auto& row = i < 3 ? jump.first[i] : jump.second[i - 3];
    const std::uint64_t modulus = i < 3 ? modulus_1 : modulus_2;
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      sum += row[k] * state[i < 3 ? k : k + 3] % modulus;
    }
    result[i] = static_cast<std::uint32_t>(sum % modulus);
  }
  return result;
}

/// Whether a recurrence may be in this state. Without branches, because draws check thousands of streams.
template <class T>
inline bool is_valid_state(std::span<const T, 3> state, T modulus) {
  const auto below = [&](T x) { return (x >= 0) & (x < modulus); };
  return below(state[0]) & below(state[1]) & below(state[2]) & ((state[0] | state[1] | state[2]) != 0);
}
template <class T>
inline bool is_valid_state(std::span<const T, 6> state) {
  return is_valid_state(state.template first<3>(), T{modulus_1}) &
         is_valid_state(state.template last<3>(), T{modulus_2});
}
constexpr const char* valid_state_text =
    "six numbers, the first three from 0 to 2147483646, the last three from 0 to 2147462578, and neither three all 0";

/// 2^15 x modulo 2^31 - 21069, or that plus the modulus: the lower half of x is shifted, the upper wraps around.
inline std::uint32_t times_32768(std::uint32_t x) { return ((x & 0xFFFF) << 15) + 21069 * (x >> 16); }

/// x minus the modulus if x is at least the modulus: in range if x was below twice the modulus.
inline std::uint32_t reduced(std::uint32_t x, std::uint32_t modulus) { return x >= modulus ? x - modulus : x; }

/// Streams that advance together: number i of all streams is one row, so that loops over streams are vectorised.
constexpr std::size_t lane_count = 64;
using Lanes = std::array<std::array<std::uint32_t, lane_count>, 6>;

/// The next number of the generator, from 1 to 2^31 - 1. The factors are sums of two powers of 2, so all products are
/// shifts; every sum is below 2^32.
inline std::uint32_t next(Lanes& lanes, std::size_t lane) {
  const auto at = [&](std::size_t i) { return lanes[i][lane]; };
  // x(n) = 2^22 x(n-2) + (2^7 + 1) x(n-3); modulo 2^31 - 1 a shift is a rotation of 31 bits.
  std::uint32_t first = ((at(1) & 0x1FF) << 22) + (at(1) >> 9) + ((at(2) & 0xFFFFFF) << 7) + (at(2) >> 24);
  first = reduced(reduced(first, modulus_1) + at(2), modulus_1);
  // y(n) = 2^15 y(n-1) + (2^15 + 1) y(n-3)
  std::uint32_t second = reduced(reduced(times_32768(at(5)), modulus_2) + at(5), modulus_2);
  second = reduced(second + reduced(times_32768(at(3)), modulus_2), modulus_2);
  lanes[2][lane] = at(1);
  lanes[1][lane] = at(0);
  lanes[0][lane] = first;
  lanes[5][lane] = at(4);
  lanes[4][lane] = at(3);
  lanes[3][lane] = second;
  return first > second ? first - second : first + modulus_1 - second;
}

template <class T>
T converted(std::uint32_t z) {
  const auto number = std::bit_cast<std::int32_t>(z);  // signed, as processors convert vectors
  if constexpr (std::is_same_v<T, double>) {
    return number * 0x1p-31;
  } else if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(number) * 0x1.fffffep-32f;
  } else {
    return to_half(((z & 0x7FFF) + 1) * 0x1.ffp-16);
  }
}

/// Fills elements from the streams in turn, one element of each.
template <class T>
void fill(std::span<T> to, std::span<std::int32_t> states) {
  const std::size_t streams = std::min(states.size() / 6, to.size());
  Lanes lanes;
  for (std::size_t first = 0; first < streams; first += lane_count) {
    const std::size_t count = std::min(lane_count, streams - first);
    for (std::size_t lane = 0; lane < count; ++lane) {
      for (std::size_t i = 0; i < 6; ++i) lanes[i][lane] = std::bit_cast<std::uint32_t>(states[6 * (first + lane) + i]);
    }
    for (std::size_t begin = first; begin < to.size(); begin += states.size() / 6) {
      const std::size_t wanted = std::min(count, to.size() - begin);
      for (std::size_t lane = 0; lane < wanted; ++lane) to[begin + lane] = converted<T>(next(lanes, lane));
    }
    for (std::size_t lane = 0; lane < count; ++lane) {
      for (std::size_t i = 0; i < 6; ++i) states[6 * (first + lane) + i] = std::bit_cast<std::int32_t>(lanes[i][lane]);
    }
  }
}

/// The numbers of `states`, after checks of its dtype, its shape and the rows that will be used.
std::span<std::int32_t> checked_states(Array& states, std::int64_t elements) {
  if (states.dtype() != DType::int32 || states.rank() != 2 || states.shape(1) != 6 || states.shape(0) < 1) {
    throw ValueError(fmt::format("the states of streams of MRG31k3p are int32 (n, 6) with n >= 1, not {} {}",
                                 name_of(states.dtype()), shape_text(states.shape())));
  }
  const std::span<std::int32_t> all = states.data<std::int32_t>();
  const auto row = [&](std::size_t i) { return std::span<const std::int32_t, 6>(&all[6 * i], 6); };
  const std::size_t used = to_size(std::min(elements, states.shape(0)));
  bool fine = true;
  for (std::size_t i = 0; i < used; ++i) fine &= is_valid_state(row(i));
  if (fine) return all;
  for (std::size_t i = 0; i < used; ++i) {
    if (is_valid_state(row(i))) continue;
    throw ValueError(fmt::format("stream {} of MRG31k3p is in state {}; a state is {}", i, fmt::join(row(i), ", "),
                                 valid_state_text));
  }
  return all;
}

}  // namespace

Mrg31k3p::Mrg31k3p(std::int64_t seed) {
  if (seed < 1 || seed >= modulus_2) {
    throw ValueError(fmt::format("a seed of MRG31k3p is from 1 to {}, not {}", modulus_2 - 1, seed));
  }
  start_.fill(static_cast<std::uint32_t>(seed));
}

Mrg31k3p::Mrg31k3p(std::span<const std::int64_t> seeds) {
  if (seeds.size() != 6 || !is_valid_state(seeds.first<6>())) {
    throw ValueError(fmt::format("a seed of MRG31k3p is {}, not {}", valid_state_text, fmt::join(seeds, ", ")));
  }
  std::ranges::transform(seeds, start_.begin(), [](std::int64_t x) { return static_cast<std::uint32_t>(x); });
}

Array Mrg31k3p::streams(std::int64_t count) {
  if (count < 1 || count > most_elements) {
    throw ValueError(fmt::format("a draw of MRG31k3p has from 1 to {} streams, not {}", most_elements, count));
  }
  Array states = Array::empty(DType::int32, {count, 6});
  State state = start_;
  auto to = states.data<std::int32_t>().begin();
  for (std::int64_t i = 0; i < count; ++i) {
    if (i > 0) state = jumped(state, to_next_stream);
    for (const std::uint32_t number : state) *to++ = std::bit_cast<std::int32_t>(number);
  }
  start_ = jumped(start_, to_next_draw);
  return states;
}

std::int64_t mrg_stream_count(std::span<const std::int64_t> sizes) {
  constexpr std::int64_t enough = 6 * mrg_most_streams;
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes) {
    if (size <= 0) throw ValueError(fmt::format("a draw of shape {}: no size may be below 1", shape_text(sizes)));
    elements = std::min(enough, elements * std::min(enough, size));
  }
  return elements > 6 ? elements / 6 : elements;
}

Array mrg_uniform(Array& states, Sizes shape, DType dtype) {
  if (dtype != DType::float16 && dtype != DType::float32 && dtype != DType::float64) {
    throw TypeError(fmt::format("MRG31k3p draws float16, float32 and float64, not {}", name_of(dtype)));
  }
  const std::int64_t count = element_count(shape, dtype);
  if (count > most_elements) {
    throw ValueError(fmt::format("MRG31k3p draws at most {} elements at once, not {}", most_elements, count));
  }
  const std::span<std::int32_t> rows = checked_states(states, count);
  Array result = Array::empty(dtype, std::move(shape));
  if (dtype == DType::float64) {
    fill(result.data<double>(), rows);
  } else if (dtype == DType::float32) {
    fill(result.data<float>(), rows);
  } else {
    fill(std::span(static_cast<Half*>(result.raw()), to_size(count)), rows);
  }
  return result;
}

}  // namespace croton::base
