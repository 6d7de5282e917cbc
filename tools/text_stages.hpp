// Stages of the compiler by name, on graphs that come from texts: what croton-opt and the text tests share.
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

/// Runs "all" groups of rules, or the one of that name, until nothing changes, without the rules that are `off`; each
/// result is verified. ValueError for other names of groups.
expr::Graph rewrite(expr::Graph graph, std::string_view stage, bool special_values, rewrite::Fired& fired,
                    const std::vector<std::string_view>& off = {});

/// Places the graph. Words: devices=cuda0+cuda1 (those there are besides the host), scoped=cuda1, fallback=cuda0, soft,
/// stay. ValueError for others.
expr::Graph place(const expr::Graph& graph, std::span<const std::string> words,
                  std::vector<rewrite::Placement>* log = nullptr);

/// The graph with its nodes in the order in which the outputs need them: equal graphs then print equally, however they
/// were made.
expr::Graph in_order_of_use(const expr::Graph& graph);

/// An array for each input. Sizes that are not stated become 3, 4, 5, ..., those that must be equal being equal. Floats
/// lie in
/// [-2, 2), or in [0.1, 2) where the graph holds an op that takes positive numbers; integers in 0, 1, 2; bool in both.
std::vector<Array> random_inputs(const expr::Graph& graph, std::uint64_t seed);

/// Runs a program's kernels and products with their reference evaluators, one after another: outputs, then updates.
std::vector<Array> evaluate(const fuse::Program& program, std::span<const Array> inputs);

}  // namespace croton::text
