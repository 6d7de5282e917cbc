#include "runtime/simulator/architecture.hpp"

#include "base/index.hpp"

namespace croton::runtime::simulator {
namespace {

constexpr std::size_t kib = 1024;

// In the order of base::SimulatedArchitecture.
constexpr Architecture architectures[] = {
    {"sm_75", 7, 5, 1024, 16, 64 * kib, 0},          {"sm_80", 8, 0, 2048, 32, 164 * kib, 1 * kib},
    {"sm_86", 8, 6, 1536, 16, 100 * kib, 1 * kib},   {"sm_89", 8, 9, 1536, 24, 100 * kib, 1 * kib},
    {"sm_90", 9, 0, 2048, 32, 228 * kib, 1 * kib},   {"sm_100", 10, 0, 2048, 32, 228 * kib, 1 * kib},
    {"sm_120", 12, 0, 1536, 24, 100 * kib, 1 * kib},
};

}  // namespace

const Architecture& find_architecture(base::SimulatedArchitecture which) {
  static_assert(std::size(architectures) == base::simulated_architectures);
  return architectures[base::ordinal(which)];
}

const Architecture& current_architecture() { return find_architecture(base::config().cuda_simulator_architecture); }

}  // namespace croton::runtime::simulator
