// Names of layers and weights.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace croton::nn {

/// "BatchNormalization" as "batch_normalization", "Conv2D" as "conv2d".
std::string snake_case(std::string_view type);

/// `name`, or where it is taken `name` with _1, _2, ... behind; takes it.
std::string unique_name(const std::string& name, std::set<std::string>& taken);

}  // namespace croton::nn
