// `croton inspect`: shows the compiler's results for an example or for a graph in a file, for a named target.
#pragma once

#include <croton/array.hpp>

#include <string>
#include <vector>

namespace croton::tool {

/// The example or file, the target, and the parts to show.
struct InspectRequest {
  std::string what;  ///< an example's name, or a file
  std::string target = "cuda:sm_90";
  std::vector<Sizes> shapes = {};  ///< of the arguments of a call; empty: example sizes
  bool graph = false, rewrites = false, plan = false, kernels = false, schedule = false, ptx = false, facts = false,
       sass = false;
};

/// The requested parts, for a graph in its own language. The text is untrusted: every error in it is a croton::Error.
std::string inspect_text(const std::string& text, const InspectRequest& request);

/// Runs the command with these arguments. Returns 0, or 2 for invalid arguments; throws croton::Error.
int inspect(const std::vector<std::string>& arguments);

}  // namespace croton::tool
