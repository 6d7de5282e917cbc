// The user's lines in error messages of devices.
#pragma once

#include "expr/graph.hpp"

#include <croton/error.hpp>

#include <span>
#include <string>

namespace croton::runtime {

/// "h, train.cpp:12; train.cpp:13": each line once; a long list is cut.
std::string lines_of(std::span<const expr::Origin> origins);
inline std::string lines_of(const expr::Origin& origin) { return lines_of(std::span(&origin, 1)); }

/// The name of a node in logs and traces: the user's name, else its line. A copy without a name has the name
/// of its source.
std::string title_of(const expr::Graph& graph, expr::NodeId node);

/// Runs `work`, and adds the lines of `origins` (one Origin, or several) to errors of a device or of its memory.
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
