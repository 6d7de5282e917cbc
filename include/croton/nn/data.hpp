// Datasets: batches from arrays, ranges or files; shuffled, mapped and prefetched on a separate thread.
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

/// Of `fit`, `evaluate`, `predict` and `from_arrays`.
inline constexpr std::int64_t default_batch_size = 32;

/// The data of one step: inputs, targets, and optionally a weight for each sample; the batch is axis 0 of all.
struct Batch {
  std::vector<Array> x, y;
  std::optional<Array> weights = {};
  std::int64_t size() const { return x.empty() ? 0 : x[0].shape(0); }
};

/// A sequence of batches that can be iterated repeatedly. Copies are the same sequence; each member function returns a
/// new one.
class Dataset {
 public:
  /// The next batch, or nothing at the end.
  using Next = std::function<std::optional<Batch>()>;
  /// One pass: `epoch` counts from 0.
  using Begin = std::function<Next(std::int64_t epoch)>;
  static constexpr std::int64_t default_prefetch = 2, default_epoch = 0;

  Dataset(Begin begin, std::optional<std::int64_t> batches = {}) : begin_(std::move(begin)), batches_(batches) {}
  /// A list of (x, y), or another range whose elements are Batch or pairs of arrays; the range is stored.
  template <class Range>
    requires requires(const Range& range) {
      range.begin();
      range.end();
    }
  explicit Dataset(Range range);

  struct ArrayOptions {
    std::int64_t batch_size = default_batch_size;
    bool shuffle = false;  ///< in an order that follows from seed and epoch
    std::uint64_t seed = 0;
    bool drop_remainder = false;  ///< omits a last batch of fewer samples
  };
  /// Batches of rows of arrays, which must all have the same number of rows (ShapeError, with their names). The arrays
  /// are stored, not copied, and batches that are not shuffled are views of them. ValueError for batch_size below 1.
  static Dataset from_arrays(std::vector<Array> x, std::vector<Array> y, const ArrayOptions& options);
  static Dataset from_arrays(const Array& x, const Array& y, const ArrayOptions& options) {
    return from_arrays(std::vector<Array>{x}, std::vector<Array>{y}, options);
  }
  static Dataset from_arrays(std::vector<Array> x, std::vector<Array> y, std::optional<Array> weights,
                             const ArrayOptions& options);
  /// One batch for each file, by `read`; by default a .npz file with arrays "x" (or "x0", "x1", ...) and "y" (the
  /// same). FileError when the iteration reaches a file that cannot be read.
  static Dataset from_files(std::vector<std::filesystem::path> files,
                            std::function<Batch(const std::filesystem::path&)> read = {});

  /// The results of the function for each batch.
  Dataset map(std::function<Batch(Batch)> function) const;
  /// The first n batches. ValueError for numbers below 0, as for `repeat`, and for less than 1 ahead in `prefetch`.
  Dataset take(std::int64_t n) const;
  /// n passes one after another, each with its own epoch number.
  Dataset repeat(std::int64_t n) const;
  /// The same batches, made on a separate thread, up to n ahead. Its exceptions are raised where the batches are read.
  /// The thread starts with the pass and ends with it, or, when the pass is dropped, after the current batch.
  Dataset prefetch(std::int64_t n = default_prefetch) const;

  /// Starts a pass.
  Next begin(std::int64_t epoch = default_epoch) const { return begin_(epoch); }
  /// The number of batches of a pass, if it is known.
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
