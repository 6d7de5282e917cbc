#include <croton/archive.hpp>
#include <croton/error.hpp>
#include <croton/nn/data.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "base/array_bytes.hpp"
#include "base/checked.hpp"
#include "base/index.hpp"
#include "base/rethrow.hpp"
#include "base/shape.hpp"
#include "base/splitmix64.hpp"
#include "base/thread.hpp"
#include "nn/rows.hpp"

namespace croton::nn {
namespace {

/// A batch with the function applied to each array.
template <class Function>
Batch map_arrays(const Batch& batch, const Function& function) {
  Batch result;
  for (const Array& array : batch.x) result.x.push_back(function(array));
  for (const Array& array : batch.y) result.y.push_back(function(array));
  if (batch.weights) result.weights = function(*batch.weights);
  return result;
}

/// 0 ... n-1, shuffled by the method of Fisher and Yates. The random numbers of an epoch are those of a SplitMix64
/// whose state is that epoch's number in the stream of the seed, so that an epoch does not depend on those before it.
/// The remainders favour no row by more than n 2^-64.
std::vector<std::int64_t> shuffled(std::int64_t n, std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::int64_t> order(base::to_size(n));
  std::iota(order.begin(), order.end(), 0);
  std::uint64_t state = base::splitmix64(seed + (static_cast<std::uint64_t>(epoch) + 1) * base::splitmix64_step);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[base::splitmix64(state += base::splitmix64_step) % i]);
  }
  return order;
}

/// The rows of an array in C order.
Array gathered(const Array& array, std::span<const std::int64_t> rows) {
  Sizes shape = array.shape();
  const std::int64_t row_bytes = array.size() / shape[0] * base::element_size(array.dtype());
  shape[0] = std::ssize(rows);
  Array result = Array::empty(array.dtype(), std::move(shape));
  const std::byte* from = base::bytes_of(array);
  std::byte* to = base::writable_bytes_of(result);
  for (const std::int64_t row : rows) to = std::copy_n(from + row * row_bytes, row_bytes, to);
  return result;
}

void check_count(const char* function, std::int64_t n, std::int64_t least) {
  if (n < least) throw ValueError(fmt::format("{}({}): the number must be {} or more", function, n, least));
}

/// epoch n + k, which wraps on overflow, because repeat(a very large n) means "for ever".
std::int64_t pass_number(std::int64_t epoch, std::int64_t n, std::int64_t k) {
  return base::wrapped_add(base::wrapped_mul(epoch, n), k);
}

/// The arrays NAME, or NAME0, NAME1, ..., of a file.
std::vector<Array> numbered(const io::NamedArrays& arrays, const std::string& name) {
  const auto find = [&](const std::string& wanted) {
    return std::find_if(arrays.begin(), arrays.end(), [&](const auto& item) { return item.first == wanted; });
  };
  if (const auto one = find(name); one != arrays.end()) return {one->second};
  std::vector<Array> list;
  for (auto next = find(name + "0"); next != arrays.end(); next = find(fmt::format("{}{}", name, list.size()))) {
    list.push_back(next->second);
  }
  return list;
}

Batch read_npz(const std::filesystem::path& file) {
  const io::NamedArrays arrays = io::load_npz(file);
  Batch batch{numbered(arrays, "x"), numbered(arrays, "y")};
  if (batch.x.empty() || batch.y.empty()) {
    std::vector<std::string_view> names;
    for (const auto& [name, array] : arrays) names.push_back(name);
    throw FileError(fmt::format("{} is not a batch: it has no array {}, only: {}", file.string(),
                                batch.x.empty() ? "x (or x0)" : "y (or y0)", fmt::join(names, ", ")));
  }
  try {
    common_rows(batch);
  } catch (const Error&) {
    base::rethrow_with(file.string() + ": ", "");
  }
  return batch;
}

/// The batches of a pass that a thread reads ahead of their consumer. The mutex protects all that the thread writes.
class PrefetchQueue {
 public:
  PrefetchQueue(Dataset::Begin begin, std::int64_t epoch, std::int64_t capacity)
      : begin_(std::move(begin)), epoch_(epoch), capacity_(base::to_size(capacity)) {}

  /// The function of the thread.
  static void* run_thread(void* queue) {
    static_cast<PrefetchQueue*>(queue)->run();
    return nullptr;
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  std::optional<Batch> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty() || ended_; });
    if (!ready_.empty()) {
      std::optional<Batch> batch = std::move(ready_.front());
      ready_.pop_front();
      changed_.notify_all();
      return batch;
    }
    if (error_) std::rethrow_exception(error_);
    return std::nullopt;
  }
  /// The next batch, without a thread.
  std::optional<Batch> make_next() {
    if (!next_) next_ = begin_(epoch_);
    return next_();
  }

 private:
  void run() {
    std::exception_ptr error;
    try {
      const Dataset::Next next = begin_(epoch_);
      while (wait_for_room()) {
        std::optional<Batch> batch = next();
        if (!batch) break;
        const std::lock_guard lock(mutex_);
        ready_.push_back(*std::move(batch));
        changed_.notify_all();
      }
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    ended_ = true;
    changed_.notify_all();
  }

  /// False after stop().
  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ready_.size() < capacity_ || stopped_; });
    return !stopped_;
  }

  const Dataset::Begin begin_;
  const std::int64_t epoch_;
  const std::size_t capacity_;
  Dataset::Next next_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> ready_;
  std::exception_ptr error_;
  bool ended_ = false, stopped_ = false;
};

/// A prefetch queue with its thread; if no thread can be started, batches are read when they are needed.
class PrefetchedPass {
 public:
  PrefetchedPass(const Dataset::Begin& begin, std::int64_t epoch, std::int64_t capacity)
      : queue_(std::make_unique<PrefetchQueue>(begin, epoch, capacity)),
        has_thread_(thread_.start(PrefetchQueue::run_thread, queue_.get())) {}
  ~PrefetchedPass() {
    if (thread_.is_lost_by_fork()) {
      std::ignore = queue_.release();  // leaked: the thread, lost in a fork, waits on its condition variable
      return;
    }
    queue_->stop();
    thread_.join();
  }
  PrefetchedPass(const PrefetchedPass&) = delete;
  PrefetchedPass& operator=(const PrefetchedPass&) = delete;

  std::optional<Batch> next() {
    if (!has_thread_) return queue_->make_next();
    if (thread_.is_lost_by_fork())
      throw Error(
          "prefetch: this process was forked after the beginning of the pass, and the thread that makes its batches "
          "does not exist here: begin another pass");
    return queue_->next();
  }

 private:
  std::unique_ptr<PrefetchQueue> queue_;
  base::Thread thread_;
  bool has_thread_;
};

}  // namespace

std::int64_t common_rows(const Batch& arrays) {
  if (arrays.x.empty()) throw ValueError("there are no inputs: x is an empty list");
  const Array& first = arrays.x[0];
  const auto fits = [&](const Array& array) { return array.rank() > 0 && array.shape(0) == first.shape(0); };
  if (first.rank() > 0 && std::ranges::all_of(arrays.x, fits) && std::ranges::all_of(arrays.y, fits) &&
      (!arrays.weights || fits(*arrays.weights)))
    return first.shape(0);
  std::vector<std::string> texts;
  const auto add_text = [&](const Array& array, const std::string& name) {
    texts.push_back(array.rank() > 0 ? fmt::format("{} has {}", name, array.shape(0)) : name + " is one number");
  };
  const auto add_texts = [&](const std::vector<Array>& list, const std::string& name) {
    for (std::size_t i = 0; i < list.size(); ++i)
      add_text(list[i], list.size() == 1 ? name : fmt::format("{}{}", name, i));
  };
  add_texts(arrays.x, "x");
  add_texts(arrays.y, "y");
  if (arrays.weights) add_text(*arrays.weights, "weights");
  throw ShapeError(fmt::format("arrays need equal numbers of rows: {}", fmt::join(texts, ", ")));
}

Batch rows_between(const Batch& arrays, std::int64_t begin, std::int64_t end) {
  return map_arrays(arrays, [=](const Array& array) { return array.slice(0, begin, end); });
}

Dataset Dataset::from_arrays(std::vector<Array> x, std::vector<Array> y, const ArrayOptions& options) {
  return from_arrays(std::move(x), std::move(y), std::nullopt, options);
}

Dataset Dataset::from_arrays(std::vector<Array> x, std::vector<Array> y, std::optional<Array> weights,
                             const ArrayOptions& options) {
  const std::int64_t size = options.batch_size;
  if (size < 1) throw ValueError(fmt::format("batch_size is {}: it must be 1 or more", size));
  Batch all{std::move(x), std::move(y), std::move(weights)};
  const std::int64_t rows = common_rows(all);
  const std::int64_t full = rows / size;
  const std::int64_t batches = options.drop_remainder || full * size == rows ? full : full + 1;
  all = map_arrays(all, [](const Array& array) { return array.to_host(); });

  if (!options.shuffle) {
    Begin slices = [all = std::move(all), size, batches](std::int64_t) -> Next {
      return [all, size, batches, i = std::int64_t{0}]() mutable -> std::optional<Batch> {
        if (i == batches) return std::nullopt;
        const std::int64_t first = size * i++;
        return map_arrays(all,
                          [=](const Array& array) { return array.slice(0, first, first + size); });  // cut at the end
      };
    };
    return {std::move(slices), batches};
  }
  all = map_arrays(all, [](const Array& array) { return array.contiguous(); });
  Begin gathering = [all = std::move(all), rows, size, batches, seed = options.seed](std::int64_t epoch) -> Next {
    return [all, order = shuffled(rows, seed, epoch), size, batches,
            i = std::int64_t{0}]() mutable -> std::optional<Batch> {
      if (i == batches) return std::nullopt;
      const std::size_t first = base::to_size(size * i++);
      const auto here =
          std::span<const std::int64_t>(order).subspan(first, std::min(base::to_size(size), order.size() - first));
      return map_arrays(all, [=](const Array& array) { return gathered(array, here); });
    };
  };
  return {std::move(gathering), batches};
}

Dataset Dataset::from_files(std::vector<std::filesystem::path> files,
                            std::function<Batch(const std::filesystem::path&)> read) {
  if (!read) read = read_npz;
  const std::int64_t batches = std::ssize(files);
  Begin begin = [files = std::move(files), read = std::move(read)](std::int64_t) -> Next {
    return [files, read, i = std::size_t{0}]() mutable -> std::optional<Batch> {
      if (i == files.size()) return std::nullopt;
      return read(files[i++]);
    };
  };
  return {std::move(begin), batches};
}

Dataset Dataset::map(std::function<Batch(Batch)> function) const {
  Begin changed = [begin = begin_, function = std::move(function)](std::int64_t epoch) -> Next {
    return [next = begin(epoch), function]() -> std::optional<Batch> {
      std::optional<Batch> batch = next();
      if (batch) batch = function(*std::move(batch));
      return batch;
    };
  };
  return {std::move(changed), batches_};
}

Dataset Dataset::take(std::int64_t n) const {
  check_count("take", n, 0);
  Begin first = [begin = begin_, n](std::int64_t epoch) -> Next {
    return [next = begin(epoch), left = n]() mutable -> std::optional<Batch> {
      if (left == 0) return std::nullopt;
      --left;
      return next();
    };
  };
  std::optional<std::int64_t> batches;
  if (batches_) batches = std::min(*batches_, n);
  return {std::move(first), batches};
}

Dataset Dataset::repeat(std::int64_t n) const {
  check_count("repeat", n, 0);
  Begin passes = [begin = begin_, n](std::int64_t epoch) -> Next {
    return [begin, n, epoch, k = std::int64_t{0}, next = Next()]() mutable -> std::optional<Batch> {
      for (; k < n; ++k, next = nullptr) {
        if (!next) next = begin(pass_number(epoch, n, k));
        std::optional<Batch> batch = next();
        if (batch) return batch;
      }
      return std::nullopt;
    };
  };
  std::optional<std::int64_t> batches;
  if (batches_) batches = base::checked_mul(*batches_, n);
  return {std::move(passes), batches};
}

Dataset Dataset::prefetch(std::int64_t n) const {
  check_count("prefetch", n, 1);
  Begin ahead = [begin = begin_, n](std::int64_t epoch) -> Next {
    return [pass = std::make_shared<PrefetchedPass>(begin, epoch, n)] { return pass->next(); };
  };
  return {std::move(ahead), batches_};
}

}  // namespace croton::nn
