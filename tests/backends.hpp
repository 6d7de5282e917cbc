// The back-ends on which results are compared, as settings for croton::change_flags while a function is compiled and
// called. The environment variable CROTON_TEST_DEVICES adds devices: with "cuda0", every test that uses these lists
// runs on the first GPU too. CROTON_TEST_SIMULATOR=0 omits the simulator, to save time on a GPU and in the quick tests;
// cases about CUDA text alone then have no back-end.
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace croton_test {

using Backends = std::vector<std::string>;

/// "device=cuda0" and so on, for each name in CROTON_TEST_DEVICES; empty if it is not set.
inline Backends devices() {
  const char* names = std::getenv("CROTON_TEST_DEVICES");
  std::istringstream list(names == nullptr ? "" : names);
  Backends all;
  for (std::string name; std::getline(list, name, ',');) all.push_back("device=" + name);
  return all;
}

/// Whether the simulator is omitted.
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

/// The back-ends that are not the host: the simulator and the devices, additional CPUs included.
inline Backends gpu_backends() { return with_devices({"mode=simulate"}); }
/// Whether the back-end is the host or another CPU.
inline bool is_cpu(const std::string& backend) { return backend == "mode=run" || backend.starts_with("device=cpu"); }
/// The back-ends that run CUDA text.
inline Backends cuda_backends() {
  Backends all = gpu_backends();
  std::erase_if(all, is_cpu);
  return all;
}
/// One back-end of each kind, for tests that take long: the reference evaluator, the host, and one that runs CUDA text.
inline Backends one_backend_per_kind() {
  Backends all{"mode=reference", "mode=run"};
  const Backends cuda = cuda_backends();
  if (!cuda.empty()) all.push_back(cuda.front());
  return all;
}
/// The back-ends that run compiled kernels.
inline Backends compiled_backends() { return with_devices({"mode=run", "mode=simulate"}); }
/// All back-ends, with the reference evaluator.
inline Backends backends() { return with_devices({"mode=run", "mode=simulate", "mode=reference"}); }

}  // namespace croton_test
