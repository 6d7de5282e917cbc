// Batches to train on: from arrays, from anything that can be gone through, from files; shuffled, changed and fetched
// ahead on a thread of its own.
#pragma once

#include <croton/array.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace croton::nn {

/// What one step reads: inputs, targets, and a weight for each sample where they have some; the batch is axis 0 of all.
struct Batch {
  std::vector<Array> x, y;
  std::optional<Array> weights = {};
  std::int64_t size() const { return x.empty() ? 0 : x[0].shape(0); }
};

/// A sequence of batches that can be gone through again and again. Copies are the same; each function gives a new one.
class Dataset {
 public:
  /// The next batch, or nothing at the end.
  using Next = std::function<std::optional<Batch>()>;
  /// One pass: `epoch` counts from 0.
  using Begin = std::function<Next(std::int64_t epoch)>;

  Dataset(Begin begin, std::optional<std::int64_t> batches = {}) : begin_(std::move(begin)), batches_(batches) {}
  /// A list of (x, y), or anything else with begin() and end() whose elements are Batch or pairs of arrays; it is kept.
  template <class Range>
    requires requires(const Range& range) {
      range.begin();
      range.end();
    }
  explicit Dataset(Range range);

  struct ArrayOptions {
    std::int64_t batch_size = 32;
    bool shuffle = false;  ///< in an order that follows from seed and epoch
    std::uint64_t seed = 0;
    bool drop_remainder = false;  ///< a last batch of fewer samples is left out
  };
  /// Rows of arrays, which all have as many (ShapeError, with their names). The arrays are kept, not copied, and
  /// batches that are not shuffled are views of them. ValueError for batch_size below 1.
  static Dataset from_arrays(std::vector<Array> x, std::vector<Array> y, const ArrayOptions& options);
  static Dataset from_arrays(const Array& x, const Array& y, const ArrayOptions& options) {
    return from_arrays(std::vector<Array>{x}, std::vector<Array>{y}, options);
  }
  static Dataset from_arrays(std::vector<Array> x, std::vector<Array> y, std::optional<Array> weights,
                             const ArrayOptions& options);
  /// One batch for each file, by `read`; by default a .npz file with arrays "x" (or "x0", "x1", ...) and "y" (the
  /// same). FileError when a file is reached that cannot be read.
  static Dataset from_files(std::vector<std::filesystem::path> files,
                            std::function<Batch(const std::filesystem::path&)> read = {});

  /// Each batch changed.
  Dataset map(std::function<Batch(Batch)> function) const;
  /// The first n batches. ValueError for numbers below 0, as for `repeat`, and for less than 1 ahead in `prefetch`.
  Dataset take(std::int64_t n) const;
  /// n passes one after another, each an epoch of its own.
  Dataset repeat(std::int64_t n) const;
  /// Batches are made on a thread of their own, up to n ahead. What is raised there is raised where they are read. The
  /// thread begins with the pass and ends with it, or when the pass is dropped: behind the batch that it is making.
  Dataset prefetch(std::int64_t n = 2) const;

  /// A pass.
  Next begin(std::int64_t epoch = 0) const { return begin_(epoch); }
  /// How many batches a pass has, where that is known.
  std::optional<std::int64_t> batches() const { return batches_; }

 private:
  Begin begin_;
  std::optional<std::int64_t> batches_;
};

namespace detail {
inline Batch as_batch(const Batch& batch) { return batch; }
inline Batch as_batch(const std::pair<Array, Array>& xy) { return {{xy.first}, {xy.second}}; }
}  // namespace detail

template <class Range>
  requires requires(const Range& range) {
    range.begin();
    range.end();
  }
Dataset::Dataset(Range range) {
  const auto kept = std::make_shared<const Range>(std::move(range));
  if constexpr (requires { kept->size(); }) batches_ = static_cast<std::int64_t>(kept->size());
  begin_ = [kept](std::int64_t) -> Next {
    return [kept, at = kept->begin()]() mutable -> std::optional<Batch> {
      if (at == kept->end()) return std::nullopt;
      return detail::as_batch(*at++);
    };
  };
}

}  // namespace croton::nn
