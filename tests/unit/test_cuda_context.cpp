// cuda::Context, Stream, Event, Buffer, Module and Kernel on the fake driver: calls of the driver API, their order, and
// messages for missing parts.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <croton/error.hpp>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "contains.hpp"
#include "fake_cuda.hpp"
#include "runtime/cuda/driver/context.hpp"
#include "runtime/cuda/driver/staging.hpp"
#include "runtime/cuda/driver/stream.hpp"
#include "runtime/cuda/driver/transfer.hpp"
#include "runtime/cuda/module.hpp"
#include "runtime/cuda/target.hpp"
#include "temporary_folder.hpp"

using namespace croton;
using namespace croton::runtime::cuda;
using croton::test::error_of;
using croton::test::fake_cubin;
using croton::test::FakeCuda;
using croton::test::user_line;

namespace {

std::vector<float> counted(std::size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

std::span<const std::byte> bytes_of(const std::vector<float>& values) { return std::as_bytes(std::span(values)); }

std::vector<float> read(const Stream& stream, const void* from, std::size_t n) {
  std::vector<float> values(n, -1);
  copy_out(stream, std::as_writable_bytes(std::span(values)), from, user_line);
  return values;
}

std::uint64_t word(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

std::vector<std::byte> text_bytes(std::string_view text) { return test::bytes_of(text); }

}  // namespace

// ---- the library ----

TEST_CASE("a driver that is missing is explained", "[cuda]") {
  FakeCuda fake;
  test::TemporaryFolder folder;
  set_driver_library((folder / "libcuda.so.1").string());
  std::string why;
  CHECK_FALSE(Driver::found());
  CHECK_FALSE(Driver::available(&why));
  CHECK_THAT(why, contains("the CUDA driver (libcuda) was not found. Tried:\n  " + (folder / "libcuda.so.1").string() +
                           ": no such file"));
  CHECK_THAT(why, contains("It is part of: NVIDIA's driver, version 525 or newer"));
  CHECK_THROWS_AS(Driver::instance(), DeviceError);
  CHECK_THROWS_AS(Context::open(0), DeviceError);
}

TEST_CASE("cuda_root=none hides the driver", "[cuda]") {
  FakeCuda fake;
  set_cuda_root("none");
  std::string why;
  CHECK_FALSE(Driver::found());
  CHECK_FALSE(Driver::available(&why));
  CHECK_THAT(why, contains("hidden by cuda_root=none"));
}

TEST_CASE("a driver that is too old says what is installed, what is needed and where it is", "[cuda]") {
  FakeCuda fake;
  fake.restart();
  fake.set("version", 11040);
  std::string why;
  CHECK(Driver::found());
  CHECK_FALSE(Driver::available(&why));
  CHECK_THAT(why,
             contains("is too old: it supports CUDA 11.4, and 12.0 is needed. Install NVIDIA's driver, version 525"));
  fake.set("version", 12000);
  CHECK(Driver::available(&why));  // tried again
  CHECK(Driver::instance().version() == std::pair(12, 0));
}

TEST_CASE("a driver that lacks an entry point is named with it", "[cuda]") {
  FakeCuda fake;
  // The C library has none of its entry points.
  test::TemporaryFolder folder;
  std::filesystem::copy_file(
      runtime::SharedLibrary({"the C library's mathematics", {"libm.so.6"}, {}, true, "libc6"}).path(),
      folder / "libcuda.so.1");
  set_driver_library((folder / "libcuda.so.1").string());
  std::string why;
  CHECK_FALSE(Driver::available(&why));
  CHECK_THAT(why, contains("lacks the function cuDriverGetVersion"));
}

TEST_CASE("a driver that does not start says why, and is tried again", "[cuda]") {
  FakeCuda fake;
  fake.restart();
  fake.fail("cuInit", 1, 803);
  std::string why;
  CHECK_FALSE(Driver::available(&why));
  CHECK_THAT(why, contains("cuInit failed: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (") && contains("restart the machine"));
  CHECK(Driver::available(&why));
}

TEST_CASE("a machine without a GPU", "[cuda]") {
  FakeCuda fake;
  fake.restart();
  fake.set("devices", 0);
  CHECK(Driver::available());
  CHECK(Driver::instance().device_count() == 0);
  CHECK_THAT(error_of<DeviceError>([] { Context::open(0); }),
             contains("cuda0: there is no such device; the driver finds none: CUDA_ERROR_NO_DEVICE") &&
                 contains("CUDA_VISIBLE_DEVICES"));
}

TEST_CASE("a device that there is not", "[cuda]") {
  FakeCuda fake;
  CHECK_THAT(error_of<DeviceError>([] { Context::open(2); }),
             contains("cuda2: there is no such device; this machine has: cuda0, cuda1"));
  CHECK_THROWS_AS(Context::get(-1), DeviceError);
}

TEST_CASE("a device without stream-ordered memory is refused", "[cuda]") {
  FakeCuda fake;
  fake.set("pools", 0);
  CHECK_THAT(error_of<DeviceError>([] { Context::open(0); }),
             contains("cuda0 (Fake GPU) has no stream-ordered memory"));
  CHECK(fake.leaks().empty());
}

TEST_CASE("facts of a device", "[cuda]") {
  FakeCuda fake;
  const auto context = Context::open(1);
  CHECK(context->title() == "cuda1 (Fake GPU)");
  CHECK(context->index() == 1);
  const GpuFacts& facts = context->facts();
  CHECK(facts.pci_id == "0000:02:00.0");
  CHECK(facts.major == 9);
  CHECK(facts.minor == 0);
  CHECK(facts.multiprocessors == 132);
  CHECK(facts.memory_bytes == std::size_t{1} << 30);
  CHECK(facts.threads_per_block == 1024);
  CHECK(facts.shared_bytes_per_block == 227 * 1024);
  CHECK(facts.l2_bytes == 50 << 20);
  CHECK(facts.cooperative_launches);
}

TEST_CASE("a device of the process is opened once", "[cuda]") {
  FakeCuda fake;
  fake.restart();
  CHECK(Context::get(0) == Context::get(0));
  CHECK(Context::get(0) != Context::get(1));
  CHECK(fake.live("contexts") == 2);
}

// ---- memory and copies ----

TEST_CASE("copied data come back, in pieces and in order", "[cuda]") {
  FakeCuda fake;
  fake.set("delay", GENERATE(0, 1));
  const auto n = GENERATE(std::size_t{1}, std::size_t{1000}, Staging::slot_bytes / 4, Staging::slot_bytes / 4 + 1,
                          9 * Staging::slot_bytes / 4 + 7);
  {
    const Stream stream(Context::open(0));
    const Buffer buffer(stream, n * sizeof(float), user_line);
    CHECK(word(buffer.data()) % 256 == 0);
    std::vector<float> values = counted(n);
    const std::vector<float> before = values;
    copy_in(stream, buffer.data(), bytes_of(values));
    std::ranges::fill(values, -5.0F);  // the copy has separate memory
    copy_in(stream, buffer.data(), bytes_of({3.0F}));
    std::vector<float> expected = before;
    expected[0] = 3;
    CHECK(read(stream, buffer.data(), n) == expected);
  }
  CHECK(fake.leaks().empty());
  CHECK(fake.faults().empty());
}

TEST_CASE("nothing is copied, filled and allocated without a call", "[cuda]") {
  FakeCuda fake;
  const Stream stream(Context::open(0));
  const Buffer buffer(stream, 0);
  CHECK(buffer.data() == nullptr);
  copy_in(stream, buffer.data(), {});
  copy_out(stream, {}, buffer.data());
  copy_within(stream, nullptr, nullptr, 0);
  copy_peer(stream, nullptr, stream.context(), nullptr, 0);
  fill(stream, nullptr, 0, 0);
  CHECK(fake.calls("cuMemAllocFromPoolAsync") + fake.calls("cuMemcpyHtoDAsync_v2") + fake.calls("cuMemsetD8Async") ==
        0);
}

TEST_CASE("fill and copies within a device", "[cuda]") {
  FakeCuda fake;
  fake.set("delay", 1);
  const Stream stream(Context::open(0));
  const Buffer a(stream, 8), b(stream, 8);
  fill(stream, a.data(), 0, 8);
  fill(stream, a.data() + 4, 0x3f, 4);
  copy_within(stream, b.data(), a.data(), 8);
  CHECK(read(stream, b.data(), 2) == std::vector<float>{0, std::bit_cast<float>(0x3f3f3f3f)});
  CHECK(fake.faults().empty());
}

TEST_CASE("pinned memory is copied without waiting", "[cuda]") {
  FakeCuda fake;
  fake.set("delay", 1);
  const auto context = Context::open(0);
  const Stream stream(context);
  const Buffer buffer(stream, 8);
  PinnedMemory in(context, 8), out(context, 16);
  const std::array<float, 2> values{1, 2};
  std::memcpy(in.data(), values.data(), 8);
  start_copy_in(stream, buffer.data(), in, 0, 8);
  std::memset(out.data(), 0, 16);
  start_copy_out(stream, out, 8, buffer.data(), 8);
  Event done(context);
  done.record(stream);
  CHECK_FALSE(done.done());
  done.synchronize();
  CHECK(done.done());
  std::array<float, 4> got{};
  std::memcpy(got.data(), out.data(), 16);
  CHECK(got == std::array<float, 4>{0, 0, 1, 2});
  CHECK_THROWS_AS(start_copy_out(stream, out, 12, buffer.data(), 8), InternalError);
  CHECK_THROWS_AS(start_copy_in(stream, buffer.data(), in, 9, 0), InternalError);
  CHECK(fake.faults().empty());
}

TEST_CASE("memory is accounted for, kept and given back", "[cuda]") {
  FakeCuda fake;
  const auto context = Context::open(0);
  const Stream stream(context);
  {
    const Buffer a(stream, 1000);
    Buffer b(stream, 500);
    CHECK(context->memory_counters().bytes_in_use == 1500);
    CHECK(context->memory_counters().live_buffers == 2);
    b = Buffer(stream, 100);
    CHECK(context->memory_counters().bytes_in_use == 1100);
    const Buffer moved(std::move(b));
    CHECK(moved.size() == 100);
  }
  const PoolCounters counters = context->memory_counters();
  CHECK(counters.allocations == 3);
  CHECK(counters.live_buffers == 0);
  CHECK(counters.bytes_in_use == 0);
  CHECK(counters.peak_bytes == 1600);
  CHECK(context->reserved_bytes() == 1600);
  context->trim();
  CHECK(context->reserved_bytes() == 0);
}

TEST_CASE("memory that is kept in the wrong size, or freed by work that has not run, is had in the end", "[cuda]") {
  FakeCuda fake;
  fake.set("delay", GENERATE(0, 1));
  fake.set("memory", 1000);
  const auto context = Context::open(0);
  const Stream stream(context), other(context);
  Buffer(stream, 600);
  const Buffer large(other, 900);
  CHECK(large.data() != nullptr);
  CHECK(fake.calls("cuMemPoolTrimTo") == 1);
  CHECK(fake.faults().empty());
}

TEST_CASE("out of memory says who uses how much", "[cuda]") {
  FakeCuda fake;
  fake.set("memory", 4 << 20);
  const auto context = Context::open(0);
  const Stream stream(context);
  const Buffer kept(stream, 3 << 20);
  const auto ask = [&] { Buffer(stream, 2 << 20, user_line); };
  CHECK(
      error_of<OutOfMemory>(ask) ==
      "cuMemAllocFromPoolAsync (train.py:7): 2.0 MiB could not be allocated on cuda0 (Fake GPU); 3.0 MiB are in use by "
      "1 buffers of this program, 1.0 MiB of 4.0 MiB are free");
  fake.fail("cuMemGetInfo_v2", 1, 999);
  CHECK_THAT(error_of<OutOfMemory>(ask), contains("1 buffers of this program") && !contains("are free"));
  CHECK_FALSE(context->lost());
  CHECK(Buffer(stream, 1 << 20).data() != nullptr);
}

// ---- order ----

TEST_CASE("streams wait for events, and only for them", "[cuda]") {
  FakeCuda fake;
  fake.set("delay", 1);
  const auto context = Context::open(0);
  const Stream first(context), second(context);
  const Buffer buffer(first, 4);
  Event written(context), read_back(context);
  CHECK(written.done());  // never recorded
  copy_in(first, buffer.data(), bytes_of({42.0F}));
  written.record(first);
  second.wait(written);
  CHECK(read(second, buffer.data(), 1) == std::vector{42.0F});
  read_back.record(second);
  first.wait(read_back);
  CHECK(fake.faults().empty());
}

TEST_CASE("the fake driver finds a missing wait, and memory used after its end", "[cuda]") {
  FakeCuda fake;
  fake.set("delay", 1);
  const auto context = Context::open(0);
  const Stream first(context), second(context);
  Buffer buffer(first, 4);
  read(second, buffer.data(), 1);
  CHECK_THAT(fake.faults(), contains("memory before its allocation has run"));
  const std::byte* place = buffer.data();
  buffer = {};
  read(first, place, 1);
  CHECK_THAT(fake.faults(), contains("memory after its end"));
  CHECK_THROWS_AS(read(first, &fake, 1), DeviceError);  // an address of the host
}

TEST_CASE("events measure time where they are made for it", "[cuda]") {
  FakeCuda fake;
  const auto context = Context::open(0);
  const Stream stream(context);
  Event start(context, Event::Timing::on), end(context, Event::Timing::on), plain(context);
  start.record(stream);
  end.record(stream);
  plain.record(stream);
  CHECK(end.milliseconds_since(start) == 0.5);
  CHECK_THROWS_AS(plain.milliseconds_since(start), DeviceError);
  Event other(Context::open(1));
  CHECK_THROWS_AS(other.record(stream), DeviceError);
}

TEST_CASE("copies between devices", "[cuda]") {
  FakeCuda fake;
  fake.set("delay", 1);
  const bool peers = GENERATE(true, false);
  fake.set("peers", peers ? 1 : 0);
  const auto one = Context::open(0), two = Context::open(1);
  const Stream here(one), there(two);
  CHECK(two->enable_peer_access(*one) == peers);
  CHECK(two->enable_peer_access(*one) == peers);  // again
  const Buffer source(here, 8), target(there, 8);
  copy_in(here, source.data(), bytes_of({5.0F, 6.0F}));
  Event written(one), copied(two);
  written.record(here);
  there.wait(written);
  copy_peer(there, target.data(), *one, source.data(), 8);
  copied.record(there);
  here.wait(copied);
  CHECK(read(there, target.data(), 2) == std::vector{5.0F, 6.0F});
  CHECK(fake.faults().empty());
}

TEST_CASE("several threads work with one device", "[cuda]") {
  FakeCuda fake;
  {
    const auto context = Context::open(0);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const Stream stream(context);
        for (int i = 0; i < 20; ++i) {
          const std::vector<float> values(3000, static_cast<float>(100 * t + i));
          const Buffer buffer(stream, values.size() * sizeof(float));
          copy_in(stream, buffer.data(), bytes_of(values));
          if (read(stream, buffer.data(), values.size()) != values) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(context->memory_counters().allocations == 80);
  }
  CHECK(fake.leaks().empty());
  CHECK(fake.faults().empty());
}

TEST_CASE("objects keep what they need, whatever ends first", "[cuda]") {
  FakeCuda fake;
  {
    auto context = Context::open(0);
    Stream stream(context);
    Buffer buffer(stream, 8);
    Event event(context);
    std::optional<Kernel> kernel = Module(context, fake_cubin({"scale"})).kernel("scale");
    CHECK(fake.live("modules") == 1);
    context.reset();
    stream = {};
    CHECK(fake.live("contexts") == 1);
    CHECK(fake.live("streams") == 1);
    copy_in(buffer.stream(), buffer.data(), bytes_of({1.0F, 2.0F}));
    kernel->launch(buffer.stream(), {1, 32}, std::array{word(buffer.data()), std::bit_cast<std::uint64_t>(2.0)}, 2);
    CHECK(read(buffer.stream(), buffer.data(), 2) == std::vector{2.0F, 4.0F});
  }
  CHECK(fake.leaks().empty());
}

TEST_CASE("objects that end after the driver are silent", "[cuda]") {
  FakeCuda fake;
  const auto context = Context::open(0);
  const Stream stream(context);
  const Buffer buffer(stream, 8);
  const PinnedMemory pinned(context, 8);
  for (const char* entry : {"cuMemFreeAsync", "cuMemFreeHost", "cuStreamDestroy_v2", "cuDevicePrimaryCtxRelease_v2"}) {
    fake.fail(entry, 1, result::deinitialized);
  }
  SUCCEED();
}

TEST_CASE("the process may end with devices open and objects in static storage", "[cuda]") {
  FakeCuda fake;
  std::cout.flush();  // otherwise the child would print it again
  const int status = test::run_child([] {
    const auto context = Context::get(0);
    static Stream stream(context);
    static Buffer buffer(stream, 1000);
    static PinnedMemory pinned(context, 16);
    static Event event(context);
    copy_in(stream, buffer.data(), bytes_of(counted(100)));
    std::exit(0);  // destroys static objects, unlike a return here
    return 1;
  });
  CHECK(status == 0);
}

// ---- kernels ----

TEST_CASE("kernels are loaded from cubin and PTX, and launched", "[cuda]") {
  FakeCuda fake;
  fake.set("delay", GENERATE(0, 1));
  const auto context = Context::open(0);
  const Stream stream(context);
  const bool ptx = GENERATE(false, true);
  const Module module(context, ptx ? text_bytes(".version 8.0\n.visible .entry scale(\n.visible .entry sum(\n")
                                   : fake_cubin({"scale", "sum"}));
  const Kernel scale = module.kernel("scale"), sum = module.kernel("sum");
  CHECK(scale.name() == "scale");
  CHECK(scale.facts().registers == 32);
  CHECK(scale.facts().shared_bytes == 1024);
  CHECK(scale.facts().local_bytes == 16);
  CHECK(scale.facts().threads_per_block == 1024);
  CHECK(scale.facts().architecture == 90);
  const Buffer x(stream, 12);
  copy_in(stream, x.data(), bytes_of({1.0F, 2.0F, 3.0F}));
  {
    std::array<std::uint64_t, 2> parameters{word(x.data()), std::bit_cast<std::uint64_t>(10.0)};
    scale.launch(stream, {2, 64}, parameters, 3);
    parameters = {};  // copied by the launch
  }
  sum.launch(stream, {1, 32}, std::array{word(x.data()), std::uint64_t{3}}, std::nullopt);
  scale.launch(stream, {0, 64}, {}, 0);  // an empty launch
  CHECK(read(stream, x.data(), 3) == std::vector{60.0F, 20.0F, 30.0F});
  CHECK(fake.faults().empty());
}

TEST_CASE("the fake driver has a copy overtake a kernel that it does not wait for", "[cuda]") {
  FakeCuda fake;
  fake.set("delay", 2);
  const auto context = Context::open(0);
  const Stream computing(context), copying(context);
  const Kernel scale = Module(context, fake_cubin({"scale"})).kernel("scale");
  const Buffer x(computing, 4);
  Event before(context);
  copy_in(computing, x.data(), bytes_of({3.0F}));
  scale.launch(computing, {1, 32}, std::array{word(x.data()), std::bit_cast<std::uint64_t>(2.0)}, 1);
  before.record(computing);
  const bool waits = GENERATE(false, true);
  if (waits) copying.wait(before);
  copy_ahead(copying, x.data(), bytes_of({10.0F}));
  before.record(copying);
  computing.wait(before);
  CHECK(read(computing, x.data(), 1) == std::vector{waits ? 10.0F : 20.0F});
  CHECK(fake.faults().empty());
}

TEST_CASE("a cooperative launch has the blocks that run at the same time at most", "[cuda]") {
  FakeCuda fake;
  fake.set("multiprocessors", 3);
  const auto context = Context::open(0);
  const Stream stream(context);
  const Kernel scale = Module(context, fake_cubin({"scale"})).kernel("scale");
  CHECK(scale.resident_blocks(64, 0) == 6);
  const Buffer x(stream, 12);
  copy_in(stream, x.data(), bytes_of({1.0F, 2.0F, 3.0F}));
  const std::array<std::uint64_t, 2> parameters{word(x.data()), std::bit_cast<std::uint64_t>(10.0)};
  const auto launch = [&](unsigned blocks) {
    scale.launch(stream, {.blocks = blocks, .threads = 64, .cooperative = true}, parameters, 3, user_line);
  };
  launch(6);
  CHECK_THAT(error_of<DeviceError>([&] { launch(7); }),
             contains("cuLaunchCooperativeKernel of scale (train.py:7) failed on cuda0 (Fake GPU): error 720"));
  CHECK(read(stream, x.data(), 3) == std::vector{10.0F, 20.0F, 30.0F});
  CHECK(fake.calls("cuLaunchCooperativeKernel") == 2);
  CHECK(fake.calls("cuLaunchKernel") == 0);
  CHECK(fake.faults().empty());
}

TEST_CASE("code that does not load comes with the driver's log", "[cuda]") {
  FakeCuda fake;
  const auto context = Context::open(0);
  CHECK_THAT(error_of<DeviceError>([&] { Module(context, text_bytes(".version 8.0\nmistake"), user_line); }),
             contains("cuModuleLoadDataEx (train.py:7) failed on cuda0 (Fake GPU): CUDA_ERROR_INVALID_PTX") &&
                 contains("\nThe driver's compiler says:\nline 3: mistake"));
  fake.fail("cuModuleLoadDataEx", 1, result::no_binary_for_gpu);
  CHECK_THAT(error_of<DeviceError>([&] { Module(context, fake_cubin({"scale"})); }),
             contains("made for another GPU, or by a compiler newer than the driver"));
  const Module module(context, fake_cubin({"scale"}));
  CHECK_THAT(error_of<DeviceError>([&] { module.kernel("scald", 0, user_line); }),
             contains("cuModuleGetFunction of scald (train.py:7) failed") && contains("named symbol not found"));
}

TEST_CASE("shared memory beyond the usual is asked for", "[cuda]") {
  FakeCuda fake;
  const auto context = Context::open(0);
  const Stream stream(context);
  const Module module(context, fake_cubin({"sum"}));
  const Buffer x(stream, 4);
  const std::array parameters{word(x.data()), std::uint64_t{1}};
  const LaunchShape large{1, 32, 100 << 10};
  CHECK_THAT(
      error_of<DeviceError>([&] { module.kernel("sum").launch(stream, large, parameters, std::nullopt, user_line); }),
      contains("cuLaunchKernel of sum (train.py:7) failed on cuda0 (Fake GPU): error 701"));
  module.kernel("sum", large.dynamic_shared).launch(stream, large, parameters, std::nullopt);
  CHECK_THROWS_AS(module.kernel("sum", 228 << 10), DeviceError);
  const Stream other(Context::open(1));
  CHECK_THROWS_AS(module.kernel("sum").launch(other, large, parameters, std::nullopt), InternalError);
}

TEST_CASE("a kernel that follows a wild address loses the device", "[cuda]") {
  FakeCuda fake;
  fake.set("delay", GENERATE(0, 1));
  {
    const auto context = Context::open(0), other = Context::open(1);
    const Stream stream(context);
    const Buffer buffer(stream, 8);
    const Kernel wild = Module(context, fake_cubin({"wild"})).kernel("wild");
    wild.launch(stream, {1, 32}, {}, 0, user_line);
    const std::string first = error_of<DeviceError>([&] { stream.synchronize(user_line); });
    CHECK_THAT(first,
               contains("cuStreamSynchronize (train.py:7) failed on cuda0 (Fake GPU): CUDA_ERROR_ILLEGAL_ADDRESS") &&
                   contains("a kernel or copy that was started earlier") && contains("lost for this process"));
    CHECK(context->lost());
    const std::string later = error_of<DeviceError>([&] { wild.launch(stream, {1, 32}, {}, 0, Where("other.py", 9)); });
    CHECK_THAT(later,
               contains("cuLaunchKernel of wild") || contains("cuLaunchKernel (other.py:9): cuda0 (Fake GPU) cannot be "
                                                              "used any more in this process, because of an earlier "
                                                              "error: cuStreamSynchronize (train.py:7) failed"));
    CHECK_THROWS_AS(Buffer(stream, 8), DeviceError);
    CHECK_THROWS_AS(Stream(context), DeviceError);
    CHECK_FALSE(other->lost());
    CHECK(Buffer(Stream(other), 8).data() != nullptr);
  }
  CHECK(fake.live("contexts") == 0);
}

TEST_CASE("the target of a compilation for a chip", "[cuda]") {
  const std::vector<std::string> known{"sm_75", "sm_80", "sm_90", "sm_100"};
  const auto target = [&](int major, int minor) {
    return choose_target({.name = "chip", .pci_id = "", .major = major, .minor = minor}, known);
  };
  CHECK(target(9, 0) == CompileTarget{"sm_90", Form::cubin});
  CHECK(target(7, 5) == CompileTarget{"sm_75", Form::cubin});
  CHECK(target(8, 9) == CompileTarget{"compute_80", Form::ptx});
  CHECK(target(10, 3) == CompileTarget{"compute_100", Form::ptx});
  CHECK(target(13, 0) == CompileTarget{"compute_100", Form::ptx});
  CHECK_THAT(error_of<DeviceError>([&] { target(7, 0); }),
             contains("chip has compute capability 7.0") && contains("it knows sm_75, sm_80, sm_90, sm_100"));
}
