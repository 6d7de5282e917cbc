// Random programs on simulated devices give the same results as on the host: the same graph is built twice, once with
// device scopes, pins and transfers, once without, and both are called with the same arguments under changing flags.
// After each call the values of shared variables agree, and only changed values were sent.
#include <croton/config.hpp>
#include <croton/croton.hpp>
#include <croton/device.hpp>

#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::TransferInfo;
using ct::Variable;

namespace {

/// SplitMix64: equal numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull) {}
  std::size_t below(std::size_t n) {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return static_cast<std::size_t>((z ^ (z >> 31)) >> 11) % n;
  }
  bool chance(std::size_t one_in) { return below(one_in) == 0; }
  template <class T>
  const T& of(const std::vector<T>& items) {
    return items[below(items.size())];
  }

 private:
  std::uint64_t state_;
};

const std::vector<std::string> devices{"cpu", "cuda0", "cuda1"};

/// Small whole numbers: their sums and products are exact in any order.
Array numbers(Random& random, ct::Sizes shape) {
  Array result = Array::empty(DType::float32, std::move(shape));
  for (float& value : result.data<float>()) value = static_cast<float>(random.below(9)) - 4;
  return result;
}

/// The type of an expression with respect to sizes: n and m are those of the arguments.
enum Kind { scalar, of_n, of_m, n_by_m, whole, kinds };

/// Two builds of one program: `structure` is the same in both, `places` only determines the devices.
class Program {
 public:
  Program(std::uint64_t seed, bool on_devices) : structure_(seed), places_(seed + 1'000'000), on_devices_(on_devices) {
    x_ = ct::vector("x");
    a_ = ct::matrix("a");
    k_ = ct::lscalar("k");
    for (const Kind kind : {scalar, of_n, of_n, of_m, n_by_m, whole, scalar}) add_shared(kind);
    for (int f = 0; f < 2; ++f) functions.push_back(build());
  }

  struct Shared {
    Kind kind;
    ct::SharedVariable variable;
  };
  std::vector<Shared> shared;
  std::vector<ct::Function> functions;

  static Array value_of(Kind kind, Random& random, std::int64_t n, std::int64_t m) {
    switch (kind) {
      case of_n:
        return numbers(random, {n});
      case of_m:
        return numbers(random, {m});
      case n_by_m:
        return numbers(random, {n, m});
      case whole:
        return Array(static_cast<std::int64_t>(random.below(4)));
      default:
        return numbers(random, {});
    }
  }

 private:
  void add_shared(Kind kind) {
    Random any(shared.size() + 1);
    ct::SharedOptions options{.name = "s" + std::to_string(shared.size())};
    const bool pinned = places_.chance(2);
    const std::string target = places_.of(devices);
    if (on_devices_ && pinned) options.target = target;
    shared.push_back({kind, ct::shared(value_of(kind, any, 2, 3), options)});
  }

  const Variable& pick(Kind kind) { return structure_.of(pool_[kind]); }
  void put(Kind kind, const Variable& v) { pool_[kind].push_back(v); }
  static Variable bounded(const Variable& v) { return ct::clip(v, -8, 8); }

  /// Adds an expression, in a device scope or in none.
  void step() {
    std::optional<ct::device_scope> scope;
    const bool scoped = !places_.chance(3);
    const std::string device = places_.of(devices);
    if (on_devices_ && scoped) scope.emplace(device);
    const Kind kind = structure_.of(std::vector<Kind>{of_n, of_m, n_by_m});
    const Variable v = pick(kind);
    switch (structure_.below(22)) {
      case 0:
        return put(kind, bounded(v + pick(kind)));
      case 1:
        return put(kind, bounded(v * pick(kind)));
      case 2:
        return put(kind, ct::maximum(v, pick(kind)) - pick(kind));
      case 3:
        return put(kind, ct::where(v > pick(kind), v, pick(kind) + 1));
      case 4:
        return put(kind, bounded(v * pick(scalar)));
      case 5:
        return put(scalar, ct::sum(v));
      case 6:
        return put(scalar, ct::max(v));  // of an empty array: an error
      case 7:
        return put(of_n, ct::sum(pick(n_by_m), 1));
      case 8:
        return put(of_m, ct::sum(pick(n_by_m), 0));
      case 9:
        return put(n_by_m, bounded(ct::dimshuffle(pick(of_n), {0, -1}) * pick(of_m)));
      case 10:
        return put(whole, ct::sum(v > pick(scalar)).astype(DType::int64));
      case 11:
        return put(whole, ct::minimum(pick(whole) + pick(whole), 5));
      case 12: {
        const Variable i = pick(whole);
        return put(whole, ct::sum(ct::arange(i, i + 3)));
      }
      case 13:
        return put(scalar, ct::sum(ct::arange(ct::clip(pick(whole), 0, 9)).astype(DType::float32)));
      case 14:
        return put(scalar, pick(of_n)[ct::clip(pick(whole), 0, 2)]);  // an error if there are fewer
      case 15:
        return put(scalar, ct::sum(pick(of_m)[ct::slice(0, pick(whole))]));
      case 16:
        return put(of_n, pick(of_n)[ct::slice(std::nullopt, std::nullopt, -1)]);
      case 17:
        return put(of_n, bounded(ct::dot(pick(n_by_m), pick(of_m))));
      case 18: {
        const Variable b = pick(n_by_m);
        return put(n_by_m, bounded(ct::dot(ct::dot(b, b.T()), pick(n_by_m))));
      }
      case 19: {
        const Variable b = pick(n_by_m);
        return put(n_by_m, ct::reshape(b, {b.shape(1), b.shape(0)}).T());
      }
      case 20: {
        const std::vector<Variable> shape = v.shape();
        return put(kind, ct::alloc(pick(scalar), {shape.begin(), shape.end()}));
      }
      default:
        return more(kind, v);
    }
  }

  void more(Kind kind, const Variable& v) {
    switch (structure_.below(7)) {
      case 0:
        return put(kind, v * ct::constant(Array(2.f)));
      case 1:
        return put(scalar, ct::sum(ct::constant(Array{1.f, 2.f, 3.f}) * pick(scalar)));
      case 2:
        return put(kind, v.astype(DType::float16).astype(DType::float32));
      case 3:
        return put(kind, bounded(v.astype(DType::int8).astype(DType::float32)));
      case 4:
        return put(whole, ct::sum(ct::alloc(pick(whole), {ct::clip(pick(whole), 0, 4)})));
      case 5:
        return put(scalar, pick(whole).astype(DType::float32));
      default:
        return put(kind, on_devices_ ? ct::transfer(v, places_.of(devices)) : v);
    }
  }

  ct::Function build() {
    for (auto& of_kind : pool_) of_kind.clear();
    put(scalar, ct::constant(Array(1.f)));
    put(of_n, x_);
    put(n_by_m, a_);
    put(whole, k_);
    put(whole, x_.shape(0));
    put(whole, a_.shape(1));
    for (const Shared& s : shared) put(s.kind, s.variable);
    for (std::size_t i = 4 + structure_.below(12); i-- > 0;) step();

    std::vector<Variable> outputs;
    for (std::size_t i = structure_.below(4); i-- > 0;) {
      const auto kind = static_cast<Kind>(structure_.below(kinds));
      outputs.push_back(structure_.chance(4) ? pick(kind) : pool_[kind].back());
    }
    ct::FunctionOptions options{.name = "f", .on_unused_input = ct::UnusedInput::ignore};
    for (Shared& s : shared) {
      if (!structure_.chance(3)) continue;
      const Variable value = structure_.chance(3)   ? Variable(s.variable)
                             : structure_.chance(2) ? pick(s.kind)
                                                    : pool_[s.kind].back();
      const bool own = structure_.chance(2) && s.kind != whole;
      const Variable fresh = own ? bounded(s.variable * 2 - value) : value;
      if (structure_.chance(6))
        s.variable.set_default_update(fresh);
      else
        options.updates.emplace_back(s.variable, fresh);
    }
    if (structure_.chance(8) && options.updates.empty()) options.givens.emplace_back(shared[1].variable, x_);
    return ct::function({x_, a_, k_}, outputs, options);
  }

  Random structure_, places_;
  bool on_devices_;
  Variable x_, a_, k_;
  std::vector<Variable> pool_[kinds];
};

/// The result of a call: arrays, or the kind of error.
struct Result {
  std::vector<Array> arrays;
  std::string error;
};

template <class Call>
Result run(Call&& call) {
  try {
    return {call().arrays(), ""};
  } catch (const ct::IndexError&) {
    return {{}, "IndexError"};
  } catch (const ct::ShapeError&) {
    return {{}, "ShapeError"};
  } catch (const ct::ValueError&) {
    return {{}, "ValueError"};
  }
}

/// The flag `device` of the process, restored at the end.
class ProcessDevice {
 public:
  explicit ProcessDevice(const std::string& device) { ct::set_flag("device", device); }
  ~ProcessDevice() { ct::set_flag("device", before_); }

 private:
  std::string before_ = ct::flag("device");
};

/// The expected value of a shared variable's copies on other devices: the value that was sent, unless it has changed.
class Model {
 public:
  void check_call(Program& program, const ct::Function& f, const ct::CallCounts& before,
                  const std::vector<std::string>& homes, const std::vector<std::uint64_t>& versions) {
    const std::vector<TransferInfo> sent = f.transfers();
    std::size_t bytes = 0;
    std::set<std::pair<std::string, std::string>> inputs;
    for (const TransferInfo& t : sent) {
      bytes += t.bytes;
      INFO("sent " << t.what << " from " << t.from << " to " << t.to);
      CHECK(t.from != t.to);
      if (t.kind == TransferInfo::Kind::input) CHECK(inputs.emplace(t.what, t.to).second);
      if (t.kind != TransferInfo::Kind::shared) continue;
      REQUIRE(t.what.substr(0, 1) == "s");
      const std::size_t i = std::stoul(t.what.substr(1));
      REQUIRE(i < program.shared.size());
      CHECK(t.from == homes[i]);
      const auto [at, first] = copies_.try_emplace({i, t.to}, versions[i]);
      if (!first) CHECK(at->second != versions[i]);
      at->second = versions[i];
    }
    CHECK(f.counts().transfers == before.transfers + sent.size());
    CHECK(f.counts().transferred_bytes == before.transferred_bytes + bytes);
  }
  void moved(std::size_t i, const std::string& home) { copies_.erase({i, home}); }

 private:
  std::map<std::pair<std::size_t, std::string>, std::uint64_t> copies_;
};

void compare(std::uint64_t seed) {
  INFO("seed " << seed);
  const ct::change_flags simulated{"cuda_simulator=2"};
  Random random(seed + 2'000'000);
  std::optional<ct::change_flags> optimizer;
  if (random.chance(4)) optimizer.emplace("optimizer=none");
  Program host(seed, false);
  std::optional<ProcessDevice> process;
  std::optional<Program> placed;
  {
    std::optional<ProcessDevice> at_first;
    if (random.chance(3)) at_first.emplace(random.of(devices));
    placed.emplace(seed, true);
  }
  Model model;
  std::int64_t n = 2, m = 3;
  static const std::vector<std::int64_t> sizes{0, 1, 2, 3, 5, 17};
  for (int call = 0; call < 6; ++call) {
    INFO("call " << call);
    if (call > 0 && random.chance(2)) {
      n = random.of(sizes);
      m = random.of(sizes);
      for (std::size_t i = 0; i < host.shared.size(); ++i) {
        const Array value = Program::value_of(host.shared[i].kind, random, n, m);
        host.shared[i].variable.set_value(value);
        placed->shared[i].variable.set_value(value);
      }
    }
    const std::size_t f = random.below(host.functions.size());
    const Array x = numbers(random, {n}), a = numbers(random, {m, n}).transpose();
    const auto k = static_cast<std::int64_t>(random.below(4));
    const Result expected = run([&] { return host.functions[f](x, a, k); });

    std::vector<std::string> homes;
    std::vector<std::uint64_t> versions;
    for (const Program::Shared& s : placed->shared) {
      homes.push_back(s.variable.home());
      versions.push_back(s.variable.version());
    }
    std::optional<ProcessDevice> everywhere;
    std::optional<ct::change_flags> here;
    if (random.chance(3)) everywhere.emplace(random.of(devices));
    if (random.chance(2)) here.emplace("device=" + random.of(devices));
    const ct::Function& on_devices = placed->functions[f];
    const ct::CallCounts before = on_devices.counts();
    INFO(on_devices.placement());
    const Result got = run([&] { return on_devices(x, a, k); });
    // If a call could raise either of two errors, the choice is not promised.
    INFO("raised " << got.error << " instead of " << expected.error);
    CHECK(got.error.empty() == expected.error.empty());
    REQUIRE(got.arrays.size() == expected.arrays.size());
    for (std::size_t i = 0; i < got.arrays.size(); ++i) {
      INFO("output " << i << ": " << got.arrays[i] << " instead of " << expected.arrays[i]);
      CHECK(got.arrays[i].equals(expected.arrays[i]));
      CHECK(got.arrays[i].device() == "cpu");
    }
    if (got.error.empty()) model.check_call(*placed, on_devices, before, homes, versions);
    for (std::size_t i = 0; i < homes.size(); ++i) {
      const ct::SharedVariable& s = placed->shared[i].variable;
      INFO("shared " << i);
      CHECK(s.get_value().equals(host.shared[i].variable.get_value()));
      CHECK(s.version() == host.shared[i].variable.version());
      if (s.pinned()) CHECK(s.home() == homes[i]);
      if (s.home() != homes[i]) model.moved(i, s.home());
    }
  }
}

}  // namespace

TEST_CASE("random programs give the same on simulated devices as on the host") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) compare(seed);
}

/// CROTON_FUZZ_SEEDS=61..5000 in the environment.
TEST_CASE("many more random programs", "[.]") {
  const char* range = std::getenv("CROTON_FUZZ_SEEDS");
  const std::string seeds = range != nullptr ? range : "61..1000";
  const std::uint64_t last = std::stoull(seeds.substr(seeds.find("..") + 2));
  for (std::uint64_t seed = std::stoull(seeds); seed <= last; ++seed) compare(seed);
}
