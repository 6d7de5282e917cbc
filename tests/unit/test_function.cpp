// Functions end to end: compiled, called, updated. The same programs run as compiled CPU code, in the reference
// evaluator and as CUDA text on the simulated GPU.
#include <croton/croton.hpp>

#include <filesystem>
#include <iterator>

#include "backends.hpp"
#include "catch.hpp"
#include "temporary_folder.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;

TEST_CASE("a function of a vector") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const ct::change_flags flags(mode);
  const auto x = ct::vector("x");
  const auto f = ct::function({x}, x * 2);
  CHECK(f(Array{1.f, 2.f, 3.f}).only().equals(Array{2.f, 4.f, 6.f}));
  CHECK(f(Array::empty(DType::float32, {0})).only().shape() == ct::Sizes{0});
}

TEST_CASE("reductions and rows") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const ct::change_flags flags(mode);
  const auto m = ct::matrix("m");
  const auto f = ct::function(
      {m}, {ct::sum(m), ct::sum(m, 0), ct::max(m, 1), ct::argmax(m, 1), ct::mean(m), ct::nnet::softmax(m)});
  const auto r = f(Array{{1.f, 2.f, 3.f}, {4.f, 5.f, 9.f}});
  CHECK(r[0].equals(Array(24.f)));
  CHECK(r[1].equals(Array{5.f, 7.f, 12.f}));
  CHECK(r[2].equals(Array{3.f, 9.f}));
  CHECK(r[3].equals(Array{std::int64_t{2}, std::int64_t{2}}));
  CHECK(r[4].equals(Array(4.f)));
  CHECK(r[5].all_close(Array{{0.09003057f, 0.24472847f, 0.66524096f}, {0.00657326f, 0.01786798f, 0.97555875f}}));
}

TEST_CASE("small products are generated kernels, large ones are the library's") {
  const auto a = ct::matrix("a"), b = ct::matrix("b");
  const ct::Function f = ct::function({a, b}, ct::dot(a, ct::transpose(b)) * 2);
  const Array x{{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}, y{{1.f, 0.f, 1.f}, {0.f, 1.f, 0.f}};
  CHECK(f(x, y).only().equals(Array{{8.f, 4.f}, {20.f, 10.f}}));
  CHECK(f.counts().products == 0);
  CHECK(f.counts().kernels == 2);
  const Array big = Array::uniform(DType::float32, {40, 50}, 1), other = Array::uniform(DType::float32, {30, 50}, 2);
  CHECK(f(big, other).only().shape() == ct::Sizes{40, 30});
  CHECK(f.counts().products == 1);
  // An empty sum gives zeros.
  CHECK(f(Array::empty(DType::float32, {2, 0}), Array::empty(DType::float32, {3, 0}))
            .only()
            .equals(Array::zeros(DType::float32, {2, 3})));
}

TEST_CASE("a small product is added to the variable that it updates") {
  const std::string mode = GENERATE(from_range(croton_test::compiled_backends()));
  const ct::change_flags flags(mode);
  const auto x = ct::matrix("x");
  const auto w = ct::shared(Array{{1.f, 2.f}, {3.f, 4.f}}, {.name = "w"});
  const ct::Function step = ct::function({x}, ct::OutputList{std::vector<ct::Out>{}},
                                         {.updates = {{w, w - 0.5 * ct::dot(ct::transpose(x), x)}}});
  step(Array{{2.f, 0.f}});
  CHECK(w.get_value().equals(Array{{-1.f, 2.f}, {3.f, 4.f}}));
}

TEST_CASE("a size that is a result is also a number for kernels") {
  const std::string mode = GENERATE(from_range(croton_test::backends()));
  const ct::change_flags flags(mode);
  const auto m = ct::matrix("m");
  const auto count = m.shape(0) * m.shape(1);
  const ct::Function f =
      ct::function({m}, {ct::mean(m), count, ct::sum(m) / ct::cast(count, DType::float32), count + 1});
  const auto r = f(Array{{1.f, 2.f, 3.f}, {4.f, 5.f, 9.f}});
  CHECK(r[0].equals(Array(4.f)));
  CHECK(r[1].equals(Array(std::int64_t{6})));
  CHECK(r[2].equals(Array(4.f)));
  CHECK(r[3].equals(Array(std::int64_t{7})));
}

TEST_CASE("dump_kernels writes the CUDA text of what is bound, and never fails a call") {
  const croton::test::TemporaryFolder folder;
  const ct::Variable x = ct::vector("x");
  const ct::Function f = ct::function({x}, ct::exp(x) * 3 + 1);
  const std::string mode = GENERATE(from_range(croton_test::compiled_backends()));
  {
    const ct::change_flags dump(mode + ",dump_forms=text,dump_kernels=" + (folder / "texts").string());
    const ct::Function g = ct::function({x}, ct::exp(x) * 3 + 1);
    g(Array{1.f, 2.f});
    g(Array{1.f, 2.f, 3.f});
    const std::string name = g.kernels("cuda:sm_90")[0].name;
    CHECK(croton::test::get_file(folder / "texts" / (name + ".cu")) == g.kernels("cuda:sm_90")[0].unit);
    // The simulated GPU has smaller blocks than the one for which kernels() shows texts.
    CHECK(std::distance(std::filesystem::directory_iterator(folder / "texts"), {}) <= 2);
  }
  const ct::change_flags nowhere("warn=false,dump_kernels=/proc/nowhere");
  CHECK(f(Array{0.f})[0].item<float>() == 4);
}
