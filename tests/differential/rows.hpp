// The rows from which graphs are made: every elementwise op of the table automatically, and the functions of the public
// interface, one line each. An op that no row reaches fails the run, so that a new one cannot be forgotten.
#pragma once

#include "case.hpp"

#include <vector>

namespace differential {

/// Map ops of the table.
const std::vector<const Row*>& op_rows();
/// Functions that use the other ops of the table.
const std::vector<const Row*>& rows_of_ops();
/// Functions, however they are composed.
const std::vector<const Row*>& function_rows();
/// All of these.
const std::vector<const Row*>& all_rows();
/// low + width * sigmoid(x), in the dtype of x: brings numbers into the domain of a function.
const Row& squash_row();
/// Any op, as it is (for patterns of rules).
const Row& row_of(const ct::expr::Op& op);
const Row* find_row(std::string_view name);

}  // namespace differential
