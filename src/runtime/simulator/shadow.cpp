#include "runtime/simulator/shadow.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <croton/error.hpp>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "base/rounding.hpp"

namespace croton::runtime::simulator {
namespace {

[[noreturn]] void refuse() { throw OutOfMemory("the CUDA simulator has no memory left to remember accesses in"); }

template <class T>
Pages<T> fresh_pages(std::size_t count) {
  static_assert(std::is_trivially_destructible_v<T>);
  const std::size_t bytes = std::max<std::size_t>(count, 1) * sizeof(T);
  constexpr std::size_t few_bytes = 1 << 16;  // the heap is faster
  if (bytes <= few_bytes) {
    void* zeros = std::calloc(bytes, 1);
    if (zeros == nullptr) refuse();
    return {static_cast<T*>(zeros), Unmap{}};
  }
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) refuse();
  return {static_cast<T*>(pages), Unmap{bytes}};
}

}  // namespace

void Unmap::operator()(void* pages) const {
  if (bytes == 0)
    std::free(pages);
  else
    munmap(pages, bytes);
}

WrittenBytes::WrittenBytes(std::size_t size)
    : size_(size),
      written_(fresh_pages<std::uint8_t>(size)),
      in_chunk_(base::ceil_div(size, chunk), 0),
      missing_(static_cast<std::ptrdiff_t>(size)) {}

void WrittenBytes::recount(std::size_t offset, std::ptrdiff_t more) {
  std::uint16_t& count = in_chunk_[offset / chunk];
  count = static_cast<std::uint16_t>(count + more);
  missing_ -= more;
}

void WrittenBytes::fill(std::size_t offset, std::size_t size, std::uint8_t value) {
  if (value == 0 && in_chunk_[offset / chunk] == 0) return;
  const std::span bytes(written_.get() + offset, size);
  const std::ptrdiff_t changed = std::ranges::count(bytes, value == 0 ? 1 : 0);
  std::ranges::fill(bytes, value);
  recount(offset, value == 0 ? -changed : changed);
}

void WrittenBytes::take(std::size_t offset, std::span<const std::uint8_t> from) {
  const std::span bytes(written_.get() + offset, from.size());
  recount(offset, std::ranges::count(from, 1) - std::ranges::count(bytes, 1));
  std::ranges::copy(from, bytes.begin());
}

void WrittenBytes::set(std::size_t offset, std::size_t size) {
  if (missing_ == 0) return;
  for (std::size_t done = 0, count = 0; done < size; done += count) {
    const std::size_t at = offset + done;
    count = std::min(size - done, chunk - at % chunk);
    fill(at, count, 1);
  }
}

void WrittenBytes::clear() {
  for (std::size_t at = 0; at < size_; at += chunk) fill(at, std::min(chunk, size_ - at), 0);
}

void WrittenBytes::copy(std::size_t offset, const WrittenBytes& from, std::size_t from_offset, std::size_t size) {
  if (missing_ == 0 && from.missing_ == 0) return;
  for (std::size_t done = 0, count = 0; done < size; done += count) {
    const std::size_t at = offset + done, source = from_offset + done;
    count = std::min({size - done, chunk - at % chunk, chunk - source % chunk});
    if (from.in_chunk_[source / chunk] == 0)
      fill(at, count, 0);
    else
      take(at, {from.written_.get() + source, count});
  }
}

bool WrittenBytes::all(std::size_t offset, std::size_t size) const {
  return missing_ == 0 || std::memchr(written_.get() + offset, 0, size) == nullptr;
}

bool WrittenBytes::any(std::size_t offset, std::size_t size) const {
  return missing_ == 0 || std::memchr(written_.get() + offset, 1, size) != nullptr;
}

Shadow::Shadow(std::size_t size) : size_(size), words_(fresh_pages<Cell>(base::ceil_div(size, word))) {}

void Shadow::refine(std::size_t number) {
  const std::size_t begin = number * chunk, end = std::min(begin + chunk, size_);
  for (std::size_t i = begin; i < end; ++i) bytes_[i] = words_[i / word];
  refined_[number] = true;
}

std::span<Cell> Shadow::cells(std::size_t offset, std::size_t size) {
  const bool in_words = offset % word == 0 && size % word == 0;
  if (in_words && bytes_ == nullptr) return {words_.get() + offset / word, size / word};
  if (bytes_ == nullptr) {
    refined_.resize(base::ceil_div(size_, chunk));
    bytes_ = fresh_pages<Cell>(size_);
  }
  const std::size_t first = offset / chunk, last = (offset + size - 1) / chunk;
  bool any = !in_words;
  for (std::size_t c = first; c <= last; ++c) any = any || refined_[c];
  if (!any) return {words_.get() + offset / word, size / word};
  for (std::size_t c = first; c <= last; ++c) {
    if (!refined_[c]) refine(c);
  }
  return {bytes_.get() + offset, size};
}

}  // namespace croton::runtime::simulator
