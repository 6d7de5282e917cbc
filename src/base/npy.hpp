// NumPy's .npy format (NEP 1), independent of files: shared code of load_npy, save_npy and the members of
// .npz archives.
#pragma once

#include <croton/array.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace croton::base {

/// The content of a header.
struct NpyHeader {
  DType dtype = DType::float32;
  bool big_endian = false;
  bool fortran_order = false;
  Sizes shape;
  std::size_t bytes = 0;  ///< size of the elements; nothing else follows the header
};

/// The maximal size of a header that is read, with magic, version and length.
inline constexpr std::size_t most_npy_header_bytes = 12 + 64 * 1024;

/// Parses the header and removes it from the front of `start`, the first bytes (all, or most_npy_header_bytes) of a
/// file of `size` bytes. FileError, without the name of a file, if the header is damaged or does not fit that size.
NpyHeader take_npy_header(std::string_view& start, std::uint64_t size);

/// The array. `fill` copies the elements, as they are in the file, to memory of header.bytes.
Array npy_array(const NpyHeader& header, const std::function<void(std::span<std::byte>)>& fill);

/// The text before the elements of the array, which follow in C order. TypeError for bfloat16, ShapeError for too
/// many axes.
std::string npy_header(const Array& array);

}  // namespace croton::base
