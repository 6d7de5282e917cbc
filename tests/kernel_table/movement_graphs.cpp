// Graphs that only move elements.
#include <utility>

#include "graphs.hpp"

namespace croton::kernel_table {
namespace {

constexpr double float_bytes = 4, index_bytes = 8;

double elements(const Sizes& shape) {
  double product = 1;
  for (const std::int64_t size : shape) product *= static_cast<double>(size);
  return product;
}

/// Moves all elements of the arguments, each once.
NamedGraph moves(std::string name, std::string work, const std::vector<Variable>& arguments, const Variable& result,
                 std::vector<Sizes> shapes) {
  double bytes = 0;
  for (const Sizes& shape : shapes) bytes += 2 * float_bytes * elements(shape);
  return {std::move(name), std::move(work), function({arguments.begin(), arguments.end()}, result), std::move(shapes),
          bytes};
}

/// Gives a result of another size than its argument.
NamedGraph resizes(std::string name, std::string work, const Variable& x, const Variable& result, const Sizes& from,
                   const Sizes& to) {
  return {
      std::move(name), std::move(work), function({x}, result), {from}, float_bytes * (elements(from) + elements(to))};
}

}  // namespace

void add_movement_graphs(std::vector<NamedGraph>& graphs) {
  constexpr std::int64_t side = 8192, half = side / 2;
  const Sizes square{side, side}, wide{half, side}, tall{side, half}, small{half, half}, maps{128, 64, 56, 56};
  const Variable m = matrix("m"), other = matrix("other"), x = tensor4("x"), y = tensor4("y"), z = tensor4("z");
  graphs.push_back(moves("transpose", "the transposed matrix of 8192 x 8192", {m}, transpose(m), {square}));
  graphs.push_back(moves("channels last", "maps of 128 x 64 x 56 x 56 with the channels as the last axis", {x},
                         transpose(x, {0, 2, 3, 1}), {maps}));
  graphs.push_back(moves("heads", "the middle axes of 16 x 2048 x 16 x 64 exchanged, as before attention", {x},
                         transpose(x, {0, 2, 1, 3}), {{16, 2048, 16, 64}}));
  graphs.push_back(moves("reversed axes", "the axes of 64 x 96 x 80 x 128 in reverse order", {x},
                         transpose(x, {3, 2, 1, 0}), {{64, 96, 80, 128}}));
  graphs.push_back(moves("concatenate rows", "two matrices of 4096 x 8192, one below the other", {m, other},
                         concatenate({m, other}, 0), {wide, wide}));
  graphs.push_back(moves("concatenate columns", "two matrices of 8192 x 4096, one next to the other", {m, other},
                         concatenate({m, other}, 1), {tall, tall}));
  graphs.push_back(moves("concatenate channels", "maps of 128 x (64, 32, 96) x 28 x 28", {x, y, z},
                         concatenate({x, y, z}, 1), {{128, 64, 28, 28}, {128, 32, 28, 28}, {128, 96, 28, 28}}));
  graphs.push_back(moves("concatenate unaligned", "matrices of 8192 x 4095 and 8192 x 4097, one next to the other",
                         {m, other}, concatenate({m, other}, 1), {{side, half - 1}, {side, half + 1}}));
  graphs.push_back(moves("stack", "two matrices of 4096 x 8192 along a new first axis", {m, other}, stack({m, other}),
                         {wide, wide}));
  graphs.push_back(
      moves("interleave", "the same along a new last axis", {m, other}, stack({m, other}, -1), {wide, wide}));
  graphs.push_back(resizes("pad", "maps of 128 x 64 x 56 x 56 with a border of one zero", x,
                           pad(x, {{0, 0}, {0, 0}, {1, 1}, {1, 1}}), maps, {128, 64, 58, 58}));
  graphs.push_back(resizes("slice", "a matrix of 8192 x 8192 without its border", m,
                           1 * m.at({slice(1, -1), slice(1, -1)}), {side - 2, side - 2}, {side - 2, side - 2}));
  graphs.back().shapes = {square};
  graphs.push_back(
      moves("flip", "the rows of a matrix of 8192 x 8192 in reverse order", {m}, 1 * flip(m, {{1}}), {square}));
  graphs.push_back(
      resizes("tile", "a matrix of 4096 x 4096 twice in each direction", m, tile(m, {2, 2}), small, square));
  graphs.push_back(resizes("repeat", "each column of a matrix of 8192 x 4096 twice", m, repeat(m, 2, 1), tall, square));
  constexpr std::int64_t words = 50257, width = 768, positions = 32768;
  const Variable table = matrix("table"), at = lvector("at");
  graphs.push_back({"gather",
                    "32768 rows of a table of 50257 x 768",
                    function({table, at}, take(table, at, 0)),
                    {{words, width}, {positions}},
                    2 * float_bytes * positions * width + index_bytes * positions});
}

}  // namespace croton::kernel_table
