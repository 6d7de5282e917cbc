// The first minute on a GPU: does each part of the CUDA back-end do what the CPU does?
//
//   croton_gpu_smoke [--device cuda0] [--small 1] [--list 1] [--skip A;B] [--stop 1] [--plant memory|race]
//
// Prints lines of JSON, each as soon as possible: {"begin": NAME} before a check, so that a check that kills the
// process can be identified, and {"check": NAME, "status": "passed" | "failed" | "not available", "why", "seconds"}
// after it. The exit status is 1 if one failed; with --stop the program ends at the first failure. --plant makes an
// error for sanitizers to find, and checks nothing.
#include <croton/croton.hpp>
#include <croton/device.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "bench/record.hpp"
#include "own_kernels.hpp"
#include "smoke.hpp"

namespace croton::smoke {
namespace {

struct Options {
  Machine machine;
  bool list = false;
  bool stop = false;
  std::vector<std::string> skip;
  std::string plant;
};

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& name = arguments[i];
    if (i + 1 == arguments.size()) throw std::invalid_argument(name + " needs a value");
    const std::string& value = arguments[i + 1];
    if (name == "--device")
      options.machine.device = value;
    else if (name == "--small")
      options.machine.small = value != "0";
    else if (name == "--list")
      options.list = value != "0";
    else if (name == "--stop")
      options.stop = value != "0";
    else if (name == "--skip")
      options.skip = bench::split(value, ';');
    else if (name == "--plant")
      options.plant = value;
    else
      throw std::invalid_argument(name + " is not known: see the top of tests/gpu_check/smoke/main.cpp");
  }
  return options;
}

std::vector<Check> all_checks() {
  std::vector<Check> all;
  for (const auto& group : {kernel_checks(), routine_checks(), grid_checks(), library_checks(), function_checks()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void print(const bench::Record& record) { std::cout << record.text() << std::endl; }

/// False if it failed.
bool run(const Check& check, const Machine& machine) {
  print(bench::Record().add("begin", check.name));
  const double begin = seconds_now();
  bench::Record record;
  record.add("check", check.name);
  bool good = true;
  try {
    const std::string remark = check.run(machine);
    record.add("status", "passed");
    if (!remark.empty()) record.add("why", remark);
  } catch (const NotAvailable& reason) {
    record.add("status", "not available").add("why", reason.what());
  } catch (const std::exception& error) {
    record.add("status", "failed").add("why", error.what());
    good = false;
  }
  print(record.add("seconds", seconds_now() - begin));
  return good;
}

int run_all(Options options) {
  std::vector<Check> chosen = all_checks();
  std::erase_if(chosen, [&](const Check& c) { return std::ranges::find(options.skip, c.name) != options.skip.end(); });
  if (options.list) {
    for (const Check& check : chosen) std::cout << check.name << "\n";
    return 0;
  }
  Machine& machine = options.machine;
  devices();  // from here on flags that name libraries apply, also to direct calls of the driver
  machine.driver = machine.device.starts_with("cuda") && flag("cuda_simulator") == "0";
  if (machine.driver) machine.index = std::stoi("0" + machine.device.substr(4));
  if (!options.plant.empty()) {
    plant(machine, options.plant);
    return 0;
  }
  bool good = true;
  for (const Check& check : chosen) {
    good = run(check, machine) && good;
    if (!good && options.stop) break;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace croton::smoke

int main(int argc, char** argv) {
  try {
    return croton::smoke::run_all(croton::smoke::parse({argv + 1, argv + argc}));
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 2;
  }
}
