// The digits for the examples, in an order that depends only on the seed, with one in five held out.
#pragma once

#include <croton/croton.hpp>
#include <croton/io.hpp>

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace digits {

struct Split {
  croton::Array train_x, train_y, test_x, test_y;
};

/// Images of side x side pixels, as rows (n, side * side), and their class numbers.
inline Split load(int side, std::uint64_t seed = 0) {
  const croton::io::Digits all = croton::io::digits(side);
  const std::int64_t count = all.images.shape(0), held_out = count / 5;
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(seed);  // std::shuffle differs between standard libraries
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
  croton::Array images = croton::Array::empty(all.images.dtype(), all.images.shape());
  croton::Array labels = croton::Array::empty(all.labels.dtype(), all.labels.shape());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t from = order[static_cast<std::size_t>(i)];
    images.row(i).copy_from(all.images.row(from));
    labels.slice(0, i, i + 1).copy_from(all.labels.slice(0, from, from + 1));
  }
  return {images.slice(0, held_out, count), labels.slice(0, held_out, count), images.slice(0, 0, held_out),
          labels.slice(0, 0, held_out)};
}

/// The same images as (n, side, side, 1).
inline croton::Array as_images(const croton::Array& rows, int side) {
  return rows.reshape({rows.shape(0), side, side, 1});
}

}  // namespace digits
