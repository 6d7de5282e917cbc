// NumPy's .npy format (NEP 1) apart from files: what load_npy and save_npy share with the members of .npz archives.
#pragma once

#include <croton/array.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace croton::base {

/// What a header says.
struct NpyHeader {
  DType dtype = DType::float32;
  bool big_endian = false;
  bool fortran_order = false;
  Sizes shape;
  std::size_t bytes = 0;  ///< that the elements take; they are all that follows the header
};

/// No header that is read is longer, with what stands before it (magic, version, length).
inline constexpr std::size_t most_npy_header_bytes = 12 + 64 * 1024;

/// Takes the header off the front of `start`, the first bytes of `size` in all (all of them, or most_npy_header_bytes).
/// FileError, without the name of a file, if the header is damaged or does not fit that size.
NpyHeader take_npy_header(std::string_view& start, std::uint64_t size);

/// The array. `fill` puts the elements, as they lie in the file, into memory of header.bytes.
Array npy_array(const NpyHeader& header, const std::function<void(std::span<std::byte>)>& fill);

/// What stands before the elements of the array, in C order. TypeError for bfloat16, ShapeError for too many axes.
std::string npy_header(const Array& array);

}  // namespace croton::base
