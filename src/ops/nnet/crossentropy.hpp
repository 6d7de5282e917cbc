// Shared code of the cross-entropies of nnet.cpp and nnet_losses.cpp.
#pragma once

#include <croton/nnet.hpp>

#include <string_view>

namespace croton::ops {

/// TypeError for complex numbers, and for an ignore_class unless targets are class numbers; ValueError for a smoothing
/// outside of [0, 1].
void check_crossentropy(std::string_view op, const Operand& p, const Operand& target,
                        const nnet::CrossentropyOptions& options, bool classes);
/// Whether the targets are class numbers, one for each row of probabilities.
bool are_classes(const Operand& p, const Operand& target);
/// TypeError unless the targets are class numbers or have the rank of the probabilities.
void demand_targets(std::string_view op, const Operand& p, const Operand& target);
/// (1 - s) t + s / classes of float targets; t itself for s = 0.
Variable smoothed(const Variable& target, double smoothing, const Operand& classes);

}  // namespace croton::ops
