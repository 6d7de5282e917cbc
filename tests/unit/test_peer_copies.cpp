// Copies between GPUs in separate streams: both continue to compute, and work on the same bytes waits. On GPUs of the
// fake driver, which runs work only when something waits for it (delay 1), or copies as soon as possible (delay 2).
#include <croton/croton.hpp>
#include <croton/nn.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "contains.hpp"
#include "machines.hpp"

namespace ct = croton;
namespace nn = croton::nn;
using ct::Array;
using ct::DType;
using ct::runtime::Device;
using ct::test::device_called;
using ct::test::error_of;
using ct::test::FakeGpus;

namespace {

constexpr std::size_t count = 1000, bytes = count * sizeof(float);

/// Memory of a device with one number everywhere.
struct Piece {
  Device& device;
  std::shared_ptr<void> memory = device.allocate(bytes);
  Piece(Device& where, float value) : device(where) { write(value); }
  explicit Piece(Device& where) : device(where) {}
  void write(float value) {
    const std::vector<float> all(count, value);
    device.copy_in(memory.get(), all.data(), bytes);
  }
  void copy_from(const Piece& other) { device.copy_from(other.device, memory.get(), other.memory.get(), bytes); }
  /// The number, or -1 if they are not all equal.
  float read() const {
    std::vector<float> all(count);
    device.copy_out(all.data(), memory.get(), bytes);
    return std::ranges::count(all, all[0]) == static_cast<std::ptrdiff_t>(count) ? all[0] : -1;
  }
};

bool ran_a_peer_copy(FakeGpus& gpus) { return gpus.cuda().trace().find("ran cuMemcpyPeerAsync") != std::string::npos; }

}  // namespace

TEST_CASE("a copy from another GPU is waited for by what touches its bytes, and by nothing else") {
  const int delay = GENERATE(0, 1, 2);
  FakeGpus gpus({{"delay", delay}});
  {
    Device &first = device_called("cuda0"), &second = device_called("cuda1");
    Piece source(first, 1), other(first, 5), to(second, 2), besides(second, 3), third(second);
    CHECK(besides.read() == 3);
    gpus.cuda().start_trace();
    to.copy_from(source);
    CHECK(besides.read() == 3);
    besides.write(4);
    CHECK(besides.read() == 4);
    CHECK(other.read() == 5);
    CHECK(source.read() == 1);  // it may be read meanwhile
    if (delay == 1) CHECK_FALSE(ran_a_peer_copy(gpus));
    third.copy_from(to);  // within the second device
    CHECK(third.read() == 1);
    CHECK(ran_a_peer_copy(gpus));
    CHECK(to.read() == 1);
  }
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("the source of a copy is kept until it has run, and so are earlier values of its destination that are read") {
  const int delay = GENERATE(0, 1, 2);
  FakeGpus gpus({{"delay", delay}});
  {
    Device &first = device_called("cuda0"), &second = device_called("cuda1");
    Piece to(second, 2), again(second, 3);
    {
      Piece source(first, 1);
      to.copy_from(source);
      source.write(7);  // after the copy
      again.copy_from(source);
    }  // and ends
    Piece fresh(first, 9);  // perhaps at the same address
    CHECK(to.read() == 1);
    CHECK(again.read() == 7);
    // Back and forth, with memory that is read and written in between.
    Piece a(first, 10), b(second, 20), kept(second);
    kept.copy_from(a);
    a.copy_from(b);     // not before a is read
    b.copy_from(kept);  // not before b is read, nor before it is complete
    CHECK(a.read() == 20);
    CHECK(b.read() == 10);
    {
      Piece gone(second);
      gone.copy_from(a);
    }  // the destination ends first
    CHECK(a.read() == 20);
    CHECK(fresh.read() == 9);
  }
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("many copies that nobody waits for") {
  const int delay = GENERATE(1, 2);
  FakeGpus gpus({{"delay", delay}});
  {
    Device &first = device_called("cuda0"), &second = device_called("cuda1");
    std::vector<std::unique_ptr<Piece>> all;
    Piece source(first, 1);
    for (int i = 0; i < 200; ++i) {
      all.push_back(std::make_unique<Piece>(second, 0));
      all.back()->copy_from(source);
    }
    for (const auto& piece : all) CHECK(piece->read() == 1);
  }
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("every call of the driver for a copy from another GPU made to fail changes nothing") {
  const int delay = GENERATE(0, 1, 2);
  const auto entry = GENERATE(std::string("cuMemcpyPeerAsync"), std::string("cuEventRecord"),
                              std::string("cuEventCreate"), std::string("cuStreamWaitEvent"));
  FakeGpus gpus({{"delay", delay}});
  long long failed = 0;
  {
    Device &first = device_called("cuda0"), &second = device_called("cuda1");
    Piece source(first, 1), to(second, 2), from_there(second, 3);
    const auto prepare = [&] {
      source.write(1);
      to.write(2);
      to.copy_from(source);  // nothing waits for it
    };
    const auto work = [&] {
      to.copy_from(source);          // overwrites the result of the last one
      source.copy_from(from_there);  // overwrites memory that is still being read
    };
    prepare();
    const long long before = gpus.cuda().calls(entry);
    work();
    const long long calls = gpus.cuda().calls(entry) - before;
    CHECK(calls >= 2);
    for (long long nth = 1; nth <= calls; ++nth) {
      CAPTURE(delay, entry, nth);
      prepare();
      gpus.cuda().fail(entry, nth, ct::runtime::cuda::result::unknown);
      CHECK_THAT(error_of<ct::DeviceError>(work), contains(entry));
      ++failed;
      CHECK(to.read() == 1);
      const float there = source.read();
      CHECK((there == 1 || there == 3));
      CHECK(from_there.read() == 3);
    }
  }
  CHECK(failed > 0);
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("products of matrices wait for what was sent") {
  using Kind = ct::test::Machine::Kind;
  const auto kind = GENERATE(Kind::fake, Kind::delayed, Kind::overtaking);
  ct::test::Machine machine(kind);
  const auto a = ct::matrix("a");
  ct::Variable left, right, product, back;
  {
    const ct::device_scope on(machine.first);
    left = ct::exp(a);
    right = ct::tanh(a);
  }
  {
    const ct::device_scope on(machine.second);
    product = ct::dot(left, right.T());
  }
  {
    const ct::device_scope on(machine.first);
    back = ct::dot(product, left);
  }
  const ct::Function f = ct::function({a}, back);
  const Array x = Array::uniform(DType::float32, {20, 30}, 7, -1, 1);
  const auto whole = ct::dot(ct::dot(ct::exp(a), ct::tanh(a).T()), ct::exp(a));
  const Array wanted = ct::function({a}, whole)(x).only();
  for (int call = 0; call < 3; ++call) {
    const Array now = f(x).only();
    for (std::int64_t i = 0; i < now.size(); ++i) CHECK(now.as_double(i) == Approx(wanted.as_double(i)).epsilon(1e-4));
  }
  CHECK(f.counts().products == 6);
  CHECK(f.counts().transfers >= 9);
}

TEST_CASE("two GPUs that train one model send gradients meanwhile, and end with the bits of one") {
  using Kind = ct::test::Machine::Kind;
  const auto kind = GENERATE(Kind::fake, Kind::delayed, Kind::overtaking);
  ct::test::Machine machine(kind);
  const Array x = Array::uniform(DType::float32, {9, 100}, 7, -1, 1), y = Array::zeros(DType::int32, {9});
  const auto train = [&](const std::vector<std::string>& devices) {
    const nn::MirroredStrategy strategy(devices, {.shards = 2, .bucket_bytes = 1});
    const auto scope = strategy.scope();
    nn::set_seed(3);
    nn::Sequential model{nn::Dense(20, {.activation = "relu", .input_shape = {100}}), nn::Dropout(0.25),
                         nn::Dense(10, {.activation = "relu"}), nn::Dense(3, {.activation = "softmax"})};
    model.compile({.loss = "sparse_categorical_crossentropy", .optimizer = nn::Adam()});
    model.fit(x, y, {.epochs = 4, .batch_size = 4, .verbose = nn::Verbose::silent});
    std::vector<Array> all = model.get_weights();
    for (const ct::SharedVariable& weight : model.weights()) {
      for (const ct::SharedVariable& copy : weight.copies()) CHECK(copy.get_value().same_bits(weight.get_value()));
    }
    return all;
  };
  const std::vector<Array> two = train({machine.first, machine.second}), one = train({machine.first});
  REQUIRE(one.size() == 6);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i].same_bits(two[i]));
}
