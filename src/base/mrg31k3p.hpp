// The generator MRG31k3p with the same bits as Theano's MRG_RandomStreams: two recurrences of order 3, one modulo 2^31
// - 1 and one modulo 2^31 - 21069, whose difference is the number drawn (period about 2^185). A seed is the start of
// one long sequence. Each draw of a program has a piece of 2^134 numbers of it, and its elements are drawn from streams
// that begin 2^72 numbers apart within that piece, so that a device could draw them in parallel.
//
// Sources: P. L'Ecuyer and R. Touzin, Fast combined multiple recursive generators with multipliers of the form
// a = +-2^q +-2^r (2000); P. L'Ecuyer, R. Simard, E. J. Chen and W. D. Kelton, An object-oriented random-number package
// with many long streams and substreams (2002); the rules for streams and elements are those of Theano 1.0.5.
#pragma once

#include <croton/array.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace croton::base {

/// Creates the streams of a program's draws, one draw after the other.
class Mrg31k3p {
 public:
  /// The seed six times. ValueError unless it is from 1 to 2^31 - 21070.
  explicit Mrg31k3p(std::int64_t seed = 12345);
  /// The last three numbers of each recurrence, the newest first. ValueError unless there are six, the first three from
  /// 0 to 2^31 - 2, the others from 0 to 2^31 - 21070, and neither three all 0.
  explicit Mrg31k3p(std::span<const std::int64_t> seeds);

  /// The states of the streams of the next draw: int32 (count, 6), a row for each. ValueError unless count is from 1 to
  /// 2^31 - 1.
  Array streams(std::int64_t count);

 private:
  std::array<std::uint32_t, 6> start_{};  // the start of the next draw's piece
};

/// The number of streams of a draw whose size is unknown when the program is made, and the maximum for any draw.
inline constexpr std::int64_t mrg_most_streams = 60 * 256;
/// The number of streams for known sizes: one for every six elements (for up to six elements, one for each). ValueError
/// if a size is not positive.
std::int64_t mrg_stream_count(std::span<const std::int64_t> sizes);

/// Numbers between 0 and 1: element i in C order is the next of stream i mod the number of streams, whose states
/// advance in place. With z from 1 to 2^31 - 1:
///
///     float64   2^-31 z
///     float32   (2^-31 - 2^-55) float32(z), rounded: below 1
///     float16   511 2^-24 (z mod 2^15 + 1), rounded from float64
///
/// TypeError for another dtype; ValueError for more than 2^31 - 1 elements, or if `states` cannot come from
/// Mrg31k3p::streams or from this function.
Array mrg_uniform(Array& states, Sizes shape, DType dtype);

}  // namespace croton::base
