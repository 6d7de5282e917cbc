// Errors of devices say which line of the user's program the work came from.
#pragma once

#include "expr/graph.hpp"

#include <croton/error.hpp>

#include <span>
#include <string>

namespace croton::runtime {

/// "h, train.cpp:12; train.cpp:13", each once, without an end where there are many.
std::string lines_of(std::span<const expr::Origin> origins);
inline std::string lines_of(const expr::Origin& origin) { return lines_of(std::span(&origin, 1)); }

/// What a node is called in logs and traces: by the user's name for it, else by its line; a copy, unless it has a
/// name of its own, as what it is a copy of.
std::string title_of(const expr::Graph& graph, expr::NodeId node);

/// Runs `work`; what a device or its memory refuses is told with the lines of `origins`: one Origin, or several.
template <class Origins, class Work>
decltype(auto) with_lines(const Origins& origins, const Work& work) {
  try {
    return work();
  } catch (const OutOfMemory& error) {
    throw OutOfMemory(std::string(error.what()) + " (" + lines_of(origins) + ")");
  } catch (const DeviceError& error) {
    throw DeviceError(std::string(error.what()) + " (" + lines_of(origins) + ")");
  }
}

}  // namespace croton::runtime
