// Basic parts: the text of an internal error, and the hashes.
#include <croton/error.hpp>
#include <set>

#include "base/environment.hpp"
#include "base/hash.hpp"
#include "base/source_place.hpp"
#include "catch.hpp"

using namespace croton;

TEST_CASE("an internal error names its place without folders and asks for a report", "[base]") {
  const auto line = std::to_string(__LINE__ + 1);
  const InternalError error("the plan has no end");
  const std::string expected =
      "the plan has no end\nThis is a bug in Croton at test_base.cpp:" + line + "; please report it.";
  CHECK(error.what() == expected);
}

Where line_of_call(Where where = std::source_location::current()) { return where; }

TEST_CASE("a place is the caller's, and any program can make its own", "[base]") {
  static_assert(sizeof(Where) == 16 && std::is_trivially_copyable_v<Where>);
  const Where here = line_of_call();
  CHECK(here.line() == __LINE__ - 1);
  CHECK(here == Where(__FILE__, __LINE__ - 2));
  CHECK(base::file_and_line(here) == "test_base.cpp:" + std::to_string(__LINE__ - 3));
  CHECK((here.known() && !Where().known()));
  const std::string copy = "train.py";  // equal as text, not as a pointer
  CHECK(Where("train.py", 3) == Where(copy.c_str(), 3));
  CHECK_FALSE(Where("train.py", 3) == Where("train.py", 4));
  CHECK_FALSE(Where("train.py", 3) == Where("test.py", 3));
  CHECK(base::file_and_line(Where("/home/me/a\nb\t.py", 3)) == "a?b?.py:3");
  CHECK(base::file_and_line(Where("<string>", 1)) == "<string>:1");
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
