// The text for examples/char_lm.cpp: its characters as small integers, and its batches. A character is a byte here.
#pragma once

#include <croton/array.hpp>
#include <croton/error.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command_line.hpp"

namespace char_lm {

namespace ct = croton;
namespace fs = std::filesystem;
using command_line::text;

/// The whole file. ValueError if it cannot be read.
inline std::string read_file(const fs::path& path) {
  std::error_code error;
  std::ifstream file;
  if (!fs::is_directory(path, error)) file.open(path, std::ios::binary);
  if (!file.is_open())
    throw ct::ValueError("the text '" + path.string() + "' cannot be read: it is no file, or may not be opened");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Croton's documentation: every page below docs/ in the order of their paths, the README and the list of changes.
inline std::string read_documents(const fs::path& source_folder) {
  const fs::path docs = source_folder / "docs";
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator at(docs, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".md") files.push_back(at->path());
  }
  if (files.empty()) throw ct::ValueError("no documents in '" + docs.string() + "': name a text by --text FILE");
  std::ranges::sort(files);
  files.insert(files.end(), {source_folder / "README.md", source_folder / "CHANGELOG.md"});
  std::string all;
  for (const fs::path& file : files) all += read_file(file);
  return all;
}

/// The characters of a text in their order, numbered 0, 1, 2, ... for the network.
class Alphabet {
 public:
  /// ValueError for a text without two different characters: there is nothing to learn.
  explicit Alphabet(std::string_view from) {
    std::array<bool, 256> occurs{};
    for (const char c : from) occurs[static_cast<unsigned char>(c)] = true;
    for (std::size_t c = 0; c < occurs.size(); ++c) {
      numbers_[c] = static_cast<std::int32_t>(characters_.size());
      if (occurs[c]) characters_.push_back(static_cast<char>(c));
    }
    if (characters_.size() < 2) throw ct::ValueError("the text has not even two different characters");
  }

  const std::string& characters() const { return characters_; }
  std::int64_t size() const { return static_cast<std::int64_t>(characters_.size()); }
  /// 0 for a character that does not occur.
  std::int32_t number(char c) const {
    const std::int32_t i = numbers_[static_cast<unsigned char>(c)];
    return i < size() && characters_[static_cast<std::size_t>(i)] == c ? i : 0;
  }
  char character(std::int64_t i) const { return characters_.at(static_cast<std::size_t>(i)); }

 private:
  std::string characters_;
  std::array<std::int32_t, 256> numbers_{};
};

/// A text as `batch` equal pieces, which a network reads in parallel, `length` characters of each at a time. So the
/// states after a batch are the initial states of the next one.
class Pieces {
 public:
  struct Batch {
    ct::Array x, y;  // (length, batch): characters, and those that follow them
  };

  /// ValueError if the text is too short for one batch.
  Pieces(std::string_view part, const Alphabet& alphabet, int batch, int length, const char* what)
      : batch_(batch), length_(length) {
    for (const char c : part) numbers_.push_back(alphabet.number(c));
    piece_ = (std::ssize(numbers_) - 1) / batch;
    if (count() > 0) return;
    throw ct::ValueError(
        text("the text is too short: the part %s has %zu characters, and --batch %d and --length %d need "
             "%lld at least",
             what, numbers_.size(), batch, length, static_cast<long long>(batch) * length + 1));
  }

  /// The number of batches.
  std::int64_t count() const { return piece_ / length_; }
  Batch batch(std::int64_t i) const { return {window(i * length_), window(i * length_ + 1)}; }

 private:
  ct::Array window(std::int64_t start) const {
    ct::Array array = ct::Array::empty(ct::DType::int32, {length_, batch_});
    const std::span<std::int32_t> to = array.data<std::int32_t>();
    for (std::int64_t t = 0; t < length_; ++t) {
      for (std::int64_t b = 0; b < batch_; ++b) {
        to[static_cast<std::size_t>(t * batch_ + b)] = numbers_[static_cast<std::size_t>(b * piece_ + start + t)];
      }
    }
    return array;
  }

  std::vector<std::int32_t> numbers_;
  std::int64_t batch_, length_, piece_ = 0;
};

}  // namespace char_lm
