#include "gpu/workloads.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "gpu/makers.hpp"
#include "sampling.hpp"

namespace bench::gpu {

namespace ct = croton;

namespace {

/// A size divided by `scale`, 1 at least.
std::int64_t part(std::int64_t size, std::int64_t scale) { return std::max<std::int64_t>(1, size / scale); }

struct Entry {
  std::string_view name;
  Work (*make)(std::int64_t scale);
};

/// In the order of the report. bench/peers/gpu_workloads.py has the same names and sizes.
constexpr std::array entries{
    Entry{"copy", [](std::int64_t scale) { return copy(part(1 << 26, scale)); }},
    Entry{"add", [](std::int64_t scale) { return add(part(1 << 26, scale)); }},
    Entry{"axpy_chain_1e8", [](std::int64_t scale) { return axpy_chain(part(100'000'000, scale)); }},
    Entry{"axpy_chain_1e6", [](std::int64_t scale) { return axpy_chain(part(1'000'000, scale)); }},
    Entry{"transpose", [](std::int64_t scale) { return transpose(part(8192, scale), 8192); }},
    Entry{"softmax_rows", [](std::int64_t scale) { return softmax(part(65536, scale), 1024); }},
    Entry{"softmax_4096x32768", [](std::int64_t scale) { return softmax(part(4096, scale), 32768); }},
    Entry{"softmax_128x32768", [](std::int64_t scale) { return softmax(part(128, scale), 32768); }},
    Entry{"layer_norm", [](std::int64_t scale) { return layer_norm(part(8192, scale), 4096); }},
    Entry{"layer_norm_grad", [](std::int64_t scale) { return layer_norm_grad(part(8192, scale), 4096); }},
    Entry{"reduce_sum_0", [](std::int64_t scale) { return reduce_sum(part(16384, scale), 8192, 0); }},
    Entry{"reduce_sum_1", [](std::int64_t scale) { return reduce_sum(part(16384, scale), 8192, 1); }},
    Entry{"reduce_sum_all", [](std::int64_t scale) { return reduce_sum_all(part(16384, scale), 8192); }},
    Entry{"adam_100", adam},
    Entry{"mlp_step", mlp_step},
    Entry{"mlp_big", mlp_big},
};

}  // namespace

ct::SharedVariable written(int rank, const std::string& name) {
  return ct::shared(ct::Array::zeros(ct::DType::float32, ct::Sizes(static_cast<std::size_t>(rank))), {.name = name});
}

Work work_of(std::vector<ct::SharedVariable> results, const std::function<Updates()>& build) {
  Work work;
  work.results = std::move(results);
  const double start = now();
  work.step = ct::function({}, ct::OutputList{std::vector<ct::Out>{}}, {.updates = build()});
  work.build_s = now() - start;
  return work;
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.emplace_back(entry.name);
  return names;
}

Work make(std::string_view name, std::int64_t scale) {
  const auto found = std::ranges::find(entries, name, &Entry::name);
  if (found == entries.end()) throw std::invalid_argument("no workload is called " + std::string(name));
  return found->make(scale);
}

}  // namespace bench::gpu
