// Bars: for each graph that memory limits and each figure the value that it must reach now, and the goal.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "figures.hpp"

namespace croton::kernel_table {

/// A figure of a whole graph: the worst of its entries that matter.
struct Figure {
  std::string_view name;   ///< as in bars.txt
  std::string_view title;  ///< for the page, with the unit
  bool at_least;           ///< larger values are better
  /// Nothing if the graph has none, such as joins of a graph without reductions.
  std::optional<double> (*value)(const NamedGraph& graph, const GraphFigures& figures);
};
std::span<const Figure> all_figures();

struct Bar {
  std::string graph, figure;
  double now = 0;
  std::optional<double> goal;
};

/// The bars of a file: lines "graph | figure | now | goal", with "-" for no goal; empty lines and those that begin with
/// # are ignored. FileError, with the line, for other text.
std::vector<Bar> read_bars(const std::filesystem::path& file);
void write_bars(const std::filesystem::path& file, std::span<const Bar> bars);

/// Whether a value reaches a limit.
bool reaches(const Figure& figure, double value, double limit);

/// The faults of a graph on an architecture: values that do not reach their bar, and values without a bar.
std::vector<std::string> missed_bars(const NamedGraph& graph, const GraphFigures& figures,
                                     const std::string& architecture, std::span<const Bar> bars);

/// Moves the bars of a graph to its worst values of all architectures, where these are better, and adds those that are
/// missing, without goals.
void tighten(const NamedGraph& graph, std::span<const GraphFigures> architectures, std::vector<Bar>& bars);

}  // namespace croton::kernel_table
