// Convolutions by oneDNN and their gradients, against a plain loop over the description. Those that need the library
// are tagged [onednn].
#include <dlfcn.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "catch.hpp"
#include "runtime/cpu/dnn/dnn.hpp"
#include "runtime/cpu/dnn/dnn_problem.hpp"
#include "runtime/cpu/threads/threads.hpp"
#include "temporary_folder.hpp"

#include <croton/error.hpp>

namespace {

namespace fs = std::filesystem;
using croton::DType;
using croton::runtime::Convolution;
using croton::runtime::ConvolutionArrays;
using croton::runtime::cpu::Dnn;
using croton::runtime::cpu::DnnConvolution;
using croton::runtime::cpu::ThreadPool;
namespace dnn = croton::runtime::cpu::dnn;
using dnn::Task;

struct WithThreads {
  explicit WithThreads(int count) { ThreadPool::instance().set_threads(count); }
  ~WithThreads() { ThreadPool::instance().set_threads(0); }
};
struct WithLibrary {
  explicit WithLibrary(const std::string& library) { Dnn::configure(library); }
  ~WithLibrary() { Dnn::configure("auto"); }
};

/// The libraries to test with: the users' default one, and others of the system. Prints a message if there is none.
std::vector<std::string> libraries() {
  std::vector<std::string> found;
  std::string why;
  {
    const WithLibrary with("auto");
    if (Dnn::available(&why)) found.push_back("auto");
  }
  for (const char* file : {"/usr/lib/x86_64-linux-gnu/libdnnl.so.2", "/usr/lib/x86_64-linux-gnu/libdnnl.so.3"}) {
    std::error_code error;
    if (!found.empty() && fs::exists(file, error)) found.emplace_back(file);
  }
  static bool said = false;
  if (found.empty() && !std::exchange(said, true)) std::cout << "NOT RUN: " << why << "\n";
  return found;
}

// ---- forward convolutions, and the descriptions of them and their gradients that Croton's graphs make ----

struct Axis {
  std::int64_t in, taps, stride = 1, dilation = 1, before = 0, after = 0;
  std::int64_t out() const { return (in + before + after - (taps - 1) * dilation - 1) / stride + 1; }
};

struct Forward {
  std::int64_t images, groups, channels, results;
  std::vector<Axis> axes;
  bool last = true;          // channels after the axes, in images and results
  bool filters_last = true;  // results and channels after the taps
  bool flip = false;         // reversed filters
  std::int64_t gap = 0;      // unused elements between images
  std::string text() const {
    std::string s = std::to_string(images) + " images, groups " + std::to_string(groups) + ", channels " +
                    std::to_string(channels) + ", results " + std::to_string(results);
    for (const Axis& a : axes)
      s += "; " + std::to_string(a.in) + " taps " + std::to_string(a.taps) + " stride " + std::to_string(a.stride) +
           " dilation " + std::to_string(a.dilation) + " borders " + std::to_string(a.before) + " " +
           std::to_string(a.after);
    return s + (last ? ", last" : ", first") + (filters_last ? ", filters last" : ", filters first") +
           (flip ? ", flipped" : "") + (gap > 0 ? ", gaps" : "");
  }
};

/// The strides of an array with this order of axes, of which the last one is dense.
struct Placed {
  std::vector<std::int64_t> steps;
  std::int64_t elements = 1;
  Placed(const std::vector<std::int64_t>& sizes, const std::vector<std::size_t>& order, std::int64_t gap) {
    steps.resize(sizes.size());
    for (std::size_t i = order.size(); i-- > 0;) {
      if (i == 0) elements += gap;
      steps[order[i]] = elements;
      elements *= sizes[order[i]];
    }
  }
};

/// The description of a task, with the number of elements of its arrays.
struct Described {
  Convolution c;
  std::size_t x, filters, result;
};

/// (images, groups, channels, sizes...)
Placed data(const Forward& f, bool image) {
  std::vector<std::int64_t> sizes{f.images, f.groups, image ? f.channels : f.results};
  std::vector<std::size_t> order{0};
  for (const Axis& a : f.axes) sizes.push_back(image ? a.in : a.out());
  if (!f.last) order.insert(order.end(), {1, 2});
  for (std::size_t j = 0; j < f.axes.size(); ++j) order.push_back(3 + j);
  if (f.last) order.insert(order.end(), {1, 2});
  return Placed(sizes, order, f.gap);
}

/// (groups, results, channels, taps...)
Placed filters(const Forward& f) {
  std::vector<std::int64_t> sizes{f.groups, f.results, f.channels};
  std::vector<std::size_t> order{0};
  for (const Axis& a : f.axes) sizes.push_back(a.taps);
  if (!f.filters_last) order.insert(order.end(), {1, 2});
  for (std::size_t j = 0; j < f.axes.size(); ++j) order.push_back(3 + j);
  if (f.filters_last) order.insert(order.end(), {2, 1});
  return Placed(sizes, order, 0);
}

Described describe(const Forward& f, Task task) {
  const Placed image = data(f, true), result = data(f, false), filter = filters(f);
  const auto &xs = image.steps, &rs = result.steps, &fs = filter.steps;
  Convolution c;
  c.axes = f.axes.size();
  c.groups = f.groups;
  for (std::size_t j = 0; j < f.axes.size(); ++j) {
    const Axis& a = f.axes[j];
    const std::int64_t dilation = f.flip ? -a.dilation : a.dilation;
    const std::int64_t before = f.flip ? a.before - a.dilation * (a.taps - 1) : a.before;
    switch (task) {
      case Task::forward:
        c.axis[j] = {a.in, a.out(), a.taps, a.stride, dilation, 1, before, xs[3 + j], fs[3 + j], rs[3 + j]};
        break;
      case Task::by_image:
        c.axis[j] = {a.out(), a.in, a.taps, 1, -dilation, a.stride, -before, rs[3 + j], fs[3 + j], xs[3 + j]};
        break;
      case Task::by_filters:
        c.axis[j] = {a.in, a.taps, a.out(), dilation, a.stride, 1, before, xs[3 + j], rs[3 + j], fs[3 + j]};
    }
  }
  const auto x_steps = [&](const std::vector<std::int64_t>& s, int batch, int group, int channel) {
    c.x_batch_step = s[static_cast<std::size_t>(batch)];
    c.x_group_step = s[static_cast<std::size_t>(group)];
    c.x_channel_step = s[static_cast<std::size_t>(channel)];
  };
  const auto filter_steps = [&](const std::vector<std::int64_t>& s, int group, int result_, int channel) {
    c.filter_group_step = s[static_cast<std::size_t>(group)];
    c.filter_result_step = s[static_cast<std::size_t>(result_)];
    c.filter_channel_step = s[static_cast<std::size_t>(channel)];
  };
  const auto result_steps = [&](const std::vector<std::int64_t>& s, int batch, int group, int result_) {
    c.result_batch_step = s[static_cast<std::size_t>(batch)];
    c.result_group_step = s[static_cast<std::size_t>(group)];
    c.result_result_step = s[static_cast<std::size_t>(result_)];
  };
  const auto n = static_cast<std::size_t>(image.elements), m = static_cast<std::size_t>(filter.elements),
             k = static_cast<std::size_t>(result.elements);
  switch (task) {
    case Task::forward:
      c.batch = f.images, c.channels = f.channels, c.results = f.results;
      x_steps(xs, 0, 1, 2), filter_steps(fs, 0, 1, 2), result_steps(rs, 0, 1, 2);
      return {c, n, m, k};
    case Task::by_image:
      c.batch = f.images, c.channels = f.results, c.results = f.channels;
      x_steps(rs, 0, 1, 2), filter_steps(fs, 0, 2, 1), result_steps(xs, 0, 1, 2);
      return {c, k, m, n};
    default:
      c.batch = f.channels, c.channels = f.images, c.results = f.results;
      x_steps(xs, 2, 1, 0), filter_steps(rs, 1, 2, 0), result_steps(fs, 2, 0, 1);
      return {c, n, k, m};
  }
}

// ---- the plain loop ----

/// Small multiples of 1/8, so that sums of thousands of products are exact in float32 too.
std::vector<float> numbers(std::size_t count, unsigned seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int>(seed >> 28) - 8) / 8;
  }
  return values;
}

// A mark where nothing may be written: in gaps, and after the end.
constexpr float untouched = 777;
constexpr std::size_t behind = 32;

template <class Body>
void each_place(const Convolution& c, std::int64_t Convolution::Axis::* size, Body body) {
  std::array<std::int64_t, 3> n{1, 1, 1};
  for (std::size_t j = 0; j < c.axes; ++j) n[j] = c.axis[j].*size;
  for (std::int64_t i = 0; i < n[0]; ++i)
    for (std::int64_t j = 0; j < n[1]; ++j)
      for (std::int64_t k = 0; k < n[2]; ++k) body(std::array<std::int64_t, 3>{i, j, k});
}

std::vector<float> expected(const Convolution& c, const std::vector<float>& x, const std::vector<float>& filters,
                            std::size_t elements) {
  std::vector<float> result(elements + behind, untouched);
  each_place(c, &Convolution::Axis::windows, [&](const auto& w) {
    std::vector<std::array<std::int64_t, 2>> pairs;  // the elements of a window: offsets in x and filters
    each_place(c, &Convolution::Axis::taps, [&](const auto& t) {
      std::int64_t in_x = 0, in_filters = 0;
      for (std::size_t j = 0; j < c.axes; ++j) {
        const auto& a = c.axis[j];
        const std::int64_t at = a.stride * w[j] + a.dilation * t[j] - a.before;
        if (at < 0 || at % a.spread != 0 || at / a.spread >= a.size) return;
        in_x += at / a.spread * a.x_step;
        in_filters += t[j] * a.filter_step;
      }
      pairs.push_back({in_x, in_filters});
    });
    std::int64_t to = 0;
    for (std::size_t j = 0; j < c.axes; ++j) to += w[j] * c.axis[j].result_step;
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t g = 0; g < c.groups; ++g)
        for (std::int64_t o = 0; o < c.results; ++o) {
          double sum = 0;
          for (std::int64_t i = 0; i < c.channels; ++i) {
            const std::int64_t from = b * c.x_batch_step + g * c.x_group_step + i * c.x_channel_step;
            const std::int64_t by = g * c.filter_group_step + o * c.filter_result_step + i * c.filter_channel_step;
            for (const auto& [in_x, in_filters] : pairs)
              sum += static_cast<double>(x[static_cast<std::size_t>(from + in_x)]) *
                     static_cast<double>(filters[static_cast<std::size_t>(by + in_filters)]);
          }
          result[static_cast<std::size_t>(b * c.result_batch_step + g * c.result_group_step + o * c.result_result_step +
                                          to)] = static_cast<float>(sum);
        }
  });
  return result;
}

std::vector<float> run(const DnnConvolution& prepared, const std::vector<float>& x, const std::vector<float>& filters,
                       std::size_t elements) {
  std::vector<float> result(elements + behind, untouched);
  prepared.run({x.data(), filters.data(), result.data()});
  return result;
}

void check(const Described& d, const std::string& text) {
  const auto x = numbers(d.x, 1), filters = numbers(d.filters, 2);
  std::string why;
  const auto prepared = Dnn::instance().prepare(d.c, &why);
  INFO(text << (prepared ? "; " + prepared->routine() : "; refused: " + why));
  REQUIRE(prepared);
  const auto wanted = expected(d.c, x, filters, d.result);
  REQUIRE(run(*prepared, x, filters, d.result) == wanted);
  REQUIRE(run(*prepared, x, filters, d.result) == wanted);  // again, in reused memory
}

const char* name_of(Task task) {
  return task == Task::forward ? "forward" : task == Task::by_image ? "by image" : "by filters";
}

void check_all(Forward f) {
  for (const std::string& library : libraries()) {
    const WithLibrary with(library);
    for (const bool last : {true, false})
      for (const bool filters_last : {true, false})
        for (const bool flip : {false, true})
          for (const Task task : {Task::forward, Task::by_image, Task::by_filters}) {
            f.last = last;
            f.filters_last = filters_last;
            f.flip = flip;
            check(describe(f, task), Dnn::instance().name() + ": " + name_of(task) + ": " + f.text());
          }
  }
}

/// Values whose sums have rounding errors.
std::vector<float> fractions(std::size_t count, float scale) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(static_cast<float>(i) * scale);
  return values;
}

std::string refusal(const Convolution& c) {
  std::string why = "none";
  const auto problem = dnn::recognise(c, &why);
  CHECK((problem ? "none" : why) == why);
  return why;
}

/// The message of the error that `call` throws; "" if it throws none.
template <class F>
std::string message_of(F call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const Forward usual{3, 1, 5, 7, {{9, 3, 1, 1, 1, 1}, {8, 3, 1, 1, 1, 1}}};

}  // namespace

TEST_CASE("convolutions along one axis and their gradients equal a plain loop", "[onednn]") {
  check_all({2, 1, 3, 4, {{11, 3}}});
  check_all({2, 1, 16, 32, {{20, 5, 2, 1, 2, 2}}});
  check_all({1, 1, 1, 1, {{12, 4, 3, 2, 1, 0}}});
  check_all({5, 1, 17, 3, {{7, 1}}});
}

TEST_CASE("convolutions along two axes and their gradients equal a plain loop", "[onednn]") {
  check_all(usual);
  check_all({4, 1, 16, 16, {{10, 3}, {12, 3}}});
  check_all({2, 1, 3, 16, {{15, 7, 2, 1, 3, 3}, {14, 7, 2, 1, 3, 3}}});
  check_all({2, 1, 32, 48, {{9, 1, 2}, {8, 1, 2}}});
  check_all({3, 1, 8, 8, {{11, 3, 1, 2, 2, 2}, {10, 2, 3, 1, 0, 1}}});
  check_all({2, 1, 20, 10, {{6, 2, 1, 1, 1, 0}, {9, 5, 2, 1, 4, 4}}});
}

TEST_CASE("convolutions along three axes and their gradients equal a plain loop", "[onednn]") {
  check_all({2, 1, 4, 6, {{5, 3, 1, 1, 1, 1}, {6, 3, 1, 1, 1, 1}, {7, 3, 1, 1, 1, 1}}});
  check_all({1, 1, 16, 16, {{6, 2, 2}, {7, 3, 2, 1, 1, 1}, {8, 2, 1, 2}}});
}

TEST_CASE("convolutions of sizes of one", "[onednn]") {
  check_all({1, 1, 1, 1, {{1, 1}, {1, 1}}});
  check_all({1, 1, 8, 4, {{6, 3}, {1, 1}}});
  check_all({6, 1, 5, 9, {{3, 3}, {3, 3}}});
  check_all({1, 1, 2, 1, {{8, 8}, {4, 1}}});
  check_all({7, 1, 1, 3, {{1, 1}, {5, 2, 2}}});
}

TEST_CASE("convolutions in groups", "[onednn]") {
  check_all({2, 3, 4, 5, {{8, 3, 1, 1, 1, 1}, {7, 3, 1, 1, 1, 1}}});
  check_all({2, 16, 1, 1, {{9, 3, 2, 1, 1, 1}, {8, 3, 1, 1, 1, 1}}});
  check_all({1, 2, 16, 16, {{10, 3, 2, 1, 1, 1}}});
  check_all({2, 5, 1, 2, {{6, 2}, {6, 2}}});
}

TEST_CASE("windows that leave a rest of the image", "[onednn]") { check_all({2, 1, 4, 8, {{10, 3, 3}, {12, 3, 4}}}); }

TEST_CASE("images with gaps between them", "[onednn]") {
  check_all({3, 1, 6, 5, {{7, 3, 1, 1, 1, 1}, {6, 2, 2}}, true, true, false, 5});
}

TEST_CASE("steps of axes of one element mean nothing", "[onednn]") {
  for (const std::string& library : libraries()) {
    const WithLibrary with(library);
    for (const std::int64_t step : {-7, 0, 1000000})
      for (const Task task : {Task::forward, Task::by_image, Task::by_filters}) {
        Described depthwise = describe({1, 16, 1, 1, {{9, 3, 2, 1, 1, 1}, {4, 1}}}, task);
        Convolution& c = depthwise.c;
        for (std::int64_t* unused : {&c.x_batch_step, &c.x_channel_step, &c.filter_result_step, &c.filter_channel_step,
                                     &c.result_batch_step, &c.result_result_step})
          *unused = step;
        (task == Task::by_filters ? c.axis[1].result_step : c.axis[1].filter_step) = step;
        check(depthwise, name_of(task));
      }
  }
}

TEST_CASE("groups that are not adjacent run one at a time", "[onednn]") {
  for (const std::string& library : libraries()) {
    const WithLibrary with(library);
    for (const Task task : {Task::forward, Task::by_image, Task::by_filters}) {
      Forward one = usual;
      Described d = describe(one, task);
      d.c.groups = 3;  // three consecutive arrays
      d.c.x_group_step = static_cast<std::int64_t>(d.x) + 2;
      d.c.filter_group_step = static_cast<std::int64_t>(d.filters);
      d.c.result_group_step = static_cast<std::int64_t>(d.result) + 1;
      d.x = 3 * d.x + 4;
      d.filters *= 3;
      d.result = 3 * d.result + 2;
      check(d, "apart");
    }
  }
}

TEST_CASE("work of many pieces stays right, and its bits do not depend on the number of threads", "[onednn]") {
  const std::vector<Forward> cases{
      {70, 1, 16, 32, {{14, 3, 1, 1, 1, 1}, {15, 3, 1, 1, 1, 1}}},         // images are divided among threads
      {1, 1, 32, 32, {{61, 3, 1, 1, 1, 1}, {40, 3, 1, 1, 1, 1}}},          // parts of one image
      {2, 1, 24, 40, {{80, 5, 2, 1, 2, 2}, {66, 3, 1, 2, 2, 1}}},          // with strides and dilations
      {1, 1, 3, 16, {{130, 7, 2, 1, 3, 3}, {120, 7, 2, 1, 3, 3}}, false},  // another order
      {33, 2, 8, 8, {{20, 3, 1, 1, 1, 1}, {20, 3, 1, 1, 0, 0}}}};
  for (const std::string& library : libraries()) {
    const WithLibrary with(library);
    for (const Forward& f : cases)
      for (const Task task : {Task::forward, Task::by_image, Task::by_filters}) {
        const Described d = describe(f, task);
        check(d, f.text());
        const auto x = fractions(d.x, 0.3f), filters = fractions(d.filters, 0.7f);
        std::vector<float> first;
        for (int threads = 1; threads <= 3; ++threads) {
          const WithThreads set(threads);
          const auto prepared = Dnn::instance().prepare(d.c);
          REQUIRE(prepared);
          INFO(f.text() << ", " << prepared->routine() << ", " << threads << " threads");
          CHECK(prepared->pieces() > 1);
          const auto result = run(*prepared, x, filters, d.result);
          if (threads == 1) first = result;
          REQUIRE(std::memcmp(first.data(), result.data(), first.size() * sizeof(float)) == 0);
        }
      }
  }
}

TEST_CASE("several callers may run one prepared convolution at once, and memory is kept", "[onednn]") {
  for (const std::string& library : libraries()) {
    const WithLibrary with(library);
    const Described d = describe({40, 1, 16, 16, {{14, 3, 1, 1, 1, 1}, {14, 3, 1, 1, 1, 1}}, false}, Task::by_filters);
    const auto x = numbers(d.x, 1), filters = numbers(d.filters, 2);
    const auto wanted = expected(d.c, x, filters, d.result);
    const auto prepared = Dnn::instance().prepare(d.c);
    REQUIRE(prepared);
    std::vector<std::vector<float>> results(4);
    std::vector<std::thread> callers;
    for (auto& result : results) callers.emplace_back([&] { result = run(*prepared, x, filters, d.result); });
    for (std::thread& caller : callers) caller.join();
    for (const auto& result : results) CHECK(result == wanted);

    const auto before = croton::base::memory_counters().allocations;
    CHECK(run(*prepared, x, filters, d.result) == wanted);
    CHECK(croton::base::memory_counters().allocations == before);
  }
}

TEST_CASE("memory that cannot be had is an error, and the convolution stays good", "[onednn]") {
  if (libraries().empty()) return;
  const Described d = describe(Forward{3, 1, 5, 7, {{9, 3}, {8, 3}}, false, true, true}, Task::forward);
  std::int64_t failures = 0;
  for (std::int64_t nth = 1;; ++nth) {
    const croton::base::FailAllocation fail(nth);
    const std::string message = message_of([&] { Dnn::instance().prepare(d.c); });
    if (fail.failures() == 0) break;
    ++failures;
    CHECK(!message.empty());
  }
  CHECK(failures > 0);
  check(d, "afterwards");
}

TEST_CASE("NaN and infinity arrive where their windows are, and nowhere else", "[onednn]") {
  for (const std::string& library : libraries()) {
    const WithLibrary with(library);
    const Described d = describe(usual, Task::forward);
    auto x = numbers(d.x, 1);
    x[0] = std::numeric_limits<float>::quiet_NaN();
    const auto filters = std::vector<float>(d.filters, 1.f);
    const auto prepared = Dnn::instance().prepare(d.c);
    REQUIRE(prepared);
    const auto result = run(*prepared, x, filters, d.result), wanted = expected(d.c, x, filters, d.result);
    for (std::size_t i = 0; i < result.size(); ++i) {
      CHECK(std::isnan(result[i]) == std::isnan(wanted[i]));
    }
  }
}

TEST_CASE("which routine of oneDNN a description is", "[dnn]") {
  for (const bool last : {true, false})
    for (const bool flip : {false, true})
      for (const std::int64_t stride : {1, 2}) {
        const Forward f{4, 1, 5, 6, {{9, 3, stride, 1, 1, 1}, {8, 3, stride, 1, 1, 1}}, last, true, flip};
        INFO(f.text());
        for (const Task task : {Task::forward, Task::by_image, Task::by_filters}) {
          const auto problem = dnn::recognise(describe(f, task).c);
          REQUIRE(problem);
          // With a stride of one, reversed filters convert the first two cases into each other.
          if (flip && stride == 1 && task != Task::by_filters) {
            CHECK(problem->task == (task == Task::forward ? Task::by_image : Task::forward));
            CHECK_FALSE(problem->flipped());
            continue;
          }
          CHECK(problem->task == task);
          CHECK(problem->flipped() == flip);
          CHECK(problem->images == 4);
          CHECK(problem->channels == 5);
          CHECK(problem->results == 6);
          for (const dnn::Problem::Axis& axis : {problem->axis[0], problem->axis[1]}) {
            CHECK(axis.stride == stride);
            CHECK(axis.dilation == 1);
            CHECK(axis.before == 1);
            CHECK(axis.taps == 3);
          }
          CHECK(problem->axis[0].in == 9);
          CHECK(problem->axis[0].out == f.axes[0].out());
        }
      }
}

TEST_CASE("the pieces of a problem cover it, and depend on it alone", "[dnn]") {
  const Described d = describe({1, 1, 64, 64, {{61, 3, 2, 1, 1, 1}, {60, 3}}}, Task::by_image);
  const auto problem = dnn::recognise(d.c);
  REQUIRE(problem);
  const auto pieces = dnn::pieces_of(*problem);
  CHECK(pieces.size() > 3);
  std::int64_t rows = 0;
  for (const dnn::Problem& piece : pieces) {
    CHECK(piece.image_at == rows * problem->axis[0].image_step);
    CHECK(piece.axis[0].before >= 0);
    rows += piece.axis[0].in;
  }
  CHECK(rows == 61);
  {
    const WithThreads set(1);
    CHECK(dnn::pieces_of(*problem) == pieces);
  }
}

TEST_CASE("cases without a routine of oneDNN are rejected", "[dnn]") {
  const Convolution good = describe(usual, Task::forward).c;
  CHECK(refusal(good) == "none");
  const auto changed = [&](auto change) {
    Convolution c = good;
    change(c);
    std::string why;
    CHECK(Dnn::instance().prepare(c, &why) == nullptr);
    CHECK(why == refusal(c));
    return why;
  };
  CHECK(changed([](auto& c) { c.dtype = DType::float64; }) == "float64 where float32 is expected");
  CHECK(changed([](auto& c) { c.dtype = DType::int32; }) == "int32 where float32 is expected");
  CHECK(changed([](auto& c) { c.axes = 0; }) == "0 axes where 1 to 3 are expected");
  CHECK(changed([](auto& c) { c.batch = 0; }) == "a size of 0");
  CHECK(changed([](auto& c) { c.channels = -1; }) == "a size of -1");
  CHECK(changed([](auto& c) { c.axis[1].windows = 0; }) == "a size of 0 along axis 1");
  CHECK(changed([](auto& c) { c.axis[0].taps = 0; }) == "a size of 0 along axis 0");
  CHECK(changed([](auto& c) { c.axis[0].size = std::int64_t{1} << 40; }) == "a size of 1099511627776 along axis 0");
  CHECK(changed([](auto& c) { c.axis[0].stride = 0; }) == "a step of 0 along axis 0");
  CHECK(changed([](auto& c) { c.axis[0].spread = 0; }) == "a spread of 0 along axis 0");
  CHECK(changed([](auto& c) { c.axis[0].stride = c.axis[0].dilation = c.axis[0].spread = 2; }) ==
        "strides, dilations and spreads that no routine has");
  CHECK(changed([](auto& c) { c.axis[0].stride = c.axis[0].dilation = -1; }) ==
        "strides, dilations and spreads that no routine has");
  CHECK(changed([](auto& c) { c.axis[0].x_step = -c.axis[0].x_step; }) ==
        "images with steps in memory that are not positive");
  CHECK(changed([](auto& c) { c.result_batch_step = 0; }) == "results with steps in memory that are not positive");
  CHECK(changed([](auto& c) { c.axis[0].before = 3; }) == "windows inside the border along axis 0");
  CHECK(changed([](auto& c) { c.axis[1].windows += 2; }) == "windows inside the border along axis 1");
  CHECK(changed([](auto& c) {
          c.axis[0].size = c.axis[1].size = 1 << 20;
          c.axis[0].windows = c.axis[1].windows = 1 << 20;
        }) == "an image or filters of too many elements");
  Convolution by_image = describe({2, 1, 2, 2, {{9, 3, 2}}}, Task::by_image).c;
  CHECK(refusal(by_image) == "none");
  by_image.axis[0].windows = 12;
  CHECK(refusal(by_image) == "elements that no window reaches along axis 0");
}

TEST_CASE("the gradient by filters of a gradient by images", "[onednn]") {
  // x is the operand of the gradient with respect to images, the filters are its result, and the result is its filters.
  const Forward f{3, 2, 4, 6, {{9, 3, 2, 1, 1, 1}, {11, 3, 2, 2, 1, 1}}};
  for (const std::string& library : libraries()) {
    const WithLibrary with(library);
    for (const bool last : {true, false})
      for (const bool flip : {false, true}) {
        Forward g = f;
        g.last = last;
        g.flip = flip;
        const Described by_image = describe(g, Task::by_image);
        const Convolution& c = by_image.c;
        Described d{c, by_image.x, by_image.result, by_image.filters};
        d.c.batch = c.channels, d.c.channels = c.batch;
        d.c.x_batch_step = c.x_channel_step, d.c.x_channel_step = c.x_batch_step;
        d.c.filter_group_step = c.result_group_step, d.c.filter_result_step = c.result_result_step;
        d.c.filter_channel_step = c.result_batch_step;
        d.c.result_batch_step = c.filter_channel_step, d.c.result_group_step = c.filter_group_step;
        d.c.result_result_step = c.filter_result_step;
        for (std::size_t j = 0; j < 2; ++j) {
          Convolution::Axis& a = d.c.axis[j];
          std::swap(a.stride, a.dilation);
          std::swap(a.windows, a.taps);
          std::swap(a.result_step, a.filter_step);
        }
        const auto problem = dnn::recognise(d.c);
        REQUIRE(problem);
        CHECK(problem->swapped);
        check(d, g.text());
      }
  }
}

TEST_CASE("the library works on the calling thread alone, and OpenMP is left as it was", "[onednn]") {
  for (const std::string& library : libraries()) {
    const WithLibrary with(library);
    if (!Dnn::available()) continue;
    void* openmp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(openmp);
    const auto set = reinterpret_cast<void (*)(int)>(dlsym(openmp, "omp_set_num_threads"));
    const auto get = reinterpret_cast<int (*)()>(dlsym(openmp, "omp_get_max_threads"));
    set(3);
    const auto threads = [] {
      const fs::directory_iterator tasks("/proc/self/task");
      return std::distance(begin(tasks), end(tasks));
    };
    const auto before = threads();
    {
      const WithThreads one(1);
      check(describe({40, 1, 16, 16, {{14, 3, 1, 1, 1, 1}, {14, 3, 1, 1, 1, 1}}, false}, Task::by_filters), "alone");
    }
    CHECK(threads() == before);
    CHECK(get() == 3);
    set(static_cast<int>(std::thread::hardware_concurrency()));
    dlclose(openmp);
  }
}

TEST_CASE("windows that begin inside the image, or leave some of it", "[onednn]") {
  for (const std::string& library : libraries()) {
    const WithLibrary with(library);
    for (const Task task : {Task::forward, Task::by_filters}) {
      Described d = describe(usual, task);
      d.c.axis[0].before = -2;
      d.c.axis[0].size -= 1;
      (task == Task::forward ? d.c.axis[0].windows : d.c.axis[0].taps) = 3;
      check(d, name_of(task));
    }
  }
}

TEST_CASE("the library of convolutions can be chosen, and what is missing is named", "[dnn]") {
  const Convolution good = describe(usual, Task::forward).c;
  {
    const WithLibrary none("none");
    std::string why;
    CHECK_FALSE(Dnn::available(&why));
    CHECK(why == "dnn=none was set");
    CHECK(Dnn::instance().name() == "none");
    CHECK(Dnn::instance().prepare(good, &why) == nullptr);
    CHECK(why == "dnn=none was set");
  }
  {
    const WithLibrary wrong("/nowhere/libdnnl.so.3");
    const std::string message = message_of([] { Dnn::available(); });
    CHECK(contains(message, "dnn=/nowhere/libdnnl.so.3: /nowhere/libdnnl.so.3: no such file"));
    CHECK(contains(message, "install libdnnl2 (Debian 12), libdnnl3 (Ubuntu 24.04) or onednn-cpu-gomp (PyPI)"));
    CHECK_THROWS_AS(Dnn::instance(), croton::DeviceError);
  }
  {
    const croton::test::TemporaryFolder folder;
    croton::test::put_file(folder / "text.so", "no library");
    const WithLibrary text((folder / "text.so").string());
    CHECK(contains(message_of([] { Dnn::available(); }), "text.so: "));
  }
  {
    const WithLibrary other(CROTON_FAKE_OPENBLAS);
    CHECK(contains(message_of([] { Dnn::available(); }), "has no dnnl_version, so it is not oneDNN"));
  }
  CHECK_THROWS_AS(Dnn::configure(""), croton::ConfigError);
  std::string why;
  const bool found = Dnn::available(&why);
  CHECK(found == why.empty());
  WARN("oneDNN in use: " << Dnn::instance().name() << (found ? "" : ": " + why));
}

TEST_CASE("builds of oneDNN that cannot be used are refused", "[dnn]") {
  const auto message_with = [](const char* version) {
    setenv("FAKE_DNN_VERSION", version, 1);
    const WithLibrary fake(CROTON_FAKE_DNN);
    const std::string message = message_of([] { Dnn::available(); });
    unsetenv("FAKE_DNN_VERSION");
    return message;
  };
  CHECK(contains(message_with("3 4"), "is built with TBB, which cannot be limited to one thread in a call"));
  CHECK(contains(message_with("3 8"), "is built with a pool of threads"));
  CHECK(contains(message_with("2 512"), "is built with SYCL"));
  CHECK(contains(message_with("1 2"), "is oneDNN 1.0.0; versions 2 and 3 are known"));
  CHECK(contains(message_with("4 2"), "is oneDNN 4.0.0; versions 2 and 3 are known"));
  CHECK(contains(message_with("3 1"), "lacks the function dnnl_engine_create: it is too old or too new"));
}

TEST_CASE("times of usual convolutions", "[.][dnn_times]") {
  for (const std::string& library : libraries()) {
    const WithLibrary with(library);
    const WithThreads set(1);
    const std::vector<Forward> cases{{64, 1, 32, 64, {{26, 3}, {26, 3}}},
                                     {32, 1, 3, 64, {{112, 7, 2, 1, 3, 3}, {112, 7, 2, 1, 3, 3}}},
                                     {64, 1, 32, 64, {{26, 3}, {26, 3}}, false, false},
                                     {1, 1, 32, 64, {{26, 3}, {26, 3}}}};
    for (const Forward& f : cases)
      for (const Task task : {Task::forward, Task::by_image, Task::by_filters}) {
        const Described d = describe(f, task);
        const auto x = fractions(d.x, 0.3f), filters = fractions(d.filters, 0.7f);
        const auto begin_prepare = std::chrono::steady_clock::now();
        const auto prepared = Dnn::instance().prepare(d.c);
        const std::chrono::duration<double> prepare = std::chrono::steady_clock::now() - begin_prepare;
        REQUIRE(prepared);
        std::vector<float> result(d.result);
        double best = 1e9;
        for (int i = 0; i < 15; ++i) {
          const auto begin = std::chrono::steady_clock::now();
          prepared->run({x.data(), filters.data(), result.data()});
          best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        }
        double work = 2.0 * static_cast<double>(f.images * f.channels * f.results);
        for (const Axis& a : f.axes) work *= static_cast<double>(a.out() * a.taps);
        std::printf("%s | %s | %s | %zu pieces | prepared in %.1f ms | %.2f ms, %.1f GFLOP/s\n",
                    Dnn::instance().name().c_str(), f.text().c_str(), prepared->routine().c_str(), prepared->pieces(),
                    prepare.count() * 1e3, best * 1e3, work / best / 1e9);
      }
  }
}
