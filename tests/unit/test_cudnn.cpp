// Convolutions by cuDNN, on a fake library and fake GPUs: its calls, and the exceptions for its errors. If the real
// library is installed, its entry points are checked.
#include "runtime/cuda/libraries/dnn.hpp"

#include <croton/error.hpp>

#include <map>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "contains.hpp"
#include "convolutions.hpp"
#include "fake_cuda.hpp"
#include "machines.hpp"
#include "runtime/cuda/driver/transfer.hpp"
#include "runtime/cuda/libraries/dnn_form.hpp"
#include "temporary_folder.hpp"

using namespace croton;
using namespace croton::runtime::cuda;
using croton::runtime::Convolution;
using croton::runtime::ConvolutionArrays;
using croton::test::elements;
using croton::test::error_of;
using croton::test::FakeCuda;
using croton::test::FakeGpus;
using croton::test::gradient_by_filters;
using croton::test::gradient_by_x;
using croton::test::lay;
using croton::test::Part;
using croton::test::user_line;

namespace {

constexpr int execution_failed = 5000;

template <class T>
std::vector<T> numbers(std::size_t n, int seed) {
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<T>(static_cast<int>(i * 7 + i / 5) % 11 + seed - 5);
  return values;
}

/// The same values for all: arrays on the host, and the results by definition.
template <class T>
struct Data {
  explicit Data(const Convolution& c)
      : x(numbers<T>(elements(c, Part::x), 1)),
        filters(numbers<T>(elements(c, Part::filters), 2)),
        before(numbers<T>(elements(c, Part::result), 3)),
        expected(before) {
    croton::test::convolve_by_definition(c, x.data(), filters.data(), expected.data());
  }
  std::vector<T> x, filters, before, expected;
};

/// cuDNN with a separate device.
struct Library {
  std::shared_ptr<Context> context = Context::open(0, user_line);
  Stream stream{context, user_line};
  Dnn dnn{stream, user_line};

  template <class T>
  std::vector<T> result_of(const Convolution& c) {
    const Data<T> data(c);
    const auto here = [&](const std::vector<T>& values) {
      Buffer buffer(stream, values.size() * sizeof(T), user_line);
      copy_in(stream, buffer.data(), std::as_bytes(std::span(values)), user_line);
      return buffer;
    };
    const Buffer x = here(data.x), filters = here(data.filters), result = here(data.before);
    const Buffer workspace(stream, dnn.workspace_bytes(c, user_line), user_line);
    if (workspace.size() > 0) fill(stream, workspace.data(), 0xee, workspace.size(), user_line);
    dnn.convolve(stream, c, {x.data(), filters.data(), result.data()}, {workspace.data(), workspace.size()}, user_line);
    std::vector<T> got(data.before.size());
    copy_out(stream, std::as_writable_bytes(std::span(got)), result.data(), user_line);
    return got;
  }
  template <class T>
  void check_as(Convolution c) {
    c.dtype = sizeof(T) == 8 ? DType::float64 : DType::float32;
    CHECK(result_of<T>(c) == Data<T>(c).expected);
  }
  void check(const Convolution& c) {
    REQUIRE(Dnn::describes(c));
    check_as<float>(c);
    check_as<double>(c);
  }
};

/// A convolution of small numbers with as many windows as fit, with `before` zeros before and `after` zeros after.
Convolution make(std::size_t axes, std::int64_t size, std::int64_t taps, std::int64_t stride, std::int64_t dilation,
                 std::int64_t before, std::int64_t after, std::int64_t groups = 1) {
  Convolution c;
  c.batch = 2, c.groups = groups, c.channels = 3, c.results = 2, c.axes = axes;
  for (Convolution::Axis& axis : c.used_axes()) {
    axis.size = size++;
    axis.taps = taps;
    axis.stride = stride;
    axis.dilation = dilation;
    axis.before = before;
    axis.windows = (axis.size + before + after - dilation * (taps - 1) - 1) / stride + 1;
  }
  lay(c, Part::x, "bgc012");
  lay(c, Part::filters, "goc012");
  lay(c, Part::result, "bgo012");
  return c;
}

/// Taps in reverse order.
Convolution flipped(Convolution c) {
  for (Convolution::Axis& axis : c.axis) {
    axis.before -= axis.dilation * (axis.taps - 1);
    axis.dilation = -axis.dilation;
  }
  return c;
}

/// The routine that is chosen first, and the arrays that it copies.
dnn::Form form_of(const Convolution& c) {
  const auto forms = dnn::forms_of(c);
  REQUIRE_FALSE(forms.empty());
  return forms.front();
}
int copies(const Convolution& c) {
  const dnn::Form form = form_of(c);
  return int{form.image.copied} + int{form.filter.copied} + int{form.output.copied};
}

}  // namespace

TEST_CASE("convolutions and their gradients, of all kinds", "[dnn]") {
  const std::size_t axes = GENERATE(1, 2, 3);
  const auto [stride, dilation] = GENERATE(std::pair(1, 1), std::pair(2, 1), std::pair(1, 2), std::pair(3, 2));
  const auto [before, after] = GENERATE(std::pair(0, 0), std::pair(1, 1), std::pair(0, 1), std::pair(2, 0));
  const int groups = GENERATE(1, 3);
  CAPTURE(axes, stride, dilation, before, after, groups);
  FakeCuda fake;
  fake.set("delay", before);  // for some of them
  {
    Library library;
    Convolution c = make(axes, 6 - axes, 2, stride, dilation, before, after, groups);
    for (const char* x : {"bgc012", "b012gc"}) {
      lay(c, Part::x, x);
      lay(c, Part::result, x[1] == 'g' ? "bgo012" : "b012go");
      for (const char* filters : {"goc012", "go012c", "012cgo"}) {
        lay(c, Part::filters, filters);
        CAPTURE(x, filters);
        CHECK(form_of(c).routine == dnn::Routine::forward);
        library.check(c);
        const Convolution by_x = gradient_by_x(c), by_filters = gradient_by_filters(c);
        CHECK(form_of(by_x).routine == dnn::Routine::backward_data);
        library.check(by_x);
        CHECK(form_of(by_filters).routine == dnn::Routine::backward_filter);
        library.check(by_filters);
        // Taps in reverse, and its gradients.
        const Convolution back = flipped(c);
        library.check(back);
        library.check(gradient_by_x(back));
        library.check(gradient_by_filters(back));
        // Every gradient is a transposed convolution; and its gradients again.
        library.check(gradient_by_x(by_x));
        const Convolution by_kernel = gradient_by_filters(by_x);
        // The results of groups have the positions that the library has for channels of groups.
        if (groups > 1 && !Dnn::describes(by_kernel)) continue;
        CHECK(form_of(by_kernel).routine == dnn::Routine::backward_filter);
        library.check(by_kernel);
      }
    }
  }
  CHECK(fake.leaks() == "");
  CHECK(fake.faults() == "");
}

TEST_CASE("convolutions with any numbers are right or refused", "[dnn]") {
  FakeCuda fake;
  std::mt19937 random(GENERATE(1, 2, 3));
  const auto any = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  const auto shuffled = [&](std::string letters) {
    std::ranges::shuffle(letters, random);
    return letters;
  };
  std::map<dnn::Routine, int> taken;
  int padded = 0, whole = 0, refused = 0;
  {
    Library library;
    for (int i = 0; i < 8000; ++i) {
      Convolution c;
      c.batch = any(1, 3), c.groups = any(1, 2), c.channels = any(1, 3), c.results = any(1, 3);
      c.axes = static_cast<std::size_t>(any(1, 3));
      const std::int64_t sizes = c.axes == 3 ? 4 : 6;
      for (Convolution::Axis& axis : c.used_axes()) {
        const auto signed_number = [&] { return any(0, 3) == 0 ? -any(1, 2) : any(1, 2); };
        axis = {.size = any(1, sizes),
                .windows = any(1, sizes),
                .taps = any(1, 3),
                .stride = signed_number(),
                .dilation = signed_number(),
                .spread = any(0, 2) == 0 ? 2 : 1,
                .before = any(-2, 4)};
      }
      const bool strange = any(0, 2) == 0;
      lay(c, Part::x, strange ? shuffled("bgc012") : "bgc012", any(0, 9) == 0 ? 1 : 0);
      lay(c, Part::filters, strange ? shuffled("goc012") : "goc012");
      lay(c, Part::result, strange ? shuffled("bgo012") : "bgo012", any(0, 9) == 0 ? 1 : 0);
      const auto forms = dnn::forms_of(c);
      if (forms.empty()) {
        ++refused;
        CHECK_THROWS_AS(library.dnn.workspace_bytes(c), InternalError);
        continue;
      }
      const dnn::Form& form = forms.front();
      ++taken[form.routine];
      (form.image.padded ? padded : whole) += 1;
      c.dtype = DType::float32;
      const std::vector<float> got = library.result_of<float>(c);
      if (got != Data<float>(c).expected) {
        CAPTURE(i, form.routine, form.image.padded, form.flipped, form.channels_last);
        FAIL("a wrong result");
      }
    }
  }
  CHECK(taken[dnn::Routine::forward] > 100);
  CHECK(taken[dnn::Routine::backward_data] > 100);
  CHECK(taken[dnn::Routine::backward_filter] > 100);
  CHECK(padded > 100);
  CHECK(whole > 100);
  CHECK(refused > 100);
  CHECK(fake.leaks() == "");
  CHECK(fake.faults() == "");
}

TEST_CASE("arrays are passed without a copy where the library takes their layout", "[dnn]") {
  Convolution c = make(2, 6, 3, 1, 1, 1, 1);
  CHECK(copies(c) == 0);
  CHECK_FALSE(form_of(c).channels_last);
  Convolution last = c;
  lay(last, Part::x, "b012gc");
  lay(last, Part::filters, "go012c");
  lay(last, Part::result, "b012go");
  CHECK(copies(last) == 0);
  CHECK(form_of(last).channels_last);
  CHECK(dnn::forms_of(last).size() == 4);  // the other order of axes, and with taps in reverse
  last.dtype = DType::float64;
  CHECK_FALSE(form_of(last).channels_last);  // the library does not support it
  CHECK(copies(last) == 3);
  last.dtype = DType::float32;
  lay(last, Part::filters, "012cgo");  // in Keras's order
  CHECK(copies(last) == 1);
  CHECK(form_of(last).filter.copied);
  // Images with a part of the channels.
  Convolution part = c;
  part.x_batch_step += 72;
  CHECK(copies(part) == 0);
  part.axis[0].x_step += 1;
  CHECK(copies(part) == 1);
  // Gradients copy the arrays that the layout of the forward convolution requires.
  CHECK(copies(gradient_by_x(c)) == 0);
  CHECK(copies(gradient_by_filters(c, "ogb012")) == 0);
  CHECK(copies(gradient_by_filters(c)) == 1);
  CHECK(form_of(gradient_by_filters(c)).filter.copied);
  // Zeros only on one side.
  const Convolution uneven = make(2, 6, 2, 1, 1, 1, 0);
  CHECK(copies(uneven) == 1);
  CHECK(form_of(uneven).image.padded);
  CHECK(form_of(gradient_by_x(uneven)).image.padded);
  CHECK(form_of(gradient_by_filters(uneven)).image.padded);
  // ... which a stride skips.
  CHECK(copies(make(1, 6, 3, 2, 1, 1, 0)) == 0);
  // One axis is computed as a row of two.
  const dnn::Form row = form_of(make(1, 6, 3, 2, 1, 1, 1));
  CHECK(row.dims == 4);
  CHECK(row.image.sizes == dnn::Numbers{2, 3, 1, 6, 0});
  CHECK(row.pads == dnn::Numbers{0, 1, 0, 0, 0});
  CHECK(row.strides == dnn::Numbers{1, 2, 0, 0, 0});
  // A filter as large as the image is a filter; the gradient with respect to a filter has such a size.
  const Convolution dense = make(2, 4, 4, 1, 1, 0, 0);
  CHECK(form_of(dense).routine == dnn::Routine::forward);
  CHECK(form_of(gradient_by_filters(dense)).routine == dnn::Routine::backward_filter);
}

TEST_CASE("convolutions that the library does not have are refused", "[dnn]") {
  const Convolution good = make(2, 6, 3, 1, 1, 1, 1, 2);
  CHECK(Dnn::describes(good));
  for (const auto& spoil : std::vector<void (*)(Convolution&)>{
           [](Convolution& c) { c.dtype = DType::float16; },
           [](Convolution& c) { c.dtype = DType::int32; },
           [](Convolution& c) { c.batch = 0; },
           [](Convolution& c) { c.channels = 0; },
           [](Convolution& c) { c.results = 0; },
           [](Convolution& c) { c.groups = 0; },
           [](Convolution& c) { c.axes = 4; },
           [](Convolution& c) { c.axis[0].taps = 0; },
           [](Convolution& c) { c.axis[1].size = 0; },
           [](Convolution& c) { c.axis[1].windows = 0; },
           [](Convolution& c) { c.x_batch_step = 0; },
           [](Convolution& c) { c.axis[0].x_step = -c.axis[0].x_step; },
           [](Convolution& c) { c.filter_group_step += 1; },  // groups that are not contiguous
           [](Convolution& c) { c.axis[0].spread = 2, c.axis[0].stride = 3; },
           [](Convolution& c) { c.axis[0].before = 100; },                         // nothing is read
           [](Convolution& c) { c.axis[0].dilation = -1, c.axis[1].stride = 2; },  // reverse along one of them
           [](Convolution& c) { c.batch = std::int64_t{1} << 31; },
           [](Convolution& c) { c.batch = 1 << 28; },  // more elements than 32 bits count
           [](Convolution& c) { c.x_batch_step = std::int64_t{1} << 32; },
       }) {
    Convolution c = good;
    spoil(c);
    CHECK_FALSE(Dnn::describes(c));
  }
}

TEST_CASE("an algorithm is chosen once, and only one that repeats its results", "[dnn]") {
  FakeCuda fake;
  Library library;
  CHECK(library.dnn.name() == "cuDNN 9.19.0");
  const Convolution c = make(2, 6, 3, 1, 1, 1, 1);
  const char* const suggest = "cudnnGetConvolutionForwardAlgorithm_v7";
  CHECK(library.dnn.workspace_bytes(c) == 4096);
  CHECK(library.dnn.workspace_bytes(c) == 4096);
  CHECK(fake.calls(suggest) == 1);
  CHECK(fake.calls("cudnnSetStream") == 1);
  const Buffer memory(library.stream, 8192);
  fill(library.stream, memory.data(), 0, 8192);
  const std::span<std::byte> workspace(memory.data(), 4096);
  const ConvolutionArrays arrays{memory.data() + 4096, memory.data() + 5120, memory.data() + 6144};
  const long long allocations = fake.calls("cuMemAllocFromPoolAsync");
  for (int i = 0; i < 3; ++i) library.dnn.convolve(library.stream, c, arrays, workspace);
  CHECK(fake.calls(suggest) == 1);
  CHECK(fake.calls("cuMemAllocFromPoolAsync") == allocations);
  CHECK(fake.calls("cudnnSetStream") == 1);
  CHECK(fake.calls("cudnnTransformTensor") == 0);
  CHECK_THROWS_AS(library.dnn.convolve(library.stream, c, arrays, workspace.first(4095)), InternalError);
  const Stream elsewhere(Context::open(1));
  CHECK_THROWS_AS(library.dnn.convolve(elsewhere, c, arrays, workspace), InternalError);

  Convolution last = c;
  lay(last, Part::x, "b012gc");
  lay(last, Part::filters, "go012c");
  lay(last, Part::result, "b012go");
  const std::size_t whole = library.dnn.workspace_bytes(last);
  CHECK(whole == 4096);
  fake.set("no_channels_last", 1);
  last.batch = 3;
  CHECK(library.dnn.workspace_bytes(last) > 4096);  // all three are copied
  library.check(last);

  fake.set("random_order_only", 1);
  const Convolution other = make(2, 7, 3, 1, 1, 1, 1);
  CHECK_THAT(
      error_of<DeviceError>([&] { library.dnn.workspace_bytes(other, user_line); }),
      contains("cuDNN 9.19.0 (train.py:7) has no algorithm for the float32 convolution of [2, 1, 3, 7, 8] (images, "
               "groups, channels, sizes) and [1, 2, 3, 3, 3] (groups, results, channels, sizes) on cuda0 (Fake "
               "GPU): cudnnGetConvolutionForwardAlgorithm_v7 has no deterministic algorithm within 256 MiB among 5"));
  CHECK(fake.faults() == "");
}

TEST_CASE("every call of cuDNN made to fail in turn", "[dnn]") {
  FakeCuda fake;
  const auto [code, type] =
      GENERATE(std::pair(execution_failed, 0), std::pair(4003, 1), std::pair(4004, 1), std::pair(4000, 0));
  // All routines, with copies of inputs and outputs, in groups.
  const auto convolutions = [] {
    Library library;
    const Convolution c = make(2, 5, 2, 1, 1, 1, 0, 2);
    for (const Convolution& one : {c, gradient_by_x(c), gradient_by_filters(c)}) library.result_of<float>(one);
    const Stream captured(library.context, user_line);
    const Buffer memory(library.stream, 1 << 16, user_line);
    library.stream.synchronize(user_line);
    library.dnn.convolve(captured, c, {memory.data(), memory.data() + 4096, memory.data() + 8192},
                         {memory.data() + 16384, 1 << 15}, user_line);
    captured.synchronize(user_line);
  };
  convolutions();
  std::set<std::string> table, exported;
#define CROTON_CUDNN_ENTRY(name, result, ...) table.insert("cudnn" #name);
#include "runtime/cuda/libraries/dnn_entries.def"
#undef CROTON_CUDNN_ENTRY
  for (const std::string& entry : table) {
    if (entry == "cudnnGetVersion" || entry == "cudnnGetErrorString") continue;  // these cannot fail
    const long long before = fake.calls(entry);
    convolutions();
    const long long calls = fake.calls(entry) - before;
    CHECK(calls > 0);
    for (long long nth = 1; nth <= calls; ++nth) {
      CAPTURE(entry, nth, calls, code);
      fake.fail(entry, nth, code);
      // Calls that only release; and the return to the home stream, after which the next call looks again.
      if (entry.find("Destroy") != entry.npos || (entry == "cudnnSetStream" && nth == calls)) {
        convolutions();
        fake.reset();
        continue;
      }
      const std::string message = type == 1 ? error_of<OutOfMemory>(convolutions) : error_of<DeviceError>(convolutions);
      CHECK_THAT(message, contains(entry + " (train.py:7) failed on cuda0 (Fake GPU)") &&
                              contains("(error " + std::to_string(code) + ")") && contains("CUDNN_STATUS_") &&
                              contains("the library is cuDNN 9.19.0 at "));
      CHECK(fake.leaks() == "");
      CHECK(fake.faults() == "");
    }
    CHECK(fake.failures(entry) > 0);
  }
  std::istringstream lines(fake.entries());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("cudnn")) exported.insert(line);
  }
  CHECK(exported == table);
}

TEST_CASE("the library is back in its own stream after another one, also where that failed once", "[dnn]") {
  FakeCuda fake;
  {
    Library library;
    const Convolution c = make(2, 5, 3, 1, 1, 1, 1);
    library.check(c);
    const Buffer memory(library.stream, 8192);
    fill(library.stream, memory.data(), 0, 8192);
    library.stream.synchronize();
    const ConvolutionArrays arrays{memory.data() + 4096, memory.data() + 5120, memory.data() + 6144};
    for (const bool fails : {false, true}) {
      {
        const Stream other(library.context);
        if (fails) fake.fail("cudnnSetStream", 2, execution_failed);
        library.dnn.convolve(other, c, arrays, {memory.data(), 4096});
        other.synchronize();
      }
      library.check(c);
    }
  }
  CHECK(fake.leaks() == "");
  CHECK(fake.faults() == "");
}

TEST_CASE("a convolution that meets a lost device says so", "[dnn]") {
  FakeCuda fake;
  Library library;
  const Convolution c = make(2, 5, 3, 1, 1, 1, 1);
  fake.fail("cudnnConvolutionForward", 1, execution_failed);
  CHECK_THAT(error_of<DeviceError>([&] { library.result_of<float>(c); }), contains("CUDNN_STATUS_EXECUTION_FAILED"));
  CHECK_FALSE(library.context->lost());
  library.check(c);
  fake.fail("cudnnConvolutionForward", 1, execution_failed);
  fake.fail("cuCtxSynchronize", 1, result::illegal_address);
  CHECK_THAT(error_of<DeviceError>([&] { library.result_of<float>(c); }),
             contains("cudnnConvolutionForward (train.py:7) failed on cuda0 (Fake GPU): CUDA_ERROR_ILLEGAL_ADDRESS"));
  CHECK(library.context->lost());
  CHECK_THAT(error_of<DeviceError>([&] { library.dnn.workspace_bytes(make(1, 5, 3, 1, 1, 1, 1), user_line); }),
             contains("(train.py:7): cuda0 (Fake GPU) cannot be used any more"));
}

TEST_CASE("a cuDNN that is missing is explained", "[dnn]") {
  FakeCuda fake;
  test::TemporaryFolder folder;
  set_cuda_root(folder.path().string());
  std::string why;
  CHECK_FALSE(Dnn::available(&why));
  CHECK_THAT(why, contains("cuDNN (convolutions on NVIDIA GPUs) was not found. Tried:") && contains("libcudnn.so.9") &&
                      contains("pip install nvidia-cudnn-cu13"));
  const Stream stream(Context::open(0));
  CHECK_THROWS_AS(Dnn(stream), DeviceError);
  set_cuda_root("none");
  CHECK_FALSE(Dnn::available(&why));
  CHECK_THAT(why, contains("hidden by cuda_root=none"));
}

TEST_CASE("the installed cuDNN has every entry point", "[dnn]") {
  std::string why;
  if (!Dnn::available(&why)) {
    CHECK_THAT(why, contains("cuDNN"));
    WARN("cuDNN is not installed: its entry points are not looked at");
    return;
  }
  CHECK_THAT(Dnn::installed(), Catch::Matchers::StartsWith("9.") && contains("libcudnn"));
}

// ---- on a device ----

namespace {

/// Arrays of a convolution on a device, with the values of Data.
struct Placed {
  Placed(runtime::Device& device, const Convolution& c) : device_(device), data_(c) {
    x_ = place(data_.x), filters_ = place(data_.filters), result_ = place(data_.before);
  }
  ConvolutionArrays arrays() const { return {x_.get(), filters_.get(), result_.get()}; }
  void forget() { device_.copy_in(result_.get(), data_.before.data(), data_.before.size() * sizeof(float)); }
  bool is_right() const { return result() == data_.expected; }
  bool is_untouched() const { return result() == data_.before; }

 private:
  std::shared_ptr<void> place(const std::vector<float>& values) {
    auto memory = device_.allocate(values.size() * sizeof(float));
    device_.copy_in(memory.get(), values.data(), values.size() * sizeof(float));
    return memory;
  }
  std::vector<float> result() const {
    std::vector<float> values(data_.before.size());
    device_.copy_out(values.data(), result_.get(), values.size() * sizeof(float));
    return values;
  }

  runtime::Device& device_;
  Data<float> data_;
  std::shared_ptr<void> x_, filters_, result_;
};

}  // namespace

TEST_CASE("a GPU has convolutions, which share their workspace with products", "[dnn]") {
  const bool delayed = GENERATE(false, true);
  FakeGpus gpus({{"delay", delayed ? 1 : 0}});
  {
    runtime::Device& gpu = test::device_called("cuda0");
    const Convolution even = make(2, 5, 3, 1, 1, 1, 1), uneven = make(2, 6, 2, 1, 1, 1, 0);
    Placed first(gpu, even), second(gpu, uneven);
    const auto even_ready = gpu.prepare(even), uneven_ready = gpu.prepare(uneven);
    REQUIRE(even_ready != nullptr);
    REQUIRE(uneven_ready != nullptr);
    CHECK(gpu.prepare(runtime::MatrixProduct{.m = 2, .n = 2, .k = 2, .lda = 2, .ldb = 2, .ldc = 2}));
    const long long allocations = gpus.cuda().calls("cuMemAllocFromPoolAsync");
    even_ready->run(first.arrays());
    uneven_ready->run(second.arrays());
    CHECK(first.is_right());
    CHECK(second.is_right());
    CHECK(gpus.cuda().calls("cuMemAllocFromPoolAsync") == allocations);
    // A failing call is named, and the device is unchanged.
    first.forget();
    gpus.cuda().fail("cudnnConvolutionForward", 1, execution_failed);
    CHECK_THAT(error_of<DeviceError>([&] { even_ready->run(first.arrays()); }),
               contains("cudnnConvolutionForward failed on cuda0 (Fake GPU)"));
    CHECK(first.is_untouched());
    even_ready->run(first.arrays());
    CHECK(first.is_right());
  }
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("convolutions are captured and replayed with the workspace that they had", "[dnn]") {
  const bool delayed = GENERATE(false, true);
  FakeGpus gpus({{"delay", delayed ? 1 : 0}});
  {
    runtime::Device& gpu = test::device_called("cuda0");
    const Convolution c = make(2, 6, 2, 1, 1, 1, 0), larger = make(2, 30, 2, 1, 1, 1, 0);
    Placed placed(gpu, c);
    const auto ready = gpu.prepare(c);
    REQUIRE(ready != nullptr);
    const long long allocations = gpus.cuda().calls("cuMemAllocFromPoolAsync");
    auto recording = gpu.record([&] { ready->run(placed.arrays()); });
    REQUIRE(recording);
    CHECK(placed.is_untouched());
    CHECK(gpus.cuda().calls("cuMemAllocFromPoolAsync") == allocations);
    CHECK(gpu.prepare(larger) != nullptr);  // another workspace
    for (int i = 0; i < 2; ++i) {
      placed.forget();
      CHECK(recording->replay());
      CHECK(placed.is_right());
    }
    placed.forget();
    ready->run(placed.arrays());  // not in the stream that has ended
    CHECK(placed.is_right());
    gpus.cuda().fail("cudnnTransformTensor", 1, execution_failed);
    CHECK_FALSE(gpu.record([&] { ready->run(placed.arrays()); }));
    placed.forget();
    ready->run(placed.arrays());
    CHECK(placed.is_right());
    recording.reset();
  }
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("a GPU without a way says so before anything runs", "[dnn]") {
  const Convolution c = make(2, 5, 3, 1, 1, 1, 1);
  {
    FakeGpus gpus({{"random_order_only", 1}}, ",warn=false");
    CHECK(test::device_called("cuda0").prepare(c) == nullptr);
    Convolution none = c;
    none.batch = 0;
    const long long asked = gpus.cuda().calls("cudnnCreate");
    CHECK(test::device_called("cuda1").prepare(none) == nullptr);  // the library is not called
    CHECK(gpus.cuda().calls("cudnnCreate") == asked);
    CHECK(gpus.cuda().faults() == "");
  }
  {
    FakeGpus gpus({}, ",warn=false");
    runtime::Device& gpu = test::device_called("cuda0");
    gpus.cuda().fail("cudnnCreate", 1, execution_failed);
    CHECK(gpu.prepare(c) == nullptr);
    gpus.cuda().fail("cudnnCreate", 1, 4004);
    CHECK_THROWS_AS(gpu.prepare(c), OutOfMemory);
    gpus.cuda().fail("cuMemAllocFromPoolAsync", 1, result::out_of_memory, 2);
    CHECK_THROWS_AS(gpu.prepare(c), OutOfMemory);
    Placed placed(gpu, c);
    const auto ready = gpu.prepare(c);
    REQUIRE(ready != nullptr);
    ready->run(placed.arrays());
    CHECK(placed.is_right());
    CHECK(gpus.cuda().faults() == "");
  }
  const test::Machine machine(test::Machine::Kind::simulated);
  CHECK(test::device_called(machine.first).prepare(c) == nullptr);
}
