// The functions that `croton inspect` and `croton explain` show, and their arguments on the command line.
#pragma once

#include <croton/function.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace croton::tool {

/// The example of that name; an empty function if there is none.
Function make_example(std::string_view name);
/// A line for each example: its name and what it is.
std::string list_of_examples();

/// "4096x1024,1024,": the shapes of three arguments, of which the last one is a scalar. Nothing for other text.
std::optional<std::vector<Sizes>> parse_shapes(std::string_view text);

/// The text of a file with a graph; FileError if it cannot be read.
std::string read_graph(const std::string& path);
/// The graph without the heading with which `croton inspect --graph` prints it.
std::string_view graph_part(std::string_view text);

}  // namespace croton::tool
