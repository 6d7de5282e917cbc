// The matcher "contains this text", under one name for both versions of Catch2.
#pragma once

#include <string>

#include "catch.hpp"

inline auto contains(const std::string& part) {
#if __has_include(<catch2/catch_all.hpp>)
  return Catch::Matchers::ContainsSubstring(part);
#else
  return Catch::Matchers::Contains(part);
#endif
}
