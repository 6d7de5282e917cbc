// `croton inspect`: what the compiler makes of an example or of a graph in a file, for a named target.
#pragma once

#include <string>
#include <vector>

namespace croton::tool {

/// What is shown.
struct InspectRequest {
  std::string what;  ///< an example's name, or a file
  std::string target = "cuda:sm_90";
  bool graph = false, rewrites = false, plan = false, kernels = false, ptx = false, facts = false, sass = false;
};

/// The parts asked for, of a graph in its own language. Text is untrusted: every fault is a croton::Error.
std::string inspect_text(const std::string& text, const InspectRequest& request);

/// Runs what the arguments say. 0 where all was shown, 2 where the arguments were not understood; throws croton::Error.
int inspect(const std::vector<std::string>& arguments);

}  // namespace croton::tool
