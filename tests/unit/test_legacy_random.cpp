// Numbers of the legacy generator against those that NumPy 2.4 printed (numpy.random.RandomState(seed)), bit for bit.
#include <vector>

#include "catch.hpp"
#include "legacy_random.hpp"

TEST_CASE("randn of seed 0 is NumPy's", "[legacy_random]") {
  LegacyRandom random(0);
  for (const double expected :
       {0x1.c398ef3e5cfa5p+0, 0x1.99c2cfacc8953p-2, 0x1.f51d25222c9abp-1, 0x1.1ed5969e3314ep+1, 0x1.de1847cb13ddap+0}) {
    CHECK(random.normal() == expected);
  }
}

TEST_CASE("the data of the Theano program is NumPy's", "[legacy_random]") {
  LegacyRandom random(0);
  const croton::Array x = random.normal_array({1000, 1000});
  const croton::Array y = random.integer_array(0, 10, 1000);
  const croton::Array w1 = random.normal_array({1000, 1000});
  random.normal_array({1000, 1000});
  const croton::Array w3 = random.normal_array({1000, 10});
  CHECK(x.at<double>(-1, -1) == 0x1.5f304b4d7a9ecp+0);
  const std::vector<std::int64_t> first{4, 8, 9, 2, 8, 1, 0, 2, 4, 2, 8, 9};
  CHECK(y.slice(0, 0, 12).equals(croton::Array(first)));
  std::int64_t sum = 0;
  for (const std::int64_t label : y.data<std::int64_t>()) sum += label;
  CHECK(sum == 4555);
  CHECK(w1.at<double>(0, 0) == 0x1.1cfc8eb9a1cacp-1);
  CHECK(w3.at<double>(-1, -1) == 0x1.7773315345143p-1);
}

TEST_CASE("uniform numbers and integers are NumPy's, and a kept normal survives other draws", "[legacy_random]") {
  LegacyRandom random(123456789);
  for (const double expected : {0x1.10cf7d7f66cbap-1, 0x1.117a5a40d785fp-1, 0x1.04e422ae53d0cp-1}) {
    CHECK(random.uniform() == expected);
  }
  for (const double expected : {-0x1.fb84c25a68d69p-1, 0x1.be09bebe02a5ap-1, 0x1.f0a32f5b49dc5p-2}) {
    CHECK(random.normal() == expected);
  }
  for (const int expected : {4, 0, 3, 4, 2, 4, 5, 1}) CHECK(random.integer(0, 10) == expected);
  for (const int expected : {174, 357, 723, 138, 770, 69}) CHECK(random.integer(-5, 1000) == expected);
  for (int i = 0; i < 2; ++i) CHECK(random.integer(0, 1) == 0);  // draws nothing
  CHECK(random.normal() == 0x1.46eb11d1d9e90p-2);
  CHECK(random.normal() == -0x1.1869c8ac723e8p+0);
}

TEST_CASE("the largest seed is taken", "[legacy_random]") {
  CHECK(LegacyRandom(4294967295).uniform() == 0x1.8fe69a3924820p-4);
}
