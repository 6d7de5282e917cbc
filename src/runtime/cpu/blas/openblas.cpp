#include "runtime/cpu/blas/openblas.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace croton::runtime::cpu {
namespace {

// Cores of OpenBLAS whose kernels use neither AVX2 nor FMA, and those whose kernels lack AVX-512 only. Names in neither
// list are newer than both, or belong to other processors.
constexpr std::array narrow{"Katmai",      "Coppermine", "Northwood",  "Prescott",     "Banias",
                            "Atom",        "Core2",      "Penryn",     "Dunnington",   "Nehalem",
                            "Sandybridge", "Athlon",     "Opteron",    "Opteron_SSE3", "Barcelona",
                            "Bobcat",      "Bulldozer",  "Piledriver", "Steamroller",  "Nano"};
constexpr std::array wide{"Haswell", "Zen", "Excavator"};

bool among(const auto& names, std::string_view name) {
  return std::ranges::any_of(names, [&](std::string_view known) { return known == name; });
}

}  // namespace

VectorWidth vector_width() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return VectorWidth::bits512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return VectorWidth::bits256;
#endif
  return VectorWidth::bits128;
}

std::string better_core(std::string_view chosen, VectorWidth width) {
  const bool is_narrow = among(narrow, chosen);
  if (width == VectorWidth::bits512 && (is_narrow || among(wide, chosen))) return "SkylakeX";
  if (width == VectorWidth::bits256 && is_narrow) return "Haswell";
  return "";
}

struct WithVariable::Environment {
  std::string assignment;
  std::vector<char*> entries;

  explicit Environment(std::string text) : assignment(std::move(text)) {}
};

WithVariable::WithVariable(std::string assignment) : before_(environ) {
  // Never freed: another thread may still read it when this object ends.
  static auto& all = *new std::vector<std::unique_ptr<Environment>>;
  added_ = all.emplace_back(std::make_unique<Environment>(std::move(assignment))).get();
  for (char** entry = before_; entry && *entry; ++entry) added_->entries.push_back(*entry);
  added_->entries.push_back(added_->assignment.data());
  added_->entries.push_back(nullptr);
  environ = added_->entries.data();
}

WithVariable::~WithVariable() {
  // If the environment has changed meanwhile, the change stays, and so does the variable.
  if (environ == added_->entries.data()) environ = before_;
}

}  // namespace croton::runtime::cpu
