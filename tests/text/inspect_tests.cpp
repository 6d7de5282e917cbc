// `croton inspect` of files: its output, and that even a broken text only raises an error.
#include <croton/error.hpp>

#include <random>
#include <string>

#include "catch.hpp"
#include "inspect.hpp"

namespace {

const croton::tool::InspectRequest everything{.what = "",
                                              .target = "cuda:sm_90",
                                              .graph = true,
                                              .rewrites = true,
                                              .plan = true,
                                              .kernels = true,
                                              .schedule = true,
                                              .ptx = false,
                                              .facts = false,
                                              .sass = false};

const std::string seeds[] = {
    "x: f32[n, m] = input\nreturn softmax(x, axis=1)\n",
    "g: f32[n] = input\nz: f32[n, 5] = input\nt: i32[n] = input\ns = softmax(z, axis=1)\n"
    "return softmax_grad(crossentropy_grad(g, s, t), s, axis=1)\n",
    "x: f32[n, k] = input\nw: f32[k, 10] = shared\nreturn sum(dot(x, w), axis=0), add(x, f32 1.5)\n"};

}  // namespace

TEST_CASE("inspect shows every stage of a graph in a file") {
  const std::string text = croton::tool::inspect_text(seeds[0], everything);
  for (const char* part : {"==== graph\n", "==== rewrites\n", "==== plan\n", "==== kernel row_", " for cuda:sm_90\n",
                           "CT_KERNEL void CT_LAUNCH_BOUNDS(256, 4) row_", "launch 1009 x 1013: 127 blocks of 256 threads"})
    CHECK(text.find(part) != std::string::npos);
  croton::tool::InspectRequest other = everything;
  other.target = "tpu";
  CHECK_THROWS_AS(croton::tool::inspect_text(seeds[0], other), croton::ValueError);
}

TEST_CASE("inspect survives every text") {
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::string words[] = {"axis=-1", "axis=9",  "f32[",  "]",      "99999999999999999999",
                               "-1",      "(",       ")",     "x",      "i64",
                               "\n",      "softmax", "input", "shared", "%3",
                               "return ", "f32 nan", "0",     "bool",   ","};
  int errors = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string text = seeds[below(std::size(seeds))];
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
      const std::size_t at = below(text.size() + 1), length = below(4);
      if (below(2) == 0)
        text.replace(at, std::min(length, text.size() - at), words[below(std::size(words))]);
      else
        text.replace(at, std::min(length, text.size() - at), std::string(1, static_cast<char>(below(256))));
    }
    try {
      croton::tool::inspect_text(text, everything);
    } catch (const croton::InternalError& error) {
      FAIL("an internal error for\n" << text << "\n" << error.what());
    } catch (const croton::Error&) {
      ++errors;
    }
  }
  CHECK(errors > 300);
}
