// The page of the kernel table: docs/internals/kernel_table.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bars.hpp"
#include "step_counts.hpp"

namespace croton::kernel_table {

/// The graphs' figures for one architecture, in the order of the graphs.
struct ArchitectureFigures {
  std::string architecture;
  std::vector<GraphFigures> graphs;
};

/// "nvrtc 13.0 build 1a2b, nvdisasm 13.5.37": the tools for whose output the page and the bars are true.
std::string tool_versions();
/// The same from a page; empty if it has none.
std::string tool_versions_of(std::string_view page);

/// The part of the page for one architecture.
std::string section_of(std::span<const NamedGraph> graphs, const ArchitectureFigures& figures);
/// The same from a page; empty if it has none.
std::string section_of(std::string_view page, std::string_view architecture);

std::string page_of(std::span<const NamedGraph> graphs, std::span<const ArchitectureFigures> architectures,
                    std::span<const Bar> bars, std::span<const StepCounts> counts);
/// The part of a page before the sections of architectures.
std::string head_of(std::string_view page);

}  // namespace croton::kernel_table
