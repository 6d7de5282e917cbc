// `croton explain`: the distance of a function's steps to the limit of a machine.
#pragma once

#include <string>
#include <vector>

namespace croton::tool {

int explain(const std::vector<std::string>& arguments);

}  // namespace croton::tool
