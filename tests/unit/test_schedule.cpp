// Overrides of schedules: for all kernels, a family, one kernel. They never change results.
#include <croton/croton.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"
#include "codegen/schedule.hpp"
#include "contains.hpp"
#include "kernels_of_each_family.hpp"
#include "plan/loop_form.hpp"
#include "runtime/loops/loop_choice.hpp"

namespace ct = croton;
using croton::codegen::choose_schedule;
using croton::kernel::Family;

TEST_CASE("an override is for all kernels, a family or one kernel") {
  const auto threads = [](std::string_view overrides) {
    return choose_schedule(Family::row, {}, overrides, "row_1a2b3c4d5e6f").threads;
  };
  CHECK(threads("") == 256);
  CHECK(threads("threads=64") == 64);
  CHECK(threads("row.threads=64+column.threads=32") == 64);
  CHECK(threads("row_1a2b3c.threads=64") == 64);
  CHECK(threads("row_1a2b3c4d5e6f.threads=64") == 64);
  CHECK(threads("1a2b.threads=64") == 64);
  CHECK(threads("row_1a2b3d.threads=64") == 256);
  CHECK(threads("column_1a2b3c.threads=64") == 256);
  CHECK(threads("row_1.threads=64+threads=96") == 96);
  CHECK(choose_schedule(Family::pointwise, {}, "group_12.blocks=7", "group_123456789abc").blocks == 7);
  const auto message = [](std::string_view overrides) {
    try {
      choose_schedule(Family::row, {}, overrides, "row_1a2b3c4d5e6f");
    } catch (const ct::ValueError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  for (const char* wrong : {"roe.threads=64", "1a2.threads=64", "row_xyz.threads=64", "row_.threads=64", ".threads=64"})
    CHECK_THAT(message(wrong), contains("there is no family '") && contains("row_1a2b3c.threads=128"));
  CHECK_THAT(message("1a2b.threads=65"), contains("whole warps"));
  CHECK_THAT(message("part=1000"), contains("parts of rows have 1024, 2048, "));
}

TEST_CASE("a schedule for one kernel is shown, with the differences") {
  const auto x = ct::matrix("x");
  const ct::Function f = ct::function({x}, {ct::nnet::softmax(x, 1), ct::sum(x, 0)});
  const auto before = f.kernels("cuda:sm_90");
  REQUIRE(before.size() == 2);
  // A part of the kernel's digest, without that of the text.
  const std::string one = before[0].name.substr(0, 12) + ".threads=64";
  const auto after = f.kernels("cuda:sm_90", {.schedule = one});
  CHECK_THAT(after[0].schedule, contains("threads=64"));
  CHECK(after[1].schedule == before[1].schedule);
  CHECK(after[0].expression == before[0].expression);
  CHECK(after[0].name.substr(0, 16) == before[0].name.substr(0, 16));
  const std::string difference = f.schedule_difference("cuda:sm_90", one);
  CHECK_THAT(difference, contains(before[0].name + "\n- threads=256 ") && contains("\n+ threads=64"));
  CHECK_THAT(difference, contains("blocks of 256 threads\n+ "));
  CHECK_THAT(difference, contains(before[1].name + "\n  " + before[1].schedule + " (unchanged)\n"));
  CHECK_THAT(f.schedule_difference("cpu", "grain=64"),
             contains("at least 32 a thread\n+ ") && contains("at least 1 a thread"));
  CHECK_THROWS_AS(f.schedule_difference("cpu", "grain"), ct::ValueError);
}

namespace {

/// The schedule and the reasons of the only kernel of a function for these shapes.
std::string shown(const ct::Function& f, const std::vector<ct::Sizes>& shapes, const std::string& schedule = "") {
  const auto schedules = f.schedule("cuda:sm_90", {.schedule = schedule, .shapes = shapes});
  REQUIRE(schedules.size() == 1);
  CHECK(schedules[0].device == "cuda:sm_90");
  return to_string(schedules[0]);
}

}  // namespace

TEST_CASE("each number of a pointwise schedule has its reason") {
  const auto x = ct::vector("x"), y = ct::vector("y");
  const auto m = ct::matrix("m"), wide = ct::matrix("w");
  const ct::Function sum = ct::function({x, y}, x + y);
  CHECK_THAT(
      shown(sum, {{100'000}, {100'000}}),
      contains(": pointwise on cuda:sm_90, 100000, 196 blocks\n  threads=128 vector=4 items=1 ") &&
          contains(
              "    vector=4: packs of 16 bytes, the widest access, as elements have at most 4; all are aligned\n") &&
          contains("    items=1: a pack is a whole access\n") &&
          contains("    across=128: all threads, on one line\n") &&
          contains("    a second body without conditions: the cost of an element in additions is 1, less than 48\n") &&
          contains("    index=narrow: positions and offsets are at most ") && contains(", below 2^31\n") &&
          contains("    threads=128: the usual number for such kernels on this device\n"));
  CHECK_THAT(shown(sum, {{1LL << 32}, {1LL << 32}}), contains("    index=based: offsets reach 4294967"));
  // Operands that begin or continue between packs.
  CHECK_THAT(shown(ct::function({x}, x.at({ct::slice(1)}) * 2.f), {{1001}}),
             contains("    vector=1: x (p0) begins 4 bytes after a multiple of 8\n") &&
                 contains("    items=4: packs of 4 bytes, of which a thread moves 16 bytes of an operand; modelled "));
  CHECK_THAT(shown(ct::function({m}, ct::exp(m.at({ct::slice(), ct::slice(2)}))), {{40, 50}}),
             contains("    vector=2: m (p0) begins 8 bytes after a multiple of 16\n") &&
                 contains("across=32: a line of 48 elements has 24 packs\n") &&
                 contains("    down: the threads of a line reach over it, so their packs are on several lines\n"));
  CHECK_THAT(shown(ct::function({m}, ct::exp(m.at({ct::slice(), ct::slice(0, 40)}))), {{40, 42}}),
             contains("    vector=2: lines of m (p0) are 168 bytes apart, no multiple of 16\n"));
  // Overrides, also one that alignment limits.
  CHECK_THAT(shown(sum, {{1000}, {1000}}, "threads=64+vector=2+items=3"),
             contains("    vector=2: set by an override\n") && contains("    items=3: set by an override\n") &&
                 contains("    threads=64: set by an override\n"));
  CHECK_THAT(shown(ct::function({x}, x.at({ct::slice(1)}) * 2.f), {{1001}}, "vector=2"),
             contains("    vector=1: x (p0) begins 4 bytes after a multiple of 8\n"));
}

TEST_CASE("schedules of reductions have reasons") {
  const auto m = ct::matrix("m");
  CHECK_THAT(shown(ct::function({m}, ct::nnet::softmax(m, 1)), {{4096, 1024}}),
             contains(": row on cuda:sm_90, 4096 x 1024, 512 blocks\n") &&
                 contains("    lanes=32 warps=1 packs=8: a row of 1024 elements has 256 packs of 4; modelled ") &&
                 contains("    held=1: all operands that are read several times\n") &&
                 contains("    full: 1024 elements are whole packs for all threads\n"));
  CHECK_THAT(shown(ct::function({m}, ct::sum(m, 0)), {{4096, 128}}),
             contains("    part=256, 16 parts of a column: whole columns give 2 blocks, fewer than 264, two for each "
                      "multiprocessor; modelled "));
  CHECK_THAT(shown(ct::function({m}, ct::sum(m)), {{4096, 128}}),
             contains("    part=8192: 64 parts (of at least 8192 elements) for 132 multiprocessors; modelled ") &&
                 contains("    full: 524288 is a multiple of 1024\n"));
  const auto every = ct::slice({}, {}, 2);
  CHECK_THAT(shown(ct::function({m}, ct::sum(m.at({every, every}))), {{4096, 129}}),
             contains("    part=8192: 17 parts (of at least 8192 elements) for 132 multiprocessors") &&
                 contains("    not aligned: lines of 65 elements are no whole packs\n"));
  CHECK_THAT(
      shown(ct::function({m}, ct::sum(m.at({every, every}) * ct::eye(2048, 64))), {{4096, 128}}, "blocks=7"),
      contains("    blocks=7: set by an override\n") && contains("two launches: the elements are on several axes"));
  CHECK_THAT(shown(ct::function({m}, ct::nnet::softmax(m, 1)), {{64, 30'001}}, "threads=96"),
             contains("    threads=1024: the 32 warps of a row; an override asks for 96\n") &&
                 contains("    not aligned: lines of m (p0) are 120004 bytes apart, no multiple of 16\n"));
  const ct::Function softmax = ct::function({m}, ct::nnet::softmax(m, 1));
  CHECK_THAT(shown(softmax, {{4, 1'000'000}}),
             contains(" of each row (of at least 8192 elements) for 132 multiprocessors; modelled ") &&
                 contains("    meets: elements or later reductions need results of whole rows, so all parts run at "
                          "the same time\n") &&
                 contains("    held=0 staged=1 of 1 operands that are read several times: "));
  CHECK_THAT(shown(softmax, {{4, 1'000'000}}, "part=16384"), contains("    part=16384: 62 parts of each row "));
  // Two parts of a row give 14 blocks for each multiprocessor; 13 fit, with 16.1 KiB for states each.
  CHECK(softmax.kernels("cuda:sm_90", {.schedule = "threads=64", .shapes = {{900, 4'000'000}}})[0].schedule.find(
            "meets") == std::string::npos);
  // Rows without elements, and no rows.
  for (const ct::Sizes& shape : {ct::Sizes{0, 1'000'000}, ct::Sizes{3, 0}})
    CHECK(softmax.kernels("cuda:sm_90", {.shapes = {shape}}).size() == 1);
  CHECK_THAT(shown(softmax, {{4, 2'000'000}}, "part=4096"),
             contains("    an override asks for part=4096, which cannot be had\n") && contains(" meets=2 "));
}

TEST_CASE("columns are not split if the states of parts take much memory") {
  // The largest of sums, as many as the points of a product: the operands are small in comparison.
  const auto a = ct::matrix("a"), b = ct::matrix("b");
  const auto f = ct::function({a, b}, ct::max(ct::expand_dims(a, 2) + ct::expand_dims(b, 0), 1));
  CHECK_THAT(shown(f, {{8192, 4096}, {4096, 8192}}), contains("    not split: ") && contains(" run=32 index="));
  CHECK_THAT(shown(f, {{8, 4096}, {4096, 16}}), contains("    part="));
}

TEST_CASE("columns of any length are split") {
  const auto m = ct::matrix("m");
  const auto sum = ct::function({m}, ct::sum(m, 0));
  for (const std::int64_t rows : {33'554'432LL, 33'554'433LL, 100'000'000LL, 10'000'000'000LL}) {
    const auto text = shown(sum, {{rows, 3}});
    INFO(text);
    CHECK(text.find(" part=") != std::string::npos);
  }
}

TEST_CASE("a thread of a very long column has many chunks") {
  const ct::Array x = ct::Array::uniform(ct::DType::int8, {4'200'000, 3}, 5, -100, 100);
  const auto m = ct::variable({ct::DType::int8, {ct::unknown_size, ct::unknown_size}}, "m");
  const auto sums = [&](const char* mode) {
    const ct::change_flags flags(mode);
    const auto f = ct::function({m}, ct::sum(m, 0));
    const ct::Array result = ct::Array(f(x)[0]).copy();
    return std::pair{result, f.schedule()[0].schedule};
  };
  const auto [found, schedule] = sums("mode=simulate,schedule=threads=32");
  CHECK_THAT(schedule, contains(" across=4 vector=1 run=128 part="));
  CHECK(found.same_bits(sums("mode=run").first));
}

TEST_CASE("a target that names no architecture is an error") {
  const auto m = ct::matrix("m");
  const auto f = ct::function({m}, m + 1);
  for (const char* wrong : {"cuda:sm_banana", "cuda:sm_", "cuda:sm_-5", "cuda:sm_0", "cuda:sm_99999999999", "cuda:90"})
    CHECK_THROWS_AS(f.kernels(wrong), ct::ValueError);
  CHECK(f.kernels("cuda:sm_90a").size() == 1);
}

TEST_CASE("addresses beyond the end of a column or of a row fit into the index") {
  const auto m = ct::matrix("m");
  // The last chunk reaches to row 65536, and its offset past 2^31.
  CHECK_THAT(shown(ct::function({m}, ct::sum(m, 0)), {{65521, 32774}}), contains(" index=based\n"));
  CHECK_THAT(shown(ct::function({m}, ct::sum(m, 0)), {{65521, 32760}}), contains(" index=narrow\n"));
}

TEST_CASE("more blocks than a launch can have are an error") {
  const auto t = ct::variable({ct::DType::int8, {ct::unknown_size, ct::unknown_size, ct::unknown_size}}, "t");
  const auto f = ct::function({t}, ct::max(t, 1));
  CHECK_THAT(shown(f, {{1LL << 30, 2, 3}}), contains(": column on "));
  CHECK_THROWS_WITH(shown(f, {{(1LL << 32) + 8, 2, 3}}),
                    contains("can have 2147483647 blocks; a kernel of 4294967304 x"));
}

TEST_CASE("a function has the schedules of its last call, with its sizes and on its device") {
  const auto x = ct::matrix("x");
  const ct::Function f = ct::function({x}, ct::exp(x));
  CHECK(f.schedule()[0].sizes == f.kernels()[0].schedules[0].sizes);  // example sizes
  f(ct::Array::zeros(ct::DType::float32, {3, 5}));
  REQUIRE(f.schedule().size() == 1);
  CHECK(f.schedule()[0].sizes == ct::Sizes{15});  // the axes are merged
  CHECK(f.schedule()[0].device == "cpu");
  CHECK(f.schedule()[0].schedule == "grain=32768");
  CHECK(f.schedule()[0].reasons ==
        std::vector<std::string>{"grain=32768: for fewer elements a second thread does not pay",
                                 "15 work items, at least 32768 for a thread"});
  f(ct::Array::zeros(ct::DType::float32, {7, 5}));
  CHECK(f.schedule()[0].sizes == ct::Sizes{35});

  const ct::change_flags flags("mode=simulate");
  const ct::Function g = ct::function({x}, {ct::nnet::softmax(x, 1), ct::cumsum(x, 0)});
  g(ct::Array::zeros(ct::DType::float32, {3, 5}));
  const auto schedules = g.schedule();
  REQUIRE(schedules.size() == 2);
  const bool first = schedules[0].family == "row";
  const ct::KernelSchedule &row = schedules[first ? 0 : 1], &routine = schedules[first ? 1 : 0];
  CHECK(row.device == "cuda0");
  CHECK(row.sizes == ct::Sizes{3, 5});
  CHECK(row.blocks == 1);
  CHECK_THAT(to_string(row), contains("threads=64: the usual number for such kernels on this device\n"));
  CHECK(routine.family == "routine");
  // The body of the branch that ran.
  const ct::Variable n = ct::iscalar("n");
  const ct::Function h = ct::function({x, n}, ct::ifelse(n > 0, ct::exp(x), ct::nnet::softmax(x, 1)));
  const ct::Array a = ct::Array::zeros(ct::DType::float32, {3, 5});
  for (const int side : {1, 0}) {
    h(a, side);
    const auto of_branch = h.schedule();
    CHECK(std::ranges::count(of_branch, std::string(side == 1 ? "pointwise" : "row"), &ct::KernelSchedule::family) > 0);
  }
}

TEST_CASE("a function with another schedule for one kernel") {
  const auto x = ct::matrix("x");
  const ct::Function f = ct::function({x}, {ct::nnet::softmax(x, 1), ct::sum(x, 0)}, {.name = "both"});
  const auto kernels = f.kernels("cuda:sm_90");
  REQUIRE(kernels.size() == 2);
  const auto threads_of = [](const ct::Function& g, std::size_t i) { return g.kernels("cuda:sm_90")[i].threads; };
  const std::string name = kernels[0].name.substr(0, 10);
  const ct::Function g = f.with_schedule(name, "threads=64+grain=10");
  CHECK(threads_of(g, 0) == 64);
  CHECK(threads_of(g, 1) == kernels[1].threads);
  CHECK(threads_of(f, 0) == kernels[0].threads);  // the function itself is as before
  CHECK(g.kernels("cpu")[0].schedules[0].schedule == "grain=10");
  CHECK(threads_of(g.with_schedule(kernels[0].name, "threads=128"), 0) == 128);  // the later override wins
  CHECK(threads_of(f.with_schedule(kernels[0].schedules[0].family, "threads=32"), 0) == 32);
  CHECK(threads_of(f.with_schedule("", "threads=32"), 1) == 32);
  const ct::Array a = ct::Array::uniform(ct::DType::float32, {9, 70}, 1, -1, 1);
  for (std::size_t i = 0; i < 2; ++i) CHECK(g(a)[i].same_bits(f(a)[i]));

  const auto message = [&](const std::string& kernel, const std::string& schedule) {
    try {
      f.with_schedule(kernel, schedule);
    } catch (const ct::ValueError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK_THAT(message("row_0123456789ab", "threads=64"),
             contains("both: with_schedule(\"row_0123456789ab\", \"threads=64\"): no kernel has a name or digest that "
                      "begins so") &&
                 contains(f.kernels()[0].name) && contains("a family (pointwise, row,"));
  CHECK_THAT(message("roe", "threads=64"), contains("there is no family 'roe'") && contains("row_1a2b3c.threads=128"));
  CHECK_THAT(message(name, "threads=65"), contains("whole warps"));
  CHECK_THAT(message(name, "row.threads=64"), contains("is chosen already"));
  CHECK_THAT(message(name, ""), contains("there is no override"));
  CHECK_THAT(message("", "threds=64"), contains("there is no 'threds'"));
}

TEST_CASE("results have the same bits under every schedule") {
  // Longer than the chunk of 16 rows of a column tree, and than the block of 1,024 elements of a row: both at once
  // where kernels are compiled, one after the other in the simulator, which takes microseconds for an element.
  const auto numbers = [](const ct::Sizes& shape) { return ct::Array::uniform(ct::DType::float32, shape, 1, -2, 2); };
  const std::vector<ct::Array> large = {numbers({67, 1031})}, small = {numbers({67, 43}), numbers({3, 1031})};
  for (const std::string mode : {"run", "simulate"}) {
    const ct::change_flags flags("mode=" + mode);
    const std::vector<ct::Array>& arrays = mode == "run" ? large : small;
    const std::vector<ct::Function> plain = ct::test::one_of_each_family();
    for (std::size_t i = 0; i + 1 < plain.size(); ++i) {
      std::vector<ct::Array> expected;
      for (const ct::Array& x : arrays) expected.push_back(plain[i](x));
      const std::string name = plain[i].kernels(mode == "run" ? "cpu" : "cuda")[0].name;
      for (const std::string& one : {name + ".threads=32+" + name + ".grain=1", name + ".vector=1+" + name + ".items=3",
                                     name + ".threads=512+" + name + ".blocks=3+" + name + ".grain=100000"}) {
        const ct::change_flags schedule("schedule=" + one);
        const ct::Function scheduled = ct::test::one_of_each_family()[i];
        for (std::size_t a = 0; a < arrays.size(); ++a) CHECK(scheduled(arrays[a]).only().same_bits(expected[a]));
      }
    }
  }
}

TEST_CASE("operands of rows stay in registers, in shared memory, or are read again, and the bits are the same") {
  struct Case {
    ct::DType dtype;
    std::int64_t rows, length;
    const char* schedule;
  };
  // Two operands that several reductions, or a reduction and the results, read. The last result may take the memory of
  // r, so that rows are not cut into parts that meet.
  const auto both = [](ct::DType dtype) {
    const auto x = ct::matrix("x", dtype), y = ct::matrix("y", dtype), r = ct::vector("r", dtype);
    const auto centred = x - ct::mean(x, {std::vector<int>{1}, true});
    return ct::function({x, y, r}, {centred * (y - ct::sum(x * y, {std::vector<int>{1}, true})), ct::max(y, 1) + r});
  };
  for (const Case& c :
       {Case{ct::DType::float32, 9, 70, " held=2 "}, Case{ct::DType::float32, 5, 1024, " held=1 staged=1"},
        Case{ct::DType::float32, 3, 1023, " held=1 staged=1"}, Case{ct::DType::float32, 2, 3000, " held=1 staged=1"},
        Case{ct::DType::float64, 2, 1500, " held=0 staged=1"}, Case{ct::DType::float32, 1, 40'001, " held=0 staged=1"},
        Case{ct::DType::float32, 1, 70'000, " held=0 aligned whole"}}) {
    INFO(ct::name_of(c.dtype) << ", " << c.rows << " x " << c.length);
    const auto x = ct::Array::uniform(c.dtype, {c.rows, c.length}, 1, -1, 1);
    const auto y = ct::Array::uniform(c.dtype, {c.rows, c.length}, 2, -1, 1);
    const auto r = ct::Array::uniform(c.dtype, {c.rows}, 3, -1, 1);
    const auto right = both(c.dtype)(x, y, r);
    const ct::change_flags flags("cuda_simulator=1,device=cuda0");
    const ct::Function f = both(c.dtype);
    const auto got = f(x, y, r);
    REQUIRE(f.schedule().size() == 1);
    CHECK_THAT(f.schedule()[0].schedule, contains(c.schedule));
    REQUIRE(got.size() == right.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i].same_bits(right[i]));
  }
}

TEST_CASE("how a GPU runs a loop is chosen by what a step has to do") {
  using croton::runtime::LoopForm;
  using croton::runtime::LoopWork;
  const ct::codegen::Schedule schedule;
  const auto choose = [&](const LoopWork& work, bool cooperates = true) {
    return croton::runtime::choose_loop_form(work, cooperates, schedule);
  };
  const std::string together = "its rows depend on each other";
  CHECK(choose({.elements = 16384, .barriers = 2, .why_not_partitioned = together}).form == LoopForm::rows);
  CHECK(choose({.elements = 16385, .barriers = 2, .why_not_partitioned = together}).form == LoopForm::grid);
  CHECK(choose({.elements = 16385, .barriers = 3, .why_not_partitioned = together}).form == LoopForm::rows);
  CHECK(choose({.elements = 100'000, .barriers = 2, .why_not_partitioned = together}, false).form == LoopForm::rows);
  // A step that is long for one block; in some cases all blocks together cannot run it.
  const LoopWork large{.elements = 300'000, .barriers = 50, .why_not_partitioned = together};
  CHECK(choose(large).form == LoopForm::grid);
  CHECK(choose(large, false).why == together + ", a step is long, and blocks cannot wait for each other here");
  LoopWork product = large;
  product.why_not_grid = "its product is large";
  CHECK(choose(product).form == LoopForm::steps);
  CHECK(choose(product).why == together + ", a step is long, and its product is large");
  // Separate rows: only few and long ones gain from more blocks.
  CHECK(choose({.elements = 1'000'000, .partitioned = true, .blocks = 132}).form == LoopForm::rows);
  CHECK(choose({.elements = 1'000'000, .partitioned = true, .blocks = 2}).form == LoopForm::grid);
  CHECK(choose({.elements = 10, .partitioned = true, .blocks = 2, .why_not_rows = "x"}).form == LoopForm::grid);
  CHECK(choose({.elements = 10, .partitioned = true, .blocks = 2, .why_not_rows = "x"}, false).why == "x");

  CHECK(croton::plan::why_not_product_in_grid(256, 256, 256, 1 << 18, 50 << 20).empty());
  CHECK(croton::plan::why_not_product_in_grid(257, 256, 256, 1 << 18, 50 << 20) == "is large");
  CHECK(croton::plan::why_not_product_in_grid(16, 512, 2048, 4 << 20, 6 << 20) == "is large");  // for the cache

  const auto blocks = [&](std::int64_t warps, std::int64_t resident = 264) {
    return croton::runtime::grid_blocks(warps, resident, 132, schedule);
  };
  CHECK(blocks(1) == 1);
  CHECK(blocks(100) == 100);  // a warp for each multiprocessor
  CHECK(blocks(8 * 132) == 132);
  CHECK(blocks(8 * 133) == 133);
  CHECK(blocks(1'000'000) == 264);
  CHECK(blocks(1'000'000, 1056) == 528);
}
