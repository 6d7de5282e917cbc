// Croton on a GPU, by the rules of README.md, "On a GPU":
//
//   croton_gpu_bench [--device cuda0] [--workloads a,b] [--budget 1] [--scale 1] [--ceilings 1] [--copy-mib 2048]
//   croton_gpu_bench --profile a,b [--device cuda0] [--scale 1]
//   croton_gpu_bench --list 1
//
// Prints each result as a line of JSON as soon as possible, so that a stopped run has printed its results so far: first
// the versions, then the ceilings of the device, then the workloads. A result is checked before it is timed; one that
// is wrong, or was not computed on the device, has an "error". The exit status is 1 if there was one.
//
// With --profile it only calls each of the workloads four times, without checks and timing, for a profiler, and prints
// the names of their kernels. With --list it prints the names of all workloads.
#include <croton/croton.hpp>

#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "gpu/ceilings.hpp"
#include "gpu/workloads.hpp"
#include "program.hpp"
#include "record.hpp"
#include "runtime/cuda/driver/context.hpp"
#include "runtime/cuda/libraries/blaslt.hpp"
#include "runtime/cuda/libraries/dnn.hpp"
#include "runtime/cuda/toolkit/toolkit.hpp"
#include "sampling.hpp"

namespace {

namespace ct = croton;
namespace cuda = croton::runtime::cuda;
using bench::Record;
using bench::split;

struct Options {
  std::string device = "cuda0";
  std::vector<std::string> workloads = bench::gpu::names();
  double budget = 1;
  std::int64_t scale = 1;
  bool ceilings = true;
  std::size_t copy_mib = 2048;
  std::vector<std::string> profiled;  // instead of timing
  bool list = false;
};

void print(const Record& record) { std::cout << record.text() << std::endl; }

/// The number of "cuda1"; none for other devices.
int number_of(const std::string& device) { return device.starts_with("cuda") ? std::stoi("0" + device.substr(4)) : -1; }

/// Waits for all work of a real device. Calls on a simulated one and on the CPU return when the work is done.
std::function<void()> wait_for(const std::string& device) {
  if (number_of(device) < 0 || ct::flag("cuda_simulator") != "0") return [] {};
  return [opened = cuda::Context::get(number_of(device))] { opened->synchronize(); };
}

void print_versions(const Options& options) {
  Record record;
  record.add("program", "croton").add("croton", CROTON_BENCH_VERSION).add("device", options.device);
  if (number_of(options.device) >= 0 && ct::flag("cuda_simulator") == "0") {
    const cuda::GpuFacts& facts = cuda::Context::get(number_of(options.device))->facts();
    record.add("name", facts.name).add("multiprocessors", facts.multiprocessors);
    record.add("l2_bytes", static_cast<double>(facts.l2_bytes));
    if (cuda::BlasLt::available()) record.add("cublaslt", cuda::BlasLt::found().version);
    if (cuda::Dnn::available()) record.add("cudnn", cuda::Dnn::found().version);
  }
  print(record);
}

void print_ceiling(const std::string& name, const std::string& unit, const std::function<bench::gpu::Rate()>& measure) {
  Record record;
  record.add("program", "croton").add("ceiling", name).add("unit", unit);
  try {
    const bench::gpu::Rate rate = measure();
    record.add("median", rate.median).add("p10", rate.low).add("p90", rate.high).add("samples", rate.samples);
  } catch (const std::exception& error) {
    record.add("error", error.what());
  }
  print(record);
}

void print_ceilings(const Options& options) {
  const int device = number_of(options.device);
  if (!options.ceilings || device < 0) return;
  print_ceiling("copy", "bytes/s", [&] { return bench::gpu::copy_rate(device, options.copy_mib << 20); });
  const std::int64_t n = 8192 / options.scale;
  print_ceiling("product_float32", "flop/s", [&] { return bench::gpu::product_rate(device, n, false); });
  print_ceiling("product_tf32", "flop/s", [&] { return bench::gpu::product_rate(device, n, true); });
}

void add_timing(const bench::Spread& timing, const std::string& prefix, Record& record) {
  record.add(prefix + "median_s", timing.median).add(prefix + "p10_s", timing.low).add(prefix + "p90_s", timing.high);
  record.add(prefix + "samples", timing.samples).add(prefix + "calls_per_sample", timing.calls_per_sample);
}

/// Throws if the result is wrong or is not on the device.
void check_result(const bench::gpu::Work& work, const Options& options, Record& record) {
  for (int i = 1; i < work.checked_steps; ++i) work.step();
  const double error = work.error();
  record.add("error_vs_float64", error).add("tolerance", work.tolerance);
  if (!(error <= work.tolerance)) {
    std::ostringstream text;
    text << "wrong result: error " << error;
    throw std::runtime_error(text.str());
  }
  const std::string home = work.results[0].home();
  record.add("home", home);
  if (home != options.device) throw std::runtime_error("the result is on " + home + ", not on " + options.device);
}

/// True if the result was right.
bool run_one(const std::string& name, const Options& options, const std::function<void()>& wait) {
  Record record;
  record.add("program", "croton").add("workload", name);
  bool good = true;
  try {
    const double begin = bench::now();
    const bench::gpu::Work work = bench::gpu::make(name, options.scale);
    const double start = bench::now();
    work.step();
    wait();
    const double called = bench::now();
    record.add("inputs_s", start - begin - work.build_s).add("build_s", work.build_s);
    record.add("first_call_s", called - start).add("bytes", work.bytes).add("flop", work.flop);
    check_result(work, options, record);
    record.add("check_s", bench::now() - called);
    add_timing(bench::sample_waiting_once([&] { work.step(); }, wait, options.budget), "", record);
    add_timing(bench::sample_waiting_always([&] { work.step(); }, wait, options.budget / 4), "synced_", record);
  } catch (const std::exception& error) {
    record.add("error", error.what());
    good = false;
  }
  print(record);
  return good;
}

/// As a JSON list without duplicates; names of kernels need no quoting.
std::string kernels_of(const ct::Function& step) {
  std::set<std::string> names;
  for (const ct::KernelInfo& kernel : step.kernels()) names.insert(kernel.name);
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "\"" : ", \"") + name + '"';
  return "[" + list + "]";
}

/// One call that compiles, and three more.
void profile(const std::string& name, const Options& options, const std::function<void()>& wait) {
  constexpr int calls = 4;
  const bench::gpu::Work work = bench::gpu::make(name, options.scale);
  for (int i = 0; i < calls; ++i) {
    work.step();
    wait();
  }
  Record record;
  record.add("program", "croton").add("profile", name).add("calls", calls);
  print(record.add_raw("kernels", kernels_of(work.step)));
}

int run(const Options& options) {
  if (options.list) {
    for (const std::string& name : bench::gpu::names()) std::cout << name << '\n';
    return 0;
  }
  // The library sets them when a function is called; here they must apply before that.
  cuda::set_toolkit(croton::base::config());
  cuda::set_driver_library(ct::flag("cuda_driver"));
  const bool measures = options.profiled.empty();
  if (measures) {
    print_versions(options);
    print_ceilings(options);
  }
  ct::set_flag("device", options.device);
  const std::function<void()> wait = wait_for(options.device);
  for (const std::string& name : options.profiled) profile(name, options, wait);
  if (!measures) return 0;
  bool good = true;
  for (const std::string& name : options.workloads) good = run_one(name, options, wait) && good;
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  return bench::run_program(
      argc, argv,
      {{"--device", [&](const std::string& value) { options.device = value; }},
       {"--workloads", [&](const std::string& value) { options.workloads = split(value); }},
       {"--budget", [&](const std::string& value) { options.budget = std::stod(value); }},
       {"--scale", [&](const std::string& value) { options.scale = std::stoll(value); }},
       {"--ceilings", [&](const std::string& value) { options.ceilings = value != "0"; }},
       {"--copy-mib", [&](const std::string& value) { options.copy_mib = std::stoull(value); }},
       {"--profile", [&](const std::string& value) { options.profiled = split(value); }},
       {"--list", [&](const std::string& value) { options.list = value != "0"; }}},
      [&] { return run(options); },
      [](const std::string& text) { print(Record().add("program", "croton").add("error", text)); });
}
