#include "runtime/bound/check_words.hpp"

#include <algorithm>

namespace croton::runtime {
namespace {

constexpr std::size_t words_of_launch = 4;  // three, and one so that those of the next launch are aligned
constexpr std::size_t word_bytes = sizeof(std::uint32_t);

}  // namespace

std::size_t CheckWords::add() {
  words_.resize(words_.size() + words_of_launch);
  return words_.size() / words_of_launch - 1;
}

void CheckWords::allocate() {
  if (words_.empty() || memory_) return;
  memory_ = device_.allocate(words_.size() * word_bytes);
  clear();
}

Operand CheckWords::operand(std::size_t launch) const {
  return {static_cast<char*>(memory_.get()) + launch * words_of_launch * word_bytes, words_of_launch * word_bytes, true,
          true};
}

bool CheckWords::read() { return read(0, words_.size()); }

bool CheckWords::read(std::size_t launch) { return read(launch * words_of_launch, words_of_launch); }

bool CheckWords::read(std::size_t first, std::size_t count) {
  if (count == 0) return false;
  char* const from = static_cast<char*>(memory_.get()) + first * word_bytes;
  const std::span<std::uint32_t> words = std::span(words_).subspan(first, count);
  device_.copy_out(words.data(), from, words.size_bytes());
  const bool failed = std::ranges::any_of(words, [](std::uint32_t word) { return word != 0; });
  if (failed) {
    const std::vector<std::uint32_t> zeros(count);
    device_.copy_in(from, zeros.data(), words.size_bytes());
  }
  return failed;
}

std::span<const std::uint32_t> CheckWords::of(std::size_t launch) const {
  return std::span(words_).subspan(launch * words_of_launch, words_of_launch - 1);
}

void CheckWords::clear() {
  if (!memory_) return;
  const std::vector<std::uint32_t> zeros(words_.size());
  device_.copy_in(memory_.get(), zeros.data(), zeros.size() * word_bytes);
}

}  // namespace croton::runtime
