// Datasets: the order and sizes of batches, also under prefetching.
#include <croton/archive.hpp>
#include <croton/nn/data.hpp>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <complex>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "../../src/nn/epochs.hpp"
#include "catch.hpp"
#include "unit/contains.hpp"
#include "unit/temporary_folder.hpp"

using croton::Array;
using croton::DType;
using croton::nn::Batch;
using croton::nn::Dataset;
using croton::nn::EpochBatches;
using croton::test::TemporaryFolder;
using std::chrono::milliseconds;

namespace {

std::vector<Batch> all_of(const Dataset::Next& next) {
  std::vector<Batch> batches;
  while (std::optional<Batch> batch = next()) batches.push_back(*std::move(batch));
  return batches;
}

std::vector<Batch> all_of(const Dataset& data, std::int64_t epoch = 0) { return all_of(data.begin(epoch)); }

void check_same(const std::vector<Batch>& a, const std::vector<Batch>& b) {
  const auto same = [](const std::vector<Array>& x, const std::vector<Array>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const Array& one, const Array& other) { return one.same_bits(other); });
  };
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(same(a[i].x, b[i].x));
    CHECK(same(a[i].y, b[i].y));
    REQUIRE(a[i].weights.has_value() == b[i].weights.has_value());
    if (a[i].weights) CHECK(a[i].weights->same_bits(*b[i].weights));
  }
}

std::vector<std::int64_t> sizes_of(const std::vector<Batch>& batches) {
  std::vector<std::int64_t> sizes;
  for (const Batch& batch : batches) sizes.push_back(batch.size());
  return sizes;
}

/// The numbers of all rows, as y has them.
std::vector<std::int64_t> rows_of(const std::vector<Batch>& batches) {
  std::vector<std::int64_t> rows;
  for (const Batch& batch : batches) {
    for (const std::int64_t row : batch.y.at(0).data<std::int64_t>()) rows.push_back(row);
  }
  return rows;
}

/// n rows of 3 numbers, whose targets are the numbers of the rows.
Dataset counting(std::int64_t n, const Dataset::ArrayOptions& options) {
  return Dataset::from_arrays(Array::uniform(DType::float32, {n, 3}, 5), Array::arange(n), options);
}

/// Batches of one row; `made` counts the batches that were started, and `before` is called with their numbers.
Dataset counted(std::int64_t n, const std::shared_ptr<std::atomic<std::int64_t>>& made,
                const std::function<void(std::int64_t)>& before = {}) {
  return Dataset(
      [=](std::int64_t epoch) -> Dataset::Next {
        return [=, i = std::int64_t{0}]() mutable -> std::optional<Batch> {
          if (i == n) return std::nullopt;
          ++*made;
          if (before) before(i);
          const Array number{epoch * n + i++};
          return Batch{{number}, {number}};
        };
      },
      n);
}

std::shared_ptr<std::atomic<std::int64_t>> counter() { return std::make_shared<std::atomic<std::int64_t>>(0); }

}  // namespace

TEST_CASE("C5.8: rows come in an order that follows from seed and epoch, on every machine") {
  // Numbers of SplitMix64 and the shuffle, computed with Python's integers.
  const Dataset data = counting(10, {.batch_size = 4, .shuffle = true});
  CHECK(rows_of(all_of(data, 0)) == std::vector<std::int64_t>{0, 1, 4, 6, 3, 9, 8, 7, 2, 5});
  CHECK(rows_of(all_of(data, 1)) == std::vector<std::int64_t>{5, 3, 8, 2, 4, 1, 7, 9, 6, 0});
  const Dataset other = counting(10, {.batch_size = 3, .shuffle = true, .seed = 7});
  CHECK(rows_of(all_of(other, 0)) == std::vector<std::int64_t>{7, 6, 9, 2, 8, 4, 0, 3, 5, 1});
  CHECK(rows_of(all_of(counting(4, {.batch_size = 3}), 5)) == std::vector<std::int64_t>{0, 1, 2, 3});
}

TEST_CASE("C5.8: every row comes once an epoch, with its targets and its weight") {
  const std::int64_t n = 1003;
  const Array images = Array::uniform(DType::float64, {n, 2, 3}, 1), flags = Array::arange(n, DType::uint8),
              numbers = Array::arange(n), weights = Array::uniform(DType::float32, {n}, 2);
  const Dataset data = Dataset::from_arrays({images, flags}, {numbers}, weights, {.batch_size = 64, .shuffle = true});
  CHECK(data.batches() == 16);
  std::vector<std::vector<std::int64_t>> orders;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    const std::vector<Batch> batches = all_of(data, epoch);
    CHECK(batches.size() == 16);
    for (const Batch& batch : batches) {
      for (std::int64_t i = 0; i < batch.size(); ++i) {
        const std::int64_t row = batch.y[0].at<std::int64_t>(i);
        REQUIRE(batch.x[0].row(i).same_bits(images.row(row)));
        REQUIRE(batch.x[1].row(i).same_bits(flags.row(row)));
        REQUIRE(batch.weights->row(i).same_bits(weights.row(row)));
      }
    }
    check_same(batches, all_of(data, epoch));
    orders.push_back(rows_of(batches));
    std::vector<std::int64_t> sorted = orders.back();
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::int64_t> each(static_cast<std::size_t>(n));
    std::iota(each.begin(), each.end(), 0);
    CHECK(sorted == each);
    CHECK(orders.back() != each);
  }
  CHECK(orders[0] != orders[1]);
  CHECK(orders[1] != orders[2]);
}

TEST_CASE("C5.4: the last batch has what is left, or is left out") {
  for (const bool shuffle : {false, true}) {
    const auto sizes = [&](std::int64_t n, std::int64_t batch_size, bool drop) {
      const Dataset data = counting(n, {.batch_size = batch_size, .shuffle = shuffle, .drop_remainder = drop});
      const std::vector<std::int64_t> found = sizes_of(all_of(data));
      CHECK(data.batches() == static_cast<std::int64_t>(found.size()));
      return found;
    };
    CHECK(sizes(600, 256, false) == std::vector<std::int64_t>{256, 256, 88});
    CHECK(sizes(600, 256, true) == std::vector<std::int64_t>{256, 256});
    CHECK(sizes(512, 256, false) == std::vector<std::int64_t>{256, 256});
    CHECK(sizes(512, 256, true) == std::vector<std::int64_t>{256, 256});
    CHECK(sizes(3, 5, false) == std::vector<std::int64_t>{3});
    CHECK(sizes(3, 5, true).empty());
    CHECK(sizes(0, 5, false).empty());
    CHECK(sizes(3, std::numeric_limits<std::int64_t>::max(), false) == std::vector<std::int64_t>{3});
  }
}

TEST_CASE("batches in order are views of the arrays; shuffled ones are in C order") {
  const Array x = Array::uniform(DType::float32, {6, 4}, 1), y = Array::arange(6);
  for (const Batch& batch : all_of(Dataset::from_arrays(x, y, {.batch_size = 4}))) {
    CHECK(batch.x[0].owner() == x.owner());
    CHECK(batch.y[0].owner() == y.owner());
    CHECK(batch.x[0].is_contiguous());
  }
  const Array turned = Array::uniform(DType::float32, {4, 6}, 1).transpose();
  for (const Batch& batch : all_of(Dataset::from_arrays(turned, y, {.batch_size = 4}))) {
    CHECK(batch.x[0].owner() == turned.owner());
    CHECK(batch.x[0].row(0).same_bits(turned.row(batch.y[0].at<std::int64_t>(0))));
  }
  for (const Batch& batch : all_of(Dataset::from_arrays(turned, y, {.batch_size = 4, .shuffle = true}))) {
    CHECK(batch.x[0].is_contiguous());
    for (std::int64_t i = 0; i < batch.size(); ++i) {
      CHECK(batch.x[0].row(i).same_bits(turned.row(batch.y[0].at<std::int64_t>(i))));
    }
  }
}

TEST_CASE("rows of any dtype and size") {
  const std::int64_t n = 37;
  for (const DType dtype : {DType::bool_, DType::int16, DType::bfloat16, DType::float64, DType::complex128}) {
    for (const croton::Sizes& shape : {croton::Sizes{n}, croton::Sizes{n, 5}, croton::Sizes{n, 0, 2}}) {
      const Array x = Array::uniform(DType::float64, shape, 3, 0, 2).astype(dtype);
      const Dataset data = Dataset::from_arrays(x, Array::arange(n), {.batch_size = 8, .shuffle = true, .seed = 4});
      for (const Batch& batch : all_of(data)) {
        REQUIRE(batch.x[0].dtype() == dtype);
        for (std::int64_t i = 0; i < batch.size(); ++i) {
          REQUIRE(batch.x[0].row(i).same_bits(x.row(batch.y[0].at<std::int64_t>(i))));
        }
      }
    }
  }
  // Without targets, as for predictions.
  const Dataset inputs = Dataset::from_arrays({Array::arange(5)}, std::vector<Array>(), {.batch_size = 2});
  CHECK(sizes_of(all_of(inputs)) == std::vector<std::int64_t>{2, 2, 1});
}

TEST_CASE("mistakes about arrays are named") {
  const Array five = Array::arange(5), four = Array::zeros(DType::float32, {4, 2});
  const std::vector<Array> none;
  CHECK_THROWS_AS(Dataset::from_arrays(five, four, {}), croton::ShapeError);
  CHECK_THROWS_WITH(Dataset::from_arrays(five, four, {}), contains("equal numbers of rows: x has 5, y has 4"));
  CHECK_THROWS_WITH(Dataset::from_arrays({five, four}, {five}, four, {}),
                    contains("x0 has 5, x1 has 4, y has 5, weights has 4"));
  CHECK_THROWS_WITH(Dataset::from_arrays(five, Array(1.f), {}), contains("x has 5, y is one number"));
  CHECK_THROWS_AS(Dataset::from_arrays(Array(1.f), Array(1.f), {}), croton::ShapeError);
  CHECK_THROWS_AS(Dataset::from_arrays(none, {five}, {}), croton::ValueError);
  CHECK_THROWS_WITH(Dataset::from_arrays(five, five, {.batch_size = 0}), contains("batch_size is 0"));
  CHECK_THROWS_AS(Dataset::from_arrays(five, five, {.batch_size = -1}), croton::ValueError);
  const Dataset data = Dataset::from_arrays(five, five, {});
  CHECK_THROWS_WITH(data.take(-1), contains("take(-1): the number must be 0 or more"));
  CHECK_THROWS_AS(data.repeat(-1), croton::ValueError);
  CHECK_THROWS_WITH(data.prefetch(0), contains("prefetch(0): the number must be 1 or more"));
}

TEST_CASE("C5.8: a dataset is anything that has batches to go through") {
  const Array a{1, 2}, b{3, 4}, c{5};
  const Dataset pairs(std::vector<std::pair<Array, Array>>{{a, b}, {c, c}});
  CHECK(pairs.batches() == 2);
  check_same(all_of(pairs), {Batch{{a}, {b}}, Batch{{c}, {c}}});
  check_same(all_of(pairs, 1), {Batch{{a}, {b}}, Batch{{c}, {c}}});
  const Dataset batches(std::list<Batch>{Batch{{a, b}, {b}, a}});
  CHECK(batches.batches() == 1);
  check_same(all_of(batches), {Batch{{a, b}, {b}, a}});

  struct Endless {  // without size()
    struct Iterator {
      std::int64_t i;
      Batch operator*() const { return {{Array{i}}, {Array{i}}}; }
      Iterator operator++(int) { return {i++}; }
      bool operator==(const Iterator& other) const { return i == other.i; }
    };
    Iterator begin() const { return {0}; }
    Iterator end() const { return {-1}; }
  };
  const Dataset endless{Endless()};
  CHECK_FALSE(endless.batches());
  CHECK_FALSE(endless.take(3).batches());
  CHECK(rows_of(all_of(endless.take(3))) == std::vector<std::int64_t>{0, 1, 2});
  CHECK(rows_of(all_of(endless.prefetch(3).take(4))) == std::vector<std::int64_t>{0, 1, 2, 3});
}

TEST_CASE("C5.8: map, take and repeat") {
  const Dataset data = counting(10, {.batch_size = 4, .shuffle = true});
  const auto twice = [](const Batch& batch) {
    Batch changed = batch;
    changed.y[0] = batch.y[0].copy();
    for (std::int64_t& row : changed.y[0].data<std::int64_t>()) row *= 2;
    return changed;
  };
  const Dataset doubled = data.map(twice);
  CHECK(doubled.batches() == 3);
  CHECK(rows_of(all_of(doubled)) == std::vector<std::int64_t>{0, 2, 8, 12, 6, 18, 16, 14, 4, 10});

  CHECK(data.take(2).batches() == 2);
  CHECK(rows_of(all_of(data.take(2))) == std::vector<std::int64_t>{0, 1, 4, 6, 3, 9, 8, 7});
  CHECK(data.take(5).batches() == 3);
  CHECK(all_of(data.take(5)).size() == 3);
  CHECK(data.take(0).batches() == 0);
  CHECK(all_of(data.take(0)).empty());

  const Dataset thrice = data.repeat(3);
  CHECK(thrice.batches() == 9);
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    std::vector<Batch> passes;
    for (std::int64_t k = 0; k < 3; ++k) {
      for (Batch& batch : all_of(data, epoch * 3 + k)) passes.push_back(std::move(batch));
    }
    check_same(all_of(thrice, epoch), passes);
  }
  CHECK(data.repeat(0).batches() == 0);
  CHECK(all_of(data.repeat(0)).empty());
  CHECK(all_of(counting(0, {}).repeat(5)).empty());
  const Dataset for_ever = data.repeat(std::numeric_limits<std::int64_t>::max());
  CHECK_FALSE(for_ever.batches());
  CHECK(all_of(for_ever.take(7), 1000).size() == 7);
  // A pass that has ended remains at its end, and other passes are independent of it.
  const Dataset::Next pass = thrice.take(9).map(twice).begin(), other = thrice.begin();
  CHECK(all_of(pass).size() == 9);
  CHECK_FALSE(pass());
  CHECK(all_of(other).size() == 9);
}

TEST_CASE("epochs of so many steps go on in the data, and begin it again at its end") {
  const auto read = [](EpochBatches& epochs, std::int64_t epoch) {
    std::vector<std::int64_t> rows;
    epochs.begin(epoch);
    while (const std::optional<Batch> batch = epochs.next()) rows.push_back(batch->y[0].item<std::int64_t>());
    return rows;
  };
  using Rows = std::vector<std::int64_t>;
  // Batch i of pass p is 10 p + i.
  const auto of = [](std::int64_t batches, bool known) {
    return Dataset(
        [batches](std::int64_t pass) -> Dataset::Next {
          return [batches, pass, i = std::int64_t{0}]() mutable -> std::optional<Batch> {
            if (i == batches) return std::nullopt;
            const Array number = Array::full(DType::int64, {1}, static_cast<double>(10 * pass + i++));
            return Batch{{number}, {number}};
          };
        },
        known ? std::optional(batches) : std::nullopt);
  };
  for (const bool known : {false, true}) {
    CAPTURE(known);
    EpochBatches five(of(5, known), 2, 3);
    const std::vector<Rows> expected{{30, 31}, {32, 33}, {34}, {40, 41}, {42, 43}, {44}, {50, 51}};
    for (std::size_t e = 0; e < expected.size(); ++e) {
      CHECK(read(five, static_cast<std::int64_t>(e)) == expected[e]);
      CHECK(five.ran_out() == (e % 3 == 2));
      CHECK(five.next_pass() == 4 + static_cast<std::int64_t>(e) / 3);
      CHECK_FALSE(five.next());
    }
    // From any epoch.
    for (std::size_t first = 0; first < expected.size(); ++first) {
      EpochBatches later(of(5, known), 2, 3);
      for (std::size_t e = first; e < expected.size(); ++e)
        CHECK(read(later, static_cast<std::int64_t>(e)) == expected[e]);
    }
    // A pass that ends with an epoch; epochs longer than a pass; and no data at all.
    EpochBatches four(of(4, known), 2, 0), three(of(3, known), 10, 0), none(of(0, known), 2, 0);
    const std::vector<Rows> even{{0, 1}, {2, 3}, {10, 11}, {12, 13}, {20, 21}};
    for (std::size_t e = 0; e < even.size(); ++e) {
      CHECK(read(four, static_cast<std::int64_t>(e)) == even[e]);
      CHECK_FALSE(four.ran_out());
    }
    CHECK(read(three, 0) == Rows{0, 1, 2});
    CHECK(three.ran_out());
    CHECK(read(three, 1) == Rows{10, 11, 12});
    CHECK(read(none, 0).empty());
    CHECK(read(none, 1).empty());
    CHECK_FALSE(none.ran_out());
    // Without a number of steps, an epoch is a pass.
    EpochBatches whole(of(3, known), std::nullopt, 2);
    CHECK(read(whole, 1) == Rows{30, 31, 32});
    CHECK(read(whole, 2) == Rows{40, 41, 42});
    CHECK_FALSE(whole.ran_out());
  }
}

TEST_CASE("take asks for no more than it gives") {
  const auto made = counter();
  CHECK(all_of(counted(10, made).take(3)).size() == 3);
  CHECK(*made == 3);
}

TEST_CASE("C5.8: batches from files") {
  const TemporaryFolder folder;
  std::vector<std::filesystem::path> files;
  std::vector<Batch> batches;
  for (std::int64_t i = 0; i < 3; ++i) {
    files.push_back(folder / ("part" + std::to_string(i) + ".npz"));
    batches.push_back(
        {{Array::uniform(DType::float32, {4 - i, 2}, static_cast<std::uint64_t>(i))}, {Array::arange(4 - i)}});
    croton::io::save_npz(files.back(), {{"y", batches.back().y[0]}, {"x", batches.back().x[0]}});
  }
  const Dataset data = Dataset::from_files(files);
  CHECK(data.batches() == 3);
  check_same(all_of(data), batches);
  check_same(all_of(data, 1), batches);
  check_same(all_of(data.prefetch()), batches);

  const std::filesystem::path many = folder / "many.npz";
  const Array a = Array::arange(3), b = Array::zeros(DType::float32, {3, 2});
  croton::io::save_npz(many, {{"x1", b}, {"y0", b}, {"x0", a}, {"y1", a}, {"names", Array{1}}});
  check_same(all_of(Dataset::from_files({many})), {Batch{{a, b}, {b, a}}});

  const Dataset own = Dataset::from_files(
      {many, files[0]}, [&](const std::filesystem::path& file) { return Batch{{a}, {Array{file == many ? 1 : 0}}}; });
  check_same(all_of(own), {Batch{{a}, {Array{1}}}, Batch{{a}, {Array{0}}}});

  const Dataset::Next missing = Dataset::from_files({files[0], folder / "none.npz"}).begin();
  CHECK(missing());
  CHECK_THROWS_AS(missing(), croton::FileError);
  croton::io::save_npz(many, {{"x", a}, {"label", a}});
  CHECK_THROWS_AS(all_of(Dataset::from_files({many})), croton::FileError);
  CHECK_THROWS_WITH(all_of(Dataset::from_files({many})), contains("no array y (or y0), only: x, label"));
  croton::io::save_npz(many, {{"x", a}, {"y", Array{1}}});
  CHECK_THROWS_AS(all_of(Dataset::from_files({many})), croton::ShapeError);
  CHECK_THROWS_WITH(all_of(Dataset::from_files({many})), contains("many.npz: ") && contains("x has 3, y has 1"));
}

TEST_CASE("C5.8: where the system has no thread batches are made without one") {
  struct NoThreads {  // the stack cannot be allocated
    pthread_attr_t before{};
    NoThreads() {
      pthread_getattr_default_np(&before);
      pthread_attr_t huge = before;
      pthread_attr_setstacksize(&huge, std::size_t{1} << 48);
      REQUIRE(pthread_setattr_default_np(&huge) == 0);
    }
    ~NoThreads() { pthread_setattr_default_np(&before); }
  };
  const Dataset data = counting(100, {.batch_size = 8, .shuffle = true, .seed = 3});
  const std::vector<Batch> wanted = all_of(data, 2);
  {
    const NoThreads none;
    REQUIRE_THROWS_AS(std::thread([] {}).join(), std::system_error);
    check_same(all_of(data.prefetch(3), 2), wanted);
    const Dataset fails = data.map([](const Batch&) -> Batch { throw std::out_of_range("no such row"); });
    CHECK_THROWS_AS(all_of(fails.prefetch()), std::out_of_range);
    const Dataset::Next unread = data.prefetch().begin();
  }
  check_same(all_of(data.prefetch(3), 2), wanted);
}

TEST_CASE("C5.8: fetching ahead changes nothing") {
  const Dataset data = counting(501, {.batch_size = 16, .shuffle = true, .seed = 3});
  for (const std::int64_t n : {1, 2, 7, 1000}) {
    CHECK(data.prefetch(n).batches() == 32);
    for (std::int64_t epoch = 0; epoch < 2; ++epoch) check_same(all_of(data.prefetch(n), epoch), all_of(data, epoch));
  }
  check_same(all_of(data.prefetch().repeat(2).prefetch(3).take(50)), all_of(data.repeat(2).take(50)));
  // Two passes at once.
  const Dataset ahead = data.prefetch();
  const Dataset::Next one = ahead.begin(0), other = ahead.begin(1);
  std::vector<Batch> first, second;
  for (int i = 0; i < 32; ++i) {
    first.push_back(*one());
    second.push_back(*other());
  }
  check_same(first, all_of(data, 0));
  check_same(second, all_of(data, 1));
  CHECK_FALSE(one());
  CHECK_FALSE(one());  // and again
}

TEST_CASE("fetching ahead with slow ends") {
  const auto wait = [](std::int64_t i) { std::this_thread::sleep_for(milliseconds(i % 3)); };
  for (const bool slow_producer : {false, true}) {
    const Dataset::Next next =
        counted(60, counter(), slow_producer ? wait : std::function<void(std::int64_t)>()).prefetch(3).begin(2);
    for (std::int64_t i = 0; i < 60; ++i) {
      if (!slow_producer) wait(i);
      const std::optional<Batch> batch = next();
      REQUIRE(batch);
      REQUIRE(batch->y[0].item<std::int64_t>() == 120 + i);
    }
    CHECK_FALSE(next());
  }
}

TEST_CASE("no more is fetched ahead than was asked for, and all of it") {
  const auto made = counter();
  const Dataset::Next next = counted(100, made).prefetch(3).begin();
  for (std::int64_t taken = 0; taken < 10; ++taken) {
    for (int i = 0; i < 10'000 && *made < taken + 3; ++i) std::this_thread::sleep_for(milliseconds(1));
    CHECK(*made == taken + 3);
    if (taken % 4 == 0) std::this_thread::sleep_for(milliseconds(10));
    CHECK(*made == taken + 3);
    next();
  }
}

TEST_CASE("an error of the thread is raised where batches are read, after the earlier batches") {
  const auto fault = [](std::int64_t i) {
    if (i == 3) throw croton::FileError("the disk is gone");
  };
  const Dataset data = counted(10, counter(), fault);
  for (const Dataset& ahead :
       {data.prefetch(), data.prefetch().prefetch(5), data.map([](const Batch& batch) { return batch; }).prefetch()}) {
    const Dataset::Next next = ahead.begin();
    for (std::int64_t i = 0; i < 3; ++i) CHECK(next()->y[0].item<std::int64_t>() == i);
    CHECK_THROWS_AS(next(), croton::FileError);
    CHECK_THROWS_WITH(next(), contains("the disk is gone"));
  }
  // At the beginning of a pass; and an error that is not Croton's.
  const Dataset late([](std::int64_t) -> Dataset::Next { throw std::out_of_range("no such epoch"); });
  CHECK_THROWS_AS(all_of(late.prefetch()), std::out_of_range);
  const Dataset number([](std::int64_t) -> Dataset::Next { throw 7; });
  CHECK_THROWS_AS(all_of(number.prefetch()), int);
  const Dataset::Next unread = data.prefetch(9).begin();  // never read
}

TEST_CASE("a pass that is dropped early takes its thread with it") {
  const auto alive = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = alive;
  const auto made = counter();
  Dataset data = counted(1'000'000, made, [alive](std::int64_t) {}).prefetch(2);
  Dataset::Next pass = data.begin();
  pass();
  while (*made < 3) std::this_thread::yield();
  Dataset::Next second = data.prefetch(2).begin();  // nested passes
  second();
  pass = nullptr;
  second = nullptr;
  const std::int64_t in_the_end = *made;
  std::this_thread::sleep_for(milliseconds(20));
  CHECK(*made == in_the_end);
  CHECK(in_the_end < 20);
  data = counting(1, {});
  CHECK(watched.use_count() == 1);  // the thread has no reference to the pass
}

TEST_CASE("a thousand passes with threads, used in part and dropped") {
  const Dataset data = counting(40, {.batch_size = 4, .shuffle = true}).prefetch(2);
  std::size_t rows = 0;
  for (std::int64_t epoch = 0; epoch < 1000; ++epoch) {
    const Dataset::Next next = data.begin(epoch);
    for (std::int64_t i = 0; i < epoch % 13; ++i) {
      const std::optional<Batch> batch = next();
      REQUIRE(batch.has_value() == (i < 10));
      if (batch) rows += static_cast<std::size_t>(batch->size());
    }
  }
  CHECK(rows > 10'000);
}
