// Updates at positions, running sums and sorting.
#include "graphs.hpp"

namespace croton::kernel_table {

void add_other_graphs(std::vector<NamedGraph>& graphs) {
  constexpr std::int64_t words = 50257, width = 768, rows = 8192, length = 16'000'000;
  constexpr double float_bytes = 4, index_bytes = 8;
  const Variable at = lvector("at"), x = vector("x"), g = matrix("g");
  const SharedVariable weights = unbacked(DType::float32, {words, width}, "weights");
  graphs.push_back({"embedding update",
                    "the gradients of 8192 rows, subtracted from a table of 50257 x 768",
                    function({at, g}, OutputList(std::vector<Variable>{}),
                             {.updates = {{weights, inc_subtensor(weights.at({at}), -0.1 * g)}}}),
                    {{rows}, {rows, width}},
                    3 * float_bytes * rows * width + index_bytes * rows,
                    Kind::recorded});
  graphs.push_back({"cumsum",
                    "the running sum of 16 million elements",
                    function({x}, cumsum(x)),
                    {{length}},
                    2 * float_bytes * length,
                    Kind::recorded});
  graphs.push_back({"argsort",
                    "the order of 16 million elements",
                    function({x}, argsort(x)),
                    {{length}},
                    (float_bytes + index_bytes) * length,
                    Kind::recorded});
}

}  // namespace croton::kernel_table
