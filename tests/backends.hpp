// The back-ends that results are compared on, as settings for croton::change_flags that hold while a function is
// compiled and while it is called. The environment variable CROTON_TEST_DEVICES adds devices: with "cuda0", every test
// that goes through these lists runs on the first GPU too. CROTON_TEST_SIMULATOR=0 leaves the simulator out: where time
// on a GPU is short, and in the quick tests, in which cases about CUDA text alone then have nothing to run on.
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace croton_test {

using Backends = std::vector<std::string>;

/// "device=cuda0" and so on, for each name in CROTON_TEST_DEVICES; none where it is not set.
inline Backends devices() {
  const char* names = std::getenv("CROTON_TEST_DEVICES");
  std::istringstream list(names == nullptr ? "" : names);
  Backends all;
  for (std::string name; std::getline(list, name, ',');) all.push_back("device=" + name);
  return all;
}

/// Whether the simulator is left out.
inline bool without_simulator() {
  const char* setting = std::getenv("CROTON_TEST_SIMULATOR");
  return setting != nullptr && std::string(setting) == "0";
}

/// `first`, then the devices.
inline Backends with_devices(Backends first) {
  if (without_simulator()) std::erase(first, "mode=simulate");
  for (std::string& device : devices()) first.push_back(std::move(device));
  return first;
}

/// What is not the host: the simulator and the devices, second CPUs among them.
inline Backends gpu_backends() { return with_devices({"mode=simulate"}); }
/// Whether it is the host, or another CPU.
inline bool is_cpu(const std::string& backend) { return backend == "mode=run" || backend.starts_with("device=cpu"); }
/// What runs CUDA text.
inline Backends cuda_backends() {
  Backends all = gpu_backends();
  std::erase_if(all, is_cpu);
  return all;
}
/// Of each kind one, for tests that take long: the reference evaluator, the host, and what runs CUDA text.
inline Backends brief_backends() {
  Backends all{"mode=reference", "mode=run"};
  const Backends cuda = cuda_backends();
  if (!cuda.empty()) all.push_back(cuda.front());
  return all;
}
/// What runs compiled kernels.
inline Backends compiled_backends() { return with_devices({"mode=run", "mode=simulate"}); }
/// All, with the reference evaluator.
inline Backends backends() { return with_devices({"mode=run", "mode=simulate", "mode=reference"}); }

}  // namespace croton_test
