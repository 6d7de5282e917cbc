#include "figures.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "runtime/cuda/inspect/entry_code.hpp"
#include "runtime/cuda/inspect/facts.hpp"
#include "runtime/cuda/libraries/nvrtc.hpp"

namespace croton::kernel_table {

namespace cuda = runtime::cuda;

const Compiler::Result& Compiler::compile(const KernelInfo& kernel) {
  auto [at, is_new] = results_.try_emplace({kernel.digest, kernel.target});
  Result& result = at->second;
  if (!is_new) return result;
  // The options of Form::facts and Form::lined_cubin together (runtime/cuda/compiler.cpp): one compilation gives both.
  const std::vector<std::string> options{"--generate-line-info", "--ptxas-options=--verbose"};
  const auto begin = std::chrono::steady_clock::now();
  const cuda::Nvrtc::Result compiled =
      cuda::Nvrtc::instance().compile(kernel.unit, kernel.target.substr(5), options, false, "/croton/kernel.cu");
  result.family = kernel.name.substr(0, kernel.name.rfind('_'));
  result.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  result.entries = cuda::entry_codes(kernel, cuda::collect_facts(compiled.log, compiled.cubin), compiled.cubin);
  return result;
}

void Compiler::print_times() const {
  std::map<std::string, std::vector<double>> by_family;
  for (const auto& [key, result] : results_) by_family[result.family].push_back(result.milliseconds);
  for (auto& [family, times] : by_family) {
    std::ranges::sort(times);
    fmt::print("NVRTC: {}: {} kernels, median {:.0f} ms, longest {:.0f} ms\n", family, times.size(),
               times[times.size() / 2], times.back());
  }
}

namespace {

/// `alone`: the kernel has no second entry, so that all of its launches are of this one.
EntryFigures make_entry(const KernelInfo& kernel, const cuda::EntryCode& code, bool alone,
                        const std::string& architecture) {
  EntryFigures entry;
  const bool finish = cuda::is_finish(code);
  entry.name = kernel.name.substr(0, kernel.name.rfind('_')) + (finish ? ", finish" : "");
  entry.digest = kernel.digest;
  entry.launch = cuda::launch_of(kernel, code);
  entry.code = code;
  entry.occupancy = cuda::occupancy_of(kernel, code, architecture);
  entry.in_flight = cuda::bytes_in_flight(kernel, code, architecture, codegen::h200);
  entry.serial_joins = finish || alone ? cuda::serial_joins(kernel) : 0;  // the second entry joins the parts
  entry.launches = alone ? kernel.launches : 1;
  if (!finish) entry.bytes = static_cast<double>(cuda::memory_bytes(kernel, code, architecture, codegen::h200));
  entry.time = cuda::model_launch(kernel, code, architecture, codegen::h200);
  return entry;
}

/// Adds the launches of an entry, to those of the same code if there are some.
void add(EntryFigures entry, GraphFigures& figures) {
  figures.bytes += entry.bytes;
  figures.launches += entry.launches;
  figures.seconds += entry.time.seconds() + static_cast<double>(entry.launches) * codegen::h200.launch_seconds;
  const auto same = std::ranges::find_if(figures.entries, [&](const EntryFigures& other) {
    return other.digest == entry.digest && other.name == entry.name;
  });
  if (same == figures.entries.end()) {
    figures.entries.push_back(std::move(entry));
    return;
  }
  if (entry.launch.blocks > same->launch.blocks) {
    same->launch = entry.launch;
    same->in_flight = entry.in_flight;
  }
  same->serial_joins = std::max(same->serial_joins, entry.serial_joins);
  same->launches += entry.launches;
  same->bytes += entry.bytes;
  same->time.memory += entry.time.memory;
  same->time.issue += entry.time.issue;
  same->time.chain += entry.time.chain;
}

}  // namespace

GraphFigures figures_of(const NamedGraph& graph, const std::string& architecture, Compiler& compiler) {
  GraphFigures figures;
  figures.products = graph.function.product_count();
  for (const KernelInfo& kernel : graph.function.kernels("cuda:" + architecture, {.shapes = graph.shapes})) {
    const std::vector<cuda::EntryCode>& codes = compiler.compile(kernel).entries;
    for (const cuda::EntryCode& code : codes) add(make_entry(kernel, code, codes.size() == 1, architecture), figures);
  }
  constexpr double tenth = 0.1;
  for (EntryFigures& entry : figures.entries)
    entry.matters = entry.bytes >= tenth * figures.bytes || entry.time.seconds() >= tenth * figures.seconds;
  if (graph.least_bytes > 0) {
    figures.floor_seconds = graph.least_bytes / (codegen::h200.attainable_share * codegen::h200.copy_bytes_per_second) +
                            codegen::h200.launch_seconds;
  }
  return figures;
}

}  // namespace croton::kernel_table
