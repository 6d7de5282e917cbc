#include "rewrite/complex_rules.hpp"

#include <algorithm>

namespace croton::rewrite {

std::span<const std::string_view> complex_rules() {
  static constexpr std::string_view names[] = {
      "fold",           "constant-dtype", "cast-cast",     "add-zero",         "sub-zero",
      "mul-one",        "mul-zero",       "div-one",       "zero-div",         "sub-self",
      "div-self",       "neg-neg",        "add-neg",       "sub-neg",          "mul-neg",
      "div-neg",        "mul-self",       "add-constants", "neg-mul-constant", "mul-minus-one",
      "pow-one",        "pow-zero",       "pow-two",       "sqr-neg",          "where-mul",
      "where-div",      "where-same",     "where-true",    "where-false",      "order",
      "drop-broadcast", "same-view",      "dimshuffles",   "reshapes",         "reduce-one",
      "expand",         "sum-repeated",   "allocs",        "map-repeated",     "view-repeated",
      "whole-part",     "subtensors",     "subtensor-map", "reduce-reduce",    "reduce-dimshuffle",
      "where-add",      "where-not",      "where-then",    "where-else",       "where-mul-else",
      "read-back",      "part-of-join",   "join",          "write-all",        "write-same",
      "write-again",    "write-zeros",
  };
  return names;
}

bool holds_for_complex(std::string_view rule) {
  return std::ranges::find(complex_rules(), rule) != complex_rules().end();
}

}  // namespace croton::rewrite
