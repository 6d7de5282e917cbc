// The record of memory, by bytes or by words: whether it was written since its allocation, and the last accesses to it.
// A record takes memory only for the bytes that are used, so that allocations may be larger than the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/simulator/order.hpp"

namespace croton::runtime::simulator {

struct Unmap {
  std::size_t bytes = 0;  // 0: from the heap
  void operator()(void* pages) const;
};
/// Elements in pages of their own, which are zero and take no memory before their first use.
template <class T>
using Pages = std::unique_ptr<T[], Unmap>;

/// Which bytes of a piece of memory have been written.
class WrittenBytes {
 public:
  /// OutOfMemory if the system has no more.
  explicit WrittenBytes(std::size_t size);

  void set(std::size_t offset, std::size_t size);
  void clear();
  /// Takes over the state of `size` bytes of `from` for the bytes from `offset` on.
  void copy(std::size_t offset, const WrittenBytes& from, std::size_t from_offset, std::size_t size);
  bool all(std::size_t offset, std::size_t size) const;
  bool any(std::size_t offset, std::size_t size) const;

 private:
  static constexpr std::size_t chunk = 4096;
  /// Sets bytes of one chunk to 0 or 1, or to those of `from`.
  void fill(std::size_t offset, std::size_t size, std::uint8_t value);
  void take(std::size_t offset, std::span<const std::uint8_t> from);
  void recount(std::size_t offset, std::ptrdiff_t more);

  std::size_t size_;
  Pages<std::uint8_t> written_;
  std::vector<std::uint16_t> in_chunk_;  // the number of written bytes; chunks without any are not looked at
  std::ptrdiff_t missing_;               // bytes not written; most memory has none, and then needs no search
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

/// The cells of a piece of memory: one per 4 bytes; in chunks with an access to fewer bytes, one per byte.
class Shadow {
 public:
  /// OutOfMemory if the system has no more.
  explicit Shadow(std::size_t size);

  std::span<Cell> cells(std::size_t offset, std::size_t size);

 private:
  static constexpr std::size_t word = 4, chunk = 256;
  void refine(std::size_t number);

  std::size_t size_;
  Pages<Cell> words_;
  Pages<Cell> bytes_;          // null before the first access to fewer bytes
  std::vector<bool> refined_;  // per chunk; empty without bytes_
};

}  // namespace croton::runtime::simulator
