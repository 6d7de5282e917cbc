#include "step_counts.hpp"

#include <dlfcn.h>

#include <croton/config.hpp>
#include <croton/croton.hpp>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string_view>
#include <utility>

#include "graphs.hpp"

namespace croton::kernel_table {
namespace {

/// The counters of the driver for tests, which Croton has loaded.
class Counters {
 public:
  explicit Counters(const std::string& library) : library_(::dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
    if (library_ == nullptr) throw DeviceError("the driver for tests is not loaded: " + library);
  }
  /// The calls so far of all entries that `counts` accepts.
  long long count(const std::function<bool(std::string_view)>& counts) const {
    long long sum = 0;
    std::istringstream entries(function<const char*()>("fake_cuda_entries")());
    for (std::string entry; std::getline(entries, entry);) {
      if (counts(entry)) sum += function<long long(const char*)>("fake_cuda_calls")(entry.c_str());
    }
    return sum;
  }

 private:
  template <class Function>
  Function* function(const char* name) const {
    void* found = ::dlsym(library_, name);
    if (found == nullptr) throw DeviceError(std::string("the driver for tests has no ") + name);
    return reinterpret_cast<Function*>(found);
  }
  void* library_;
};

StepCounts read(const Counters& counters) {
  const auto count = [&](std::initializer_list<std::string_view> beginnings) {
    return counters.count([&](std::string_view entry) {
      for (const std::string_view beginning : beginnings) {
        if (entry.starts_with(beginning)) return true;
      }
      return false;
    });
  };
  return {.name = {},
          .kernels = count({"cuLaunchKernel", "cuLaunchCooperativeKernel"}),
          .graphs = count({"cuGraphLaunch"}),
          .products = counters.count([](std::string_view entry) {
            return entry == "cublasLtMatmul" || entry.starts_with("cudnnConvolution");
          }),
          .copies = count({"cuMemcpy", "cuMemset"}),
          .waits = count({"cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize"}),
          .calls = counters.count([](std::string_view entry) {
            return entry.starts_with("cu") && !entry.starts_with("cublas") && !entry.starts_with("cudnn");
          })};
}

struct Step {
  std::string name;
  Function function;
  std::vector<Array> arguments;
};

/// The steps of the table, for small sizes, so that the driver for tests runs them in little time.
std::vector<Step> small_steps() {
  const auto zeros = [](DType dtype, Sizes shape) { return Array::zeros(dtype, std::move(shape)); };
  std::vector<Step> steps;
  steps.push_back(
      {"MLP step", mlp_step(32, {64, 48, 10}).function, {zeros(DType::float32, {32, 64}), zeros(DType::int64, {32})}});
  steps.push_back(
      {"CNN step", cnn_step(32, 8).function, {zeros(DType::float32, {32, 1, 8, 8}), zeros(DType::int64, {32})}});
  steps.push_back({"LSTM", lstm(8, 5, 16, 16).function, {zeros(DType::float32, {8, 5, 16})}});
  steps.push_back({"Adam of many", adam({{64, 48}, {48}, {48, 10}, {10}}).function, {}});
  return steps;
}

}  // namespace

std::vector<StepCounts> count_steps(const std::string& folder) {
  constexpr int first_calls = 3;
  ::setenv("FAKE_CUDA_RUNNER", (folder + "/libcroton_fake_runner.so").c_str(), 1);
  const std::string library = folder + "/libcroton_fake_cuda.so";
  const std::string before = flag("device");
  set_flag("device", "auto");
  std::vector<StepCounts> all;
  {
    const change_flags scope("cuda_simulator=0,cuda_driver=" + library + ",cuda_root=" + folder +
                             ",cuda_nvrtc=,cuda_nvdisasm=");
    for (const Step& step : small_steps()) {
      const std::vector<Argument> arguments(step.arguments.begin(), step.arguments.end());
      for (int i = 0; i < first_calls; ++i) step.function.call(arguments);
      const Counters counters(library);
      const StepCounts begin = read(counters);
      step.function.call(arguments);
      const StepCounts end = read(counters);
      all.push_back({step.name, end.kernels - begin.kernels, end.graphs - begin.graphs, end.products - begin.products,
                     end.copies - begin.copies, end.waits - begin.waits, end.calls - begin.calls});
    }
  }
  set_flag("device", before);
  return all;
}

}  // namespace croton::kernel_table
