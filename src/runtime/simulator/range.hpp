// A piece of memory by its address.
#pragma once

#include <cstddef>
#include <cstdint>

namespace croton::runtime::simulator {

struct Range {
  std::uintptr_t begin = 0;
  std::size_t size = 0;

  bool holds(std::uintptr_t address, std::size_t bytes) const {
    return address >= begin && bytes <= size && address - begin <= size - bytes;
  }
};

}  // namespace croton::runtime::simulator
