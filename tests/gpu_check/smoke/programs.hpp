// A function that is computed on the CPU and on the device, at three sizes, and compared.
#pragma once

#include <croton/croton.hpp>

#include <functional>
#include <string>
#include <vector>

#include "smoke.hpp"

namespace croton::smoke {

/// Sizes of a program, usually rows and columns.
struct Size {
  std::int64_t rows, columns;
};
/// Less than a warp, parts of blocks and tiles, and enough for every multiprocessor.
std::vector<Size> sizes(const Machine& machine);

struct Graph {
  std::vector<In> inputs;
  std::vector<Variable> outputs;
  std::vector<std::pair<SharedVariable, Variable>> updates = {};
};

struct Program {
  std::string name;    ///< of the check: "row: softmax"
  std::string kernel;  ///< part of the text of one of its kernels: "ct::row("; the check fails if none has it
  std::function<Graph()> graph;
  std::function<std::vector<Array>(const Size&)> inputs;
  double tolerance = 0;    ///< 0: the bits are those of the CPU; else relative and absolute
  std::string flags = {};  ///< more flags on the device: ",schedule=..."
  bool repeats = true;     ///< whether a second call gives the same
};

/// Compiles once per device, calls with all sizes, compares; the device is called twice, and must give the same bits.
Check check_of(Program program);

/// Numbers in [-1, 1).
Array reals(const Sizes& shape, std::uint64_t seed, DType dtype = DType::float32);
/// Whole numbers in [0, end).
Array whole(const Sizes& shape, std::uint64_t seed, std::int64_t end, DType dtype = DType::int64);

}  // namespace croton::smoke
