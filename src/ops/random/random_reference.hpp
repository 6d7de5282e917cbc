// References of the rows of random.cpp, in plain C++: slow, simple, and independent of
// codegen_templates/common/random.cuh, which has the sources of the methods.
#pragma once

#include <cstdint>
#include <utility>

namespace croton::ops::reference {

/// 128 bits by Philox4x32-10: the lower 64 bits, the higher 64 bits.
std::pair<std::uint64_t, std::uint64_t> philox(std::uint64_t key, std::uint64_t count, std::uint64_t index);
/// (k + 1/2) 2^-23 and (k + 1/2) 2^-52 of the highest bits k.
double unit32(std::uint64_t bits);
double unit64(std::uint64_t bits);
double normal32(std::uint64_t bits);
double normal64(std::uint64_t low, std::uint64_t high);
/// bits * n / 2^64, rounded down.
std::uint64_t random_below(std::uint64_t bits, std::uint64_t n);
double sample_log_gamma(std::uint64_t key, std::uint64_t count, std::uint64_t index, double shape);
double sample_poisson(std::uint64_t key, std::uint64_t count, std::uint64_t index, double mean);
double sample_binomial(std::uint64_t key, std::uint64_t count, std::uint64_t index, double n, double p);

}  // namespace croton::ops::reference
