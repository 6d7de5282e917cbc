// Runs the workloads of README.md on Croton and prints a JSON object, as the programs in peers/ do:
//
//   croton_bench [--threads 1] [--mode time|compile|memory] [--workloads a,b] [--budget 0.5] [--json FILE]
//
// A result is checked before it is timed; one that is wrong has an "error" instead of a time, and the program then ends
// with status 1. Mode compile times the first result, mode memory prints the peak memory of six calls; run them in a
// new process per workload.
#include <croton/croton.hpp>

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cases.hpp"
#include "fits.hpp"
#include "inputs.hpp"
#include "memory.hpp"
#include "program.hpp"
#include "record.hpp"
#include "reference.hpp"
#include "sampling.hpp"

namespace {

namespace ct = croton;
using bench::now;
using bench::Record;
using bench::split;

struct Options {
  int threads = 1;
  double budget = 0.5;
  std::string mode = "time";
  std::string file = "-";
  std::vector<std::string> workloads = {
      "axpy_chain_1e3", "axpy_chain_1e6", "axpy_chain_1e7", "black_scholes", "softmax_rows", "layernorm_rows",
      "reduce_sum_0",   "reduce_sum_1",   "reduce_sum_all", "transpose_add", "matpow",       "mlp_step",
      "logreg_step",    "cnn_step",       "lstm_forward",   "lstm_step",     "fit_mlp",      "fit_cnn",
      "fit_tiny",       "call_arg",       "call_shared"};
};

/// Keeps the process on the last `threads` of its cores, as the peers do.
int pin(int threads) {
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return threads;
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  int count = 0;
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && count < threads; --cpu) {
    if (!CPU_ISSET(cpu, &all)) continue;
    CPU_SET(cpu, &chosen);
    ++count;
  }
  sched_setaffinity(0, sizeof chosen, &chosen);
  return count;
}

double largest(const std::vector<double>& values) {
  double top = 1e-30;
  for (const double v : values) top = std::max(top, std::abs(v));
  return top;
}

/// max|got - want| / max|want|, for the worst result.
double error_of(const std::vector<ct::Array>& got, const std::vector<std::vector<double>>& want) {
  if (got.size() != want.size()) throw std::runtime_error("the number of results is wrong");
  double worst = 0;
  for (std::size_t r = 0; r < got.size(); ++r) {
    if (got[r].size() != static_cast<std::int64_t>(want[r].size()))
      throw std::runtime_error("a result has a wrong size");
    double off = 0;
    for (std::size_t i = 0; i < want[r].size(); ++i) {
      const double value = got[r].as_double(static_cast<std::int64_t>(i));
      if (!std::isfinite(value)) throw std::runtime_error("a result is not finite");
      off = std::max(off, std::abs(value - want[r][i]));
    }
    worst = std::max(worst, off / largest(want[r]));
  }
  return worst;
}

/// The results in the order of the reference, for a case whose first call returned `first`.
std::vector<ct::Array> results_of(const bench::Case& work, const ct::Outputs& first) {
  if (work.weights.empty()) return first.arrays();
  std::vector<float> losses{first.item<float>()};
  while (static_cast<int>(losses.size()) < bench::checked_steps) losses.push_back(work.call().item<float>());
  std::vector<ct::Array> results{ct::Array(losses)};
  for (const ct::SharedVariable& w : work.weights) results.push_back(w.get_value());
  return results;
}

/// The sum of the absolute values of all results, by which programs can be compared.
double checksum_of(const std::vector<ct::Array>& results) {
  double sum = 0;
  for (const ct::Array& array : results) {
    for (std::int64_t i = 0; i < array.size(); ++i) sum += std::abs(array.as_double(i));
  }
  return sum;
}

void check(const std::string& name, std::vector<ct::Array> results, Record& record) {
  const std::vector<std::vector<double>> wanted = bench::reference(name);
  if (name == "cnn_step") results.resize(wanted.size());  // the losses
  const double error = error_of(results, wanted), allowed = bench::tolerance(name);
  record.add("error_vs_reference", error);
  record.add("checksum", checksum_of(results));
  if (!(error <= allowed)) {
    throw std::runtime_error("wrong result: error " + std::to_string(error) + ", allowed " + std::to_string(allowed));
  }
}

/// Seconds of a call, or of each of its steps.
void add_timing(const bench::Timing& timing, Record& record, std::int64_t steps = 1) {
  const auto share = static_cast<double>(steps);
  record.add("median_s", timing.median / share);
  record.add("p25_s", timing.lower_quartile / share);
  record.add("p75_s", timing.upper_quartile / share);
  record.add("min_s", timing.lowest / share);
  record.add("samples", timing.samples);
  record.add("inner", timing.calls_per_sample);
}

/// The resident memory before the inputs, with them, and its peak while building and calling six times. The first
/// result is kept during the later calls, as users keep it.
void measure_memory(const std::string& name, Record& record) {
  record.add("before_mib", bench::resident_mib());
  std::vector<ct::Array> inputs;
  for (const bench::Input& input : bench::inputs_of(name)) inputs.push_back(bench::array_without_traces(input));
  bench::forget_peak();
  record.add("inputs_mib", bench::resident_mib());
  const bench::Case work = bench::make_case(name, inputs);
  const ct::Outputs first = work.call();
  for (int i = 0; i < 5; ++i) work.call();
  record.add("peak_mib", bench::peak_mib());
}

void add_counts(const ct::CallCounts& counts, Record& record) {
  record.add("compiled", static_cast<double>(counts.compiled));
  record.add("cached", static_cast<double>(counts.cached));
}

/// How much of the work other threads did: the kernels' parts that they were offered, and those of these that they did.
void add_parts(const ct::CallCounts& counts, Record& record) {
  record.add("offered_parts", static_cast<double>(counts.offered_parts));
  record.add("worker_parts", static_cast<double>(counts.worker_parts));
}

void measure_fit(const std::string& name, const Options& options, Record& record) {
  if (options.mode != "time") throw std::invalid_argument("a training is measured in mode time alone");
  bench::Fit fit(name);
  const std::vector<ct::Array> results = fit.first_steps(bench::checked_steps);
  add_counts(fit.step_function().counts(), record);
  check(name, results, record);
  add_timing(bench::sample([&] { fit.epoch(); }, options.budget), record, fit.steps());
  add_parts(fit.step_function().counts(), record);
}

void run_one(const std::string& name, const Options& options, Record& record, Record& versions) {
  if (name.starts_with("fit_")) return measure_fit(name, options, record);
  if (options.mode == "memory") return measure_memory(name, record);
  const std::vector<ct::Array> inputs = bench::case_inputs(name);
  const double start = now();
  const bench::Case work = bench::make_case(name, inputs);
  const double built = now();
  const ct::Outputs first = work.call();
  record.add("build_s", built - start);
  record.add("first_call_s", now() - built);
  const ct::CallCounts counts = work.function.counts();
  add_counts(counts, record);
  if (options.mode == "compile") {
    const double again = now();
    work.call();
    record.add("later_call_s", now() - again);
    if (!work.weights.empty()) return;  // the same step is checked in mode time
  }
  check(name, results_of(work, first), record);
  if (name == "mlp_step") versions.add("products", counts.product_library);
  if (options.mode == "time") add_timing(bench::sample([&] { work.call(); }, options.budget), record);
  add_parts(work.function.counts(), record);
}

/// True if every workload passed.
bool run_all(const Options& options, Record& results, Record& versions) {
  bool good = true;
  for (const std::string& name : options.workloads) {
    Record record;
    try {
      run_one(name, options, record, versions);
    } catch (const std::exception& error) {
      record.add("error", std::string(error.what()));
      good = false;
    }
    std::cerr << "croton, threads " << options.threads << ", " << name << ": " << record.text() << "\n";
    results.add_raw(name, record.text());
  }
  return good;
}

int run(Options options) {
  options.threads = pin(options.threads);
  ct::set_flag("threads", std::to_string(options.threads));
  Record results, versions, all;
  versions.add("croton", std::string(CROTON_BENCH_VERSION));
  const bool good = run_all(options, results, versions);
  all.add("peer", std::string("croton"));
  all.add("threads", options.threads);
  all.add("mode", options.mode);
  all.add_raw("import_s",
              "null");  // the library is loaded before main; compilers are loaded in build_s and first_call_s
  all.add_raw("versions", versions.text());
  all.add_raw("results", results.text());
  if (options.file == "-") {
    std::cout << all.text() << "\n";
  } else {
    std::ofstream(options.file) << all.text() << "\n";
  }
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const auto set_mode = [&](const std::string& mode) {
    if (mode != "time" && mode != "compile" && mode != "memory")
      throw std::invalid_argument("a mode is time, compile or memory, not " + mode);
    options.mode = mode;
  };
  return bench::run_program(argc, argv,
                            {{"--threads", [&](const std::string& value) { options.threads = std::stoi(value); }},
                             {"--budget", [&](const std::string& value) { options.budget = std::stod(value); }},
                             {"--workloads", [&](const std::string& value) { options.workloads = split(value); }},
                             {"--json", [&](const std::string& value) { options.file = value; }},
                             {"--mode", set_mode}},
                            [&] { return run(options); });
}
