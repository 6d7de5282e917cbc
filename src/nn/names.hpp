// Names of layers and weights.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace croton::nn {

/// "BatchNormalization" becomes "batch_normalization", "Conv2D" becomes "conv2d".
std::string snake_case(std::string_view type);

/// `name`, or if that is taken the first free of `name`_1, `name`_2, ...; adds it to `taken`.
std::string unique_name(const std::string& name, std::set<std::string>& taken);

}  // namespace croton::nn
