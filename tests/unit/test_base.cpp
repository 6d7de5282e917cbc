// Small things that everything rests on: the text of an internal error, and the hashes.
#include <croton/error.hpp>
#include <set>

#include "base/environment.hpp"
#include "base/hash.hpp"
#include "catch.hpp"

using namespace croton;

TEST_CASE("an internal error names its place without folders and asks for a report", "[base]") {
  const auto line = std::to_string(__LINE__ + 1);
  const InternalError error("the plan has no end");
  const std::string expected =
      "the plan has no end\nThis is a bug in Croton at test_base.cpp:" + line + "; please report it.";
  CHECK(error.what() == expected);
}

TEST_CASE("hashes are those of XXH3", "[base]") {
  // Known values of the empty input, from the specification of XXH3.
  CHECK(base::hash64("") == 0x2d06800538d394c2ULL);
  CHECK(base::to_hex(base::hash128(std::string_view())) == "99aa06d3014798d86001c324468d497f");
}

TEST_CASE("combined hashes depend on order and on each value", "[base]") {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (std::uint64_t value = 0; value < 100; ++value) seen.insert(base::hash_combine(seed, value));
  }
  CHECK(seen.size() == 100 * 100);
}

TEST_CASE("an empty environment variable counts as unset", "[base]") {
  setenv("CROTON_TEST_VARIABLE", "value", 1);
  CHECK(base::environment("CROTON_TEST_VARIABLE") == "value");
  setenv("CROTON_TEST_VARIABLE", "", 1);
  CHECK_FALSE(base::environment("CROTON_TEST_VARIABLE").has_value());
  unsetenv("CROTON_TEST_VARIABLE");
  CHECK_FALSE(base::environment("CROTON_TEST_VARIABLE").has_value());
}
