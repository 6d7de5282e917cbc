// Overrides of schedules: for all kernels, a family, one kernel. They never change results.
#include <croton/croton.hpp>

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
  CHECK_THAT(difference,
             contains(before[0].name + "\n- grain=32768 threads=256 ") && contains("\n+ grain=32768 threads=64"));
  CHECK_THAT(difference, contains("blocks of 256 threads\n+ "));
  CHECK_THAT(difference, contains(before[1].name + "\n  " + before[1].schedule + " (unchanged)\n"));
  CHECK_THAT(f.schedule_difference("cpu", "grain=64"),
             contains("at least 32 a thread\n+ ") && contains("at least 1 a thread"));
  CHECK_THROWS_AS(f.schedule_difference("cpu", "grain"), ct::ValueError);
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
