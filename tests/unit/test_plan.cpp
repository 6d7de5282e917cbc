// Plans: computed sizes, launches of several kernels, schedules, products by generated kernels.
#include <croton/croton.hpp>

#include "backends.hpp"
#include "base/memory.hpp"
#include "catch.hpp"
#include "contains.hpp"
#include "runtime/cuda/compiler.hpp"
#include "runtime/cuda/libraries/nvrtc.hpp"

#include <map>

namespace ct = croton;
using ct::Array;
using ct::DType;

namespace {

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

Array numbers(std::int64_t n) { return Array::arange(n).astype(DType::float32); }

}  // namespace

// ---- computed sizes ----

TEST_CASE("a size that is found by computing ends a segment") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const ct::change_flags flags(mode);
  const auto x = ct::vector("x");
  const auto positive = ct::sum(ct::cast(x > 0, DType::int64));
  const ct::Function f = ct::function({x}, {ct::arange(positive) * 2, ct::sum(x)});
  for (const Array& values :
       {Array{1.f, -2.f, 3.f}, Array{-1.f, -2.f, -3.f}, Array{1.f, 1.f, 1.f}, Array{5.f, -2.f, 3.f}}) {
    std::int64_t n = 0;
    float total = 0;
    for (const float v : values.data<float>()) {
      n += v > 0;
      total += v;
    }
    const ct::Outputs r = f(values);
    REQUIRE(r[0].shape() == ct::Sizes{n});
    for (std::int64_t i = 0; i < n; ++i) CHECK(r[0].at<std::int64_t>(i) == 2 * i);
    CHECK(r[1].item<float>() == total);
  }
  CHECK(f(Array::empty(DType::float32, {0}))[0].shape() == ct::Sizes{0});
}

TEST_CASE("the plan shows where numbers are read back") {
  const auto x = ct::vector("x");
  const auto n = ct::sum(ct::cast(x > 0, DType::int64));
  const auto m = ct::sum(ct::arange(n));  // a size of a size
  const std::string plan = ct::function({x}, {ct::arange(n + 1), ct::arange(m)}).plan();
  INFO(plan);
  CHECK(count_of(plan, "-- read back") == 2);
  // Arithmetic on a number that is read back waits for nothing else.
  CHECK(count_of(ct::function({x}, {ct::arange(n), ct::arange(n * 2), ct::arange(n + 1)}).plan(), "-- read back") == 1);
  CHECK(count_of(ct::function({x}, x * 2).plan(), "-- read back") == 0);
}

TEST_CASE("sizes of sizes, in several segments") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const ct::change_flags flags(mode);
  const auto x = ct::vector("x");
  const auto n = ct::sum(ct::cast(x > 0, DType::int64));
  const auto m = ct::sum(ct::arange(n));
  const ct::Function f =
      ct::function({x}, {ct::arange(m), ct::sum(ct::cast(ct::arange(m), DType::float32)) + ct::sum(x), n});
  for (const std::int64_t size : {0, 1, 2, 3, 5, 3}) {
    const ct::Outputs r = f(Array::full(DType::float32, {size}, 1));
    const std::int64_t wanted = size * (size - 1) / 2;
    CHECK(r[0].shape() == ct::Sizes{wanted});
    CHECK(r[1].item<float>() == static_cast<float>(wanted * (wanted - 1) / 2 + size));
    CHECK(r[2].item<std::int64_t>() == size);
  }
}

TEST_CASE("bounds that are found by computing") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const ct::change_flags flags(mode);
  const auto x = ct::vector("x");
  const auto best = ct::argmax(x);
  const ct::Function f = ct::function({x}, {x[best], x[ct::slice(0, best)], ct::sum(x[ct::slice(best)])});
  const ct::Outputs r = f(Array{1.f, 5.f, 9.f, 2.f});
  CHECK(r[0].item<float>() == 9);
  CHECK(r[1].equals(Array{1.f, 5.f}));
  CHECK(r[2].item<float>() == 11);
}

TEST_CASE("an index that is found by computing is checked") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const ct::change_flags flags(mode);
  const auto x = ct::vector("x");
  const auto w = ct::shared(Array(0.f), {.name = "w"});
  const auto at = ct::cast(ct::sum(x), DType::int64);
  const ct::Function f = ct::function({x}, x[at], {.updates = {{w, w + 1}}});
  CHECK(f(Array{1.f, 0.f, 0.f}).only().item<float>() == 0);
  CHECK(w.get_value().item<float>() == 1);
  CHECK_THROWS_AS(f(Array{1.f, 1.f, 1.f}), ct::IndexError);
  CHECK(w.get_value().item<float>() == 1);  // a failing call changes nothing
}

TEST_CASE("a size that must fit one found by computing is checked") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const ct::change_flags flags(mode);
  const auto x = ct::vector("x"), y = ct::vector("y");
  const auto w = ct::shared(Array(0.f), {.name = "w"});
  const auto n = ct::sum(ct::cast(x > 0, DType::int64));
  const ct::Function f = ct::function({x, y}, ct::cast(ct::arange(n), DType::float32) + y, {.updates = {{w, w + 1}}});
  CHECK(f(Array{1.f, -1.f, 2.f}, Array{10.f, 20.f}).only().equals(Array{10.f, 21.f}));
  CHECK_THROWS_AS(f(Array{1.f, 1.f, 2.f}, Array{10.f, 20.f}), ct::ShapeError);
  CHECK(w.get_value().item<float>() == 1);
}

TEST_CASE("an integer shared variable gives a size, as it is at the call") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const ct::change_flags flags(mode);
  auto n = ct::shared(Array(std::int64_t{2}), {.name = "n"});
  const ct::Function f = ct::function({}, ct::arange(n), {.updates = {{n, n + 1}}});
  for (std::int64_t size = 2; size < 5; ++size) CHECK(f().only().shape() == ct::Sizes{size});
  n.set_value(Array(std::int64_t{0}));
  CHECK(f().only().shape() == ct::Sizes{0});
}

TEST_CASE("an arange over numbers with a fraction") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const ct::change_flags flags(mode);
  const auto stop = ct::scalar("stop");
  const ct::Function f = ct::function({stop}, ct::arange(0.f, stop, 0.5f));
  CHECK(f(1.75f).only().equals(Array{0.f, 0.5f, 1.f, 1.5f}));
  CHECK(f(-1.f).only().shape() == ct::Sizes{0});
  CHECK(f(0.5f).only().equals(Array{0.f}));
}

TEST_CASE("many different sizes found by computing compile once") {
  const ct::change_flags flags{"cache=false"};
  const auto x = ct::vector("x");
  const ct::Function f =
      ct::function({x}, ct::sum(ct::cast(ct::arange(ct::sum(ct::cast(x > 0.125f, DType::int64))), DType::float32)));
  f(numbers(3));
  const std::uint64_t compiled = f.counts().compiled;
  for (std::int64_t n = 1; n < 200; ++n)
    CHECK(f(numbers(n)).only().item<float>() == static_cast<float>((n - 1) * (n - 2) / 2));
  CHECK(f.counts().compiled == compiled);
}

// ---- launches of several kernels ----

namespace {

/// Adam over parameters of different shapes and dtypes.
struct Adam {
  std::vector<ct::SharedVariable> parameters, first, second;
  ct::Variable x = ct::vector("x");
  ct::Function step;

  explicit Adam(int copies = 1) {
    std::vector<std::pair<ct::Variable, ct::Variable>> updates;
    for (int c = 0; c < copies; ++c) {
      for (const ct::Sizes& shape :
           {ct::Sizes{7, 13}, ct::Sizes{130}, ct::Sizes{}, ct::Sizes{3, 0}, ct::Sizes{61, 83}}) {
        const auto seed = static_cast<unsigned>(parameters.size());
        parameters.push_back(ct::shared(Array::normal(DType::float32, shape, seed)));
        first.push_back(ct::shared(Array::zeros(DType::float32, shape)));
        second.push_back(ct::shared(Array::zeros(DType::float32, shape)));
      }
    }
    ct::Variable loss = ct::sum(x);
    for (const auto& p : parameters) loss = loss + ct::sum(ct::tanh(p) * p);
    loss = loss * ct::sum(x);
    ct::FunctionOptions options;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto g = ct::grad(loss, parameters[i]);
      const auto m = 0.9f * first[i] + 0.1f * g, v = 0.999f * second[i] + 0.001f * g * g;
      options.updates.emplace_back(first[i], m);
      options.updates.emplace_back(second[i], v);
      options.updates.emplace_back(parameters[i], parameters[i] - 0.01f * m / (ct::sqrt(v) + 1e-8f));
    }
    step = ct::function({x}, loss, options);
  }
};

}  // namespace

TEST_CASE("the updates of all parameters are one launch") {
  const Adam adam;
  const std::string plan = adam.step.plan();
  INFO(plan);
  CHECK(count_of(plan, "one launch of 4 kernels") ==
        1);  // the fifth, a scalar, is part of the kernel that computes the loss
  const auto kernels = adam.step.kernels("cuda:sm_90");
  const ct::KernelInfo& group = kernels.back();
  CHECK(group.name.starts_with("group_"));
  CHECK(count_of(group.source, "struct Body {") == 1);  // equal kernels share their text
  if (ct::runtime::cuda::Nvrtc::available()) CHECK(group.ptx().find(group.name) != std::string::npos);
}

TEST_CASE("updates in one launch give what each gives alone") {
  const Array x{0.5f, 0.25f};
  std::map<std::string, std::vector<Array>> found;
  for (const std::string& mode : croton_test::backends()) {
    const ct::change_flags flags(mode);
    const Adam adam;
    for (int i = 0; i < 3; ++i) adam.step(x);
    std::vector<Array> values;
    for (const auto& p : adam.parameters) values.push_back(p.get_value());
    for (const auto& m : adam.second) values.push_back(m.get_value());
    found[mode] = std::move(values);
  }
  const std::vector<Array>& of_host = found.at("mode=run");
  for (const auto& [mode, values] : found) {
    CAPTURE(mode);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (mode == "mode=simulate") CHECK(values[i].same_bits(of_host[i]));
      CHECK(values[i].all_close(of_host[i], 1e-4, 1e-6));
    }
  }
}

TEST_CASE("the updates of many parameters are one launch, too") {
  const Adam adam(40);  // 200 parameters
  for (const std::string target : {"cpu", "cuda"}) {
    const auto kernels = adam.step.kernels(target);
    const auto groups =
        std::ranges::count_if(kernels, [](const ct::KernelInfo& k) { return k.name.starts_with("group_"); });
    // With those of the sums in the loss: on the host each half of them is joined by the kernel of one of them.
    CHECK(groups == (target == "cuda" ? 3 : 1));
  }
  adam.step(Array{1.f});
  CHECK(adam.step.counts().reference_kernels == 0);
}

TEST_CASE("updates that read each other's old values") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const ct::change_flags flags(mode);
  const auto a = ct::shared(Array{1.f, 2.f}, {.name = "a"}), b = ct::shared(Array{10.f, 20.f}, {.name = "b"}),
             c = ct::shared(Array{5.f, 5.f}, {.name = "c"});
  const ct::Function f = ct::function({}, {a, b + 0}, {.updates = {{a, b}, {b, b + 1}, {c, a * c}}});
  const ct::Outputs r = f();
  CHECK(r[0].equals(Array{1.f, 2.f}));
  CHECK(r[1].equals(Array{10.f, 20.f}));
  CHECK(a.get_value().equals(Array{10.f, 20.f}));
  CHECK(b.get_value().equals(Array{11.f, 21.f}));
  CHECK(c.get_value().equals(Array{5.f, 10.f}));
}

TEST_CASE("a result that repeats another one is allocated before anything is overwritten") {
  const auto x = ct::vector("x");
  const auto w = ct::shared(Array::zeros(DType::float32, {4}), {.name = "w"}),
             u = ct::shared(Array::zeros(DType::float32, {4}), {.name = "u"});
  const auto y = x * 2;
  const ct::Function f = ct::function({x}, {y, y, x, w}, {.updates = {{w, w + x}, {u, y}}});
  f(Array{1.f, 1.f, 1.f, 1.f});
  const Array before = w.get_value(), other = u.get_value();
  for (int nth = 1;; ++nth) {
    const ct::base::FailAllocation fail(nth);
    try {
      f(Array{2.f, 2.f, 2.f, 2.f});
      REQUIRE(fail.failures() == 0);
      break;
    } catch (const ct::OutOfMemory&) {
      CHECK(w.get_value().same_bits(before));
      CHECK(u.get_value().same_bits(other));
    }
  }
}

// ---- schedules ----

TEST_CASE("a schedule can be overridden, and changes no bits") {
  const Array x = Array::normal(DType::float32, {37, 300}, 3);
  const auto run = [&](const std::string& flags_text) {
    const ct::change_flags flags{flags_text};
    const auto m = ct::matrix("m");
    const ct::Function f = ct::function({m}, {ct::nnet::softmax(m), ct::sum(m, 0), ct::sum(m), ct::tanh(m)});
    const ct::Outputs r = f(x);
    return std::pair{std::vector<Array>(r.begin(), r.end()), f.kernels()[0].schedule};
  };
  const auto [plain, schedule] = run("mode=simulate");
  CHECK(schedule.starts_with("threads=256"));
  const auto [other, overridden] = run("mode=simulate,schedule=threads=128+row.threads=32+blocks=3");
  CHECK(overridden.find("threads=128") != std::string::npos);
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(plain[i].same_bits(other[i]));
  const auto m = ct::matrix("m");
  for (const char* wrong : {"threads=33", "speed=3", "speed=0", "wide.threads=32", "threads", "grain=0", "blocks=many"}) {
    INFO(wrong);
    const ct::change_flags flags{std::string("schedule=") + wrong};
    CHECK_THROWS_AS(ct::function({m}, m * 2), ct::ValueError);
  }
}

// ---- products by generated kernels ----

TEST_CASE("skinny products are generated kernels, in every order of their operands") {
  const std::string mode = GENERATE(from_range(croton_test::compiled_backends()));
  const ct::change_flags flags(mode);
  const auto a = ct::matrix("a"), b = ct::matrix("b");
  const bool left = GENERATE(false, true), right = GENERATE(false, true);
  const ct::Function f = ct::function({a, b}, ct::dot(left ? ct::transpose(a) : a, right ? ct::transpose(b) : b));
  for (const auto& [m, k, n] :
       {std::array<std::int64_t, 3>{1, 300, 70}, {70, 300, 1}, {2, 90, 65}, {65, 90, 2}, {1, 5000, 1}, {400, 0, 1}}) {
    const Array x = Array::normal(DType::float32, left ? ct::Sizes{k, m} : ct::Sizes{m, k}, 1);
    const Array y = Array::normal(DType::float32, right ? ct::Sizes{n, k} : ct::Sizes{k, n}, 2);
    const Array r = f(x, y).only();
    REQUIRE(r.shape() == ct::Sizes{m, n});
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double exact = 0, size = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const double term = double{left ? x.at<float>(l, i) : x.at<float>(i, l)} *
                              double{right ? y.at<float>(j, l) : y.at<float>(l, j)};
          exact += term;
          size += std::abs(term);
        }
        // A pairwise sum in float32 loses about log2(k) roundings of the sum of magnitudes; with accumulators and
        // blocks this is well below 64.
        CHECK(std::abs(r.at<float>(i, j) - exact) <= 64 * 6e-8 * size);
      }
    }
  }
  // A library computes only products with two adjacent columns, read across, and their mirror image.
  CHECK(f.counts().products == (left == right ? 1 : 0));
}

// ---- former bugs ----

TEST_CASE("the size of a shared variable that equals a computed one", "[plan]") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const ct::change_flags flags(mode);
  const auto x = ct::vector("x");
  const auto w = ct::shared(Array::arange(6), {.name = "w"});
  const ct::Function f = ct::function({x}, ct::arange(x.shape(0) * 2) + w);
  CHECK(f(numbers(3)).only().equals(Array::arange(0, 12, 2, DType::int64)));
  CHECK_THROWS_AS(f(numbers(2)), ct::ShapeError);
}

TEST_CASE("an update that is also a size found by computing", "[plan]") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const ct::change_flags flags(mode);
  const auto s = ct::scalar("s");
  const auto n = ct::shared(Array(std::int64_t{0}), {.name = "n"});
  const auto a = ct::shared(Array(0.f), {.name = "a"});
  const auto size = ct::cast(s, DType::int64);
  const ct::Function f = ct::function({s}, ct::arange(size), {.updates = {{n, size}, {a, a + s}}});
  CHECK(f(3.f).only().shape() == ct::Sizes{3});
  CHECK(n.get_value().item<std::int64_t>() == 3);
  CHECK(a.get_value().item<float>() == 3);
}

TEST_CASE("a number that is read back is not written over before", "[plan]") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const ct::change_flags flags(mode);
  const auto x = ct::vector("x");
  const auto m = ct::matrix("m");
  const auto n = ct::sum(ct::cast(x > 0, DType::int64));
  const auto t = ct::cast(ct::sum(ct::dot(m, m)), DType::int64);
  const ct::Function f = ct::function({x, m}, ct::arange(n) * (n * t));
  CHECK(
      f(Array{1.f, 1.f, 1.f}, Array{{3.f}}).only().equals(Array{std::int64_t{0}, std::int64_t{27}, std::int64_t{54}}));
}

TEST_CASE("a product in a lower precision is added to a variable in a higher one", "[plan]") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const ct::change_flags flags(mode);
  const auto a = ct::matrix("a");
  const auto w = ct::shared(Array::zeros(DType::float64, {2, 2}), {.name = "w"});
  const ct::Function f =
      ct::function({a}, ct::OutputList{std::vector<ct::Out>{}}, {.updates = {{w, w - 0.5 * ct::dot(a, a)}}});
  f(Array{{1.f, 0.f}, {0.f, 2.f}});
  CHECK(w.get_value().equals(Array{{-0.5, 0.0}, {0.0, -2.0}}));
}

TEST_CASE("the host's arithmetic casts as kernels do", "[plan]") {
  const auto n = ct::variable({DType::int64, {}}, "n"), m = ct::variable({DType::uint64, {}}, "m");
  const auto size = ct::cast(n < m, DType::int64) + 1;
  const ct::Function f = ct::function({n, m}, {ct::arange(size), size});
  const ct::Outputs r = f(Array(std::int64_t{-1}), Array(std::uint64_t{1}));
  CHECK(r[0].shape() == ct::Sizes{r[1].item<std::int64_t>()});
}

TEST_CASE("arithmetic on numbers that share operands takes time in proportion", "[plan]") {
  const auto mode = GENERATE("mode=run", "mode=reference");
  const ct::change_flags flags(mode);
  const auto x = ct::vector("x");
  ct::Variable k = ct::sum(ct::cast(x > 0, DType::int64));
  for (int i = 0; i < 40; ++i) k = (k * k + k) & 7;
  CHECK(ct::function({x}, ct::arange(k))(Array{1.f, 2.f}).only().shape()[0] < 8);
  ct::Variable y = ct::arange(ct::sum(ct::cast(x > 0, DType::int64)));
  for (int i = 0; i < 12; ++i) y = y[ct::slice(ct::floor_divide(y.shape(0), 2))];
  CHECK(ct::function({x}, y)(Array{1.f, 2.f}).only().shape() == ct::Sizes{1});
}

TEST_CASE("long chains of integers do not recurse", "[plan]") {
  const ct::change_flags flags("llvm_level=0");  // one kernel of 20,000 operations
  const auto n = ct::variable({DType::int64, {}}, "n"), m = ct::variable({DType::int64, {}}, "m");
  ct::Variable k = n;
  std::int64_t wanted = 3;
  for (int i = 0; i < 10000; ++i) {
    k = k * m + n;
    wanted = wanted * -1 + 3;
  }
  CHECK(ct::function({n, m}, k)(Array(std::int64_t{3}), Array(std::int64_t{-1})).only().item<std::int64_t>() == wanted);
}

TEST_CASE("read-only memory is never borrowed to be written", "[plan]") {
  static const float fixed[4] = {1, 2, 3, 4};
  auto w = ct::shared(Array::zeros(DType::float32, {4}), {.name = "w"});
  w.set_value(Array::view_of(static_cast<const void*>(fixed), DType::float32, {4}), true);
  ct::function({}, ct::OutputList{std::vector<ct::Out>{}}, {.updates = {{w, w + 1}}})();
  CHECK(w.get_value().equals(Array{2.f, 3.f, 4.f, 5.f}));
  CHECK(fixed[0] == 1);
}

TEST_CASE("operands that begin at one address", "[plan]") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const ct::change_flags flags(mode);
  const auto x = ct::vector("x"), y = ct::vector("y");
  const Array a = numbers(6);
  const ct::Outputs r = ct::function({x, y}, {x * 2, ct::sum(y * 3)})(a.slice(0, 0, 1), a);
  CHECK(r[0].equals(Array{0.f}));
  CHECK(r[1].item<float>() == 45);
}

TEST_CASE("more elements than an index can count", "[plan]") {
  const std::string mode = GENERATE(from_range(croton_test::compiled_backends()));
  const ct::change_flags flags(mode);
  const auto n = ct::variable({DType::int64, {}}, "n");
  const auto i = ct::cast(ct::arange(n), DType::float32);
  const ct::Function f = ct::function({n}, ct::sum(ct::dimshuffle(i, {-1, 0}) * ct::dimshuffle(i, {0, -1}) + 1));
  CHECK(f(Array(std::int64_t{3})).only().item<float>() == 18);
  CHECK_THROWS_AS(f(Array(std::int64_t{1} << 32)), ct::ShapeError);
}

TEST_CASE("an integer that is only a value does not bind again", "[plan]") {
  const auto k = ct::variable({DType::int64, {}}, "k"), n = ct::variable({DType::int64, {}}, "n");
  const ct::Function f = ct::function({k, n}, ct::alloc(k, {n}));
  for (std::int64_t i = 0; i < 3; ++i) {
    CHECK(f(Array(i), Array(std::int64_t{2})).only().equals(Array{i, i}));
  }
}

TEST_CASE("an empty function says so", "[plan]") {
  const ct::Function empty;
  CHECK_THROWS_AS(empty.plan(), ct::TypeError);
  CHECK_THROWS_AS(empty.counts(), ct::TypeError);
  CHECK_FALSE(empty.copy().defined());
}
