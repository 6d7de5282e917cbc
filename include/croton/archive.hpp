// Many named arrays in one file: safetensors, the format in which weights are exchanged, and NumPy's .npz.
//
// Files may come from anybody. Every number in them is checked before memory for an array is asked for, and what is
// damaged or dishonest ends in a FileError that names the file, the array and the fault. Saving writes a temporary file
// and renames it: the file holds its old or its new content at any time. Arrays of a device are moved to the host
// first (Array::to_host).
#pragma once

#include <croton/array.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace croton::io {

/// Names and arrays, in the order of the file.
using NamedArrays = std::vector<std::pair<std::string, Array>>;

/// What a safetensors file holds.
struct Archive {
  NamedArrays arrays;
  std::map<std::string, std::string> metadata;  ///< free text, of "__metadata__"
};

/// Writes a safetensors file. TypeError for an array of complex128, which the format lacks; ValueError for a name that
/// is not UTF-8, stands there twice or is "__metadata__", and for metadata that are not UTF-8; ShapeError for more than
/// 64 axes; FileError. The format: https://huggingface.co/docs/safetensors (version 0.8, which has complex64).
void save_safetensors(const std::filesystem::path& file, const NamedArrays& arrays,
                      const std::map<std::string, std::string>& metadata = {});

/// Reads a safetensors file. FileError for a header over 100 MB or longer than the file, one that is no JSON in UTF-8
/// or has more than the format, a name or key that stands there twice, dtypes that Croton lacks (F8 and smaller), more
/// than 64 axes, and elements that overlap, leave a hole, do not fit the shape or do not end with the file.
Archive load_safetensors(const std::filesystem::path& file);

/// Writes a .npz archive as numpy.savez does: a zip of .npy files, not compressed. The arrays NAME are the members
/// NAME.npy. TypeError for bfloat16, which NumPy lacks; ValueError for a name that stands there twice, is empty, not
/// UTF-8, over 65,531 bytes, or has a backslash, a control character, a leading slash or ".." for a folder; ShapeError
/// for more than 64 axes; FileError, also where Croton was built without libzip. The format:
/// https://numpy.org/doc/stable/reference/generated/numpy.savez.html
void save_npz(const std::filesystem::path& file, const NamedArrays& arrays);

/// Reads a .npz archive, compressed or not. FileError for members that are no .npy file or have a name that save_npz
/// refuses, are encrypted or compressed by another method than deflate, say of their size what their header or their
/// compressed size contradicts, or fail their checksum; and where Croton was built without libzip.
NamedArrays load_npz(const std::filesystem::path& file);

}  // namespace croton::io
