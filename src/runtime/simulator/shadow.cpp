#include "runtime/simulator/shadow.hpp"

#include <algorithm>
#include <croton/error.hpp>
#include <cstring>

#include "base/rounding.hpp"

namespace croton::runtime::simulator {

void WrittenBytes::set(std::size_t offset, std::size_t size) {
  if (missing_ == 0) return;
  for (std::size_t i = offset; i < offset + size; ++i) {
    missing_ -= written_[i] == 0 ? 1 : 0;
    written_[i] = 1;
  }
}

void WrittenBytes::clear() {
  std::fill(written_.begin(), written_.end(), std::uint8_t{0});
  missing_ = std::ssize(written_);
}

void WrittenBytes::copy(std::size_t offset, const WrittenBytes& from, std::size_t from_offset, std::size_t size) {
  if (missing_ == 0 && from.missing_ == 0) return;
  const std::span<std::uint8_t> target = std::span(written_).subspan(offset, size);
  missing_ -= std::ranges::count(target, 0);
  std::ranges::copy(std::span(from.written_).subspan(from_offset, size), target.begin());
  missing_ += std::ranges::count(target, 0);
}

bool WrittenBytes::all(std::size_t offset, std::size_t size) const {
  return missing_ == 0 || std::memchr(written_.data() + offset, 0, size) == nullptr;
}

bool WrittenBytes::any(std::size_t offset, std::size_t size) const {
  return missing_ == 0 || std::memchr(written_.data() + offset, 1, size) != nullptr;
}

Shadow::Shadow(std::size_t size) : size_(size), cells_(zeroed(base::ceil_div(size, grain_))) {}

std::unique_ptr<Cell[], Shadow::Free> Shadow::zeroed(std::size_t count) {
  auto* cells = static_cast<Cell*>(std::calloc(std::max<std::size_t>(count, 1), sizeof(Cell)));
  if (cells == nullptr) throw OutOfMemory("the CUDA simulator has no memory left to remember accesses in");
  return std::unique_ptr<Cell[], Free>(cells);
}

void Shadow::refine() {
  auto fine = zeroed(size_);
  for (std::size_t i = 0; i < size_; ++i) fine[i] = cells_[i / grain_];
  cells_ = std::move(fine);
  grain_ = 1;
}

std::span<Cell> Shadow::cells(std::size_t offset, std::size_t size) {
  if (grain_ != 1 && (offset % grain_ != 0 || size % grain_ != 0)) refine();
  return {cells_.get() + offset / grain_, size / grain_};
}

}  // namespace croton::runtime::simulator
