// A piece of memory by its address, and the pages of the system.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace croton::runtime::simulator {

/// The size of a page of the system.
inline std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

struct Range {
  std::uintptr_t begin = 0;
  std::size_t size = 0;

  std::uintptr_t end() const { return begin + size; }
  bool holds(std::uintptr_t address, std::size_t bytes) const {
    return address >= begin && bytes <= size && address - begin <= size - bytes;
  }
};

}  // namespace croton::runtime::simulator
