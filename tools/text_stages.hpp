// Stages of the compiler by name, on graphs from texts: shared code of croton-opt and the text tests.
#pragma once

#include "expr/graph.hpp"
#include "fuse/program.hpp"
#include "rewrite/pipeline.hpp"
#include "rewrite/place.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace croton::text {

/// Runs "all" groups of rules, or the group with this name, until nothing changes, without the rules that are `off`;
/// each result is verified. ValueError for other names of groups.
expr::Graph rewrite(expr::Graph graph, std::string_view stage, bool special_values, rewrite::Fired& fired,
                    const std::vector<std::string_view>& off = {});

/// Places the graph. Words: devices=cuda0+cuda1 (the devices in addition to the host), scoped=cuda1, fallback=cuda0,
/// soft, stay. ValueError for others.
expr::Graph place(const expr::Graph& graph, std::span<const std::string> words,
                  std::vector<rewrite::Placement>* log = nullptr);

/// The graph with its nodes in the order in which the outputs need them, so that equal graphs print equally.
expr::Graph in_order_of_use(const expr::Graph& graph);

/// An array for each input. Unknown sizes become 3, 4, 5, ..., and sizes that must be equal are equal. Floats are in
/// [-2, 2), or in [0.1, 2) if the graph has an op of positive numbers; integers are 0, 1, 2; bools have both values.
std::vector<Array> random_inputs(const expr::Graph& graph, std::uint64_t seed);

/// Runs a program's kernels and products with their reference evaluators, one after another: outputs, then updates.
std::vector<Array> evaluate(const fuse::Program& program, std::span<const Array> inputs);

}  // namespace croton::text
