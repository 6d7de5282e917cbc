// The record of memory, by bytes or by words: whether it was written since its allocation, and the last accesses to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "runtime/simulator/order.hpp"

namespace croton::runtime::simulator {

/// Which bytes of a piece of memory have been written.
class WrittenBytes {
 public:
  explicit WrittenBytes(std::size_t size) : written_(size, 0), missing_(std::ssize(written_)) {}

  void set(std::size_t offset, std::size_t size);
  void clear();
  /// Takes over the state of `size` bytes of `from` for the bytes from `offset` on.
  void copy(std::size_t offset, const WrittenBytes& from, std::size_t from_offset, std::size_t size);
  bool all(std::size_t offset, std::size_t size) const;
  bool any(std::size_t offset, std::size_t size) const;

 private:
  std::vector<std::uint8_t> written_;
  std::ptrdiff_t missing_;  // bytes not written; most memory has none, and then needs no search
};

/// One access.
struct Mark {
  std::uint32_t block = 0;
  std::uint16_t thread = 0;
  bool is_strong = false;  // atomic, or volatile in global memory
  Time time = 0;           // 0: there was none
  std::uint32_t place = 0;
};

/// The accesses of one word. Two readers are enough, as at most one of them is the thread that writes next.
struct Cell {
  Mark write;
  Mark reads[2];
};

/// The cells of a piece of memory: one per 4 bytes, until an access to fewer bytes; then one per byte.
class Shadow {
 public:
  explicit Shadow(std::size_t size);

  std::span<Cell> cells(std::size_t offset, std::size_t size);

 private:
  struct Free {
    void operator()(Cell* cells) const { std::free(cells); }
  };
  static std::unique_ptr<Cell[], Free> zeroed(std::size_t count);
  void refine();

  std::size_t size_;
  std::size_t grain_ = 4;
  std::unique_ptr<Cell[], Free> cells_;  // in fresh pages, which cost nothing before their first use
};

}  // namespace croton::runtime::simulator
