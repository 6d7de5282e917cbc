// Files of named arrays: safetensors, the exchange format of weights, and NumPy's .npz.
//
// Files need not be trusted. Every number in them is checked before memory for an array is allocated, and a damaged or
// malicious file raises a FileError that names the file, the array and the error. Saving writes a temporary file and
// renames it: at any time the file has its old or its new content. Arrays on a device must be copied to the host first
// (Array::to_host).
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

/// The contents of a safetensors file.
struct Archive {
  NamedArrays arrays;
  std::map<std::string, std::string> metadata;  ///< free text, the entry "__metadata__"
};

/// Writes a safetensors file. TypeError for an array of complex128, which the format lacks; ValueError for a name that
/// is not UTF-8, occurs twice or is "__metadata__", and for metadata that are not UTF-8; ShapeError for more than 64
/// axes; FileError. The format: https://huggingface.co/docs/safetensors (version 0.8, which has complex64).
void save_safetensors(const std::filesystem::path& file, const NamedArrays& arrays,
                      const std::map<std::string, std::string>& metadata = {});

/// Reads a safetensors file. FileError for a header over 100 MB or longer than the file, one that is not JSON in UTF-8
/// or has fields outside the format, a name or key that occurs twice, dtypes that Croton lacks (F8 and smaller), more
/// than 64 axes, and elements that overlap, leave a gap, do not match the shape or do not end with the file.
Archive load_safetensors(const std::filesystem::path& file);

/// Writes a .npz archive like numpy.savez: a zip of .npy files, not compressed. The arrays NAME are the members
/// NAME.npy. TypeError for bfloat16, which NumPy lacks; ValueError for a name that occurs twice, is empty, not UTF-8,
/// over 65,531 bytes, or has a backslash, a control character, a leading slash or ".." as a folder; ShapeError for more
/// than 64 axes; FileError, also if Croton was built without libzip. The format:
/// https://numpy.org/doc/stable/reference/generated/numpy.savez.html
void save_npz(const std::filesystem::path& file, const NamedArrays& arrays);

/// Reads a .npz archive, compressed or not. FileError for members that are not .npy files or have a name that save_npz
/// rejects, are encrypted or compressed by a method other than deflate, have a size that contradicts their header or
/// their compressed size, or fail their checksum; and if Croton was built without libzip.
NamedArrays load_npz(const std::filesystem::path& file);

}  // namespace croton::io
