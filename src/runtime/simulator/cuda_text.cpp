// CUDA text of users in the simulator (croton/simulate.hpp).
#include <croton/simulate.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <croton/error.hpp>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "codegen/embedded.hpp"
#include "runtime/device/elements.hpp"
#include "runtime/simulator/architecture.hpp"
#include "runtime/simulator/launch.hpp"
#include "runtime/simulator/threads.hpp"

namespace croton {
namespace {

using runtime::simulator::Architecture;
using runtime::simulator::DeviceMemory;
using runtime::simulator::LaunchShape;
using runtime::simulator::Program;

// The text before a user's text: the device, and CUDA's own functions and variables in terms of it.
std::string prelude() {
  std::string text;
  for (const char* path :
       {"common/device_simulator.hpp", "common/numeric.cuh", "common/math.cuh", "common/cuda_words.hpp"}) {
    text += std::string(codegen::embedded_file(path)) + "\n";
  }
  return text;
}

// Leaves out headers whose contents the simulator has by itself; lines keep their numbers.
std::string without_known_headers(const std::string& text) {
  static constexpr std::string_view known[] = {"cuda.h",
                                               "cuda_runtime.h",
                                               "device_launch_parameters.h",
                                               "cooperative_groups.h",
                                               "math_constants.h",
                                               "cstdio",
                                               "stdio.h",
                                               "cstdint",
                                               "stdint.h",
                                               "cmath",
                                               "math.h",
                                               "cassert",
                                               "assert.h",
                                               "cfloat",
                                               "float.h",
                                               "climits",
                                               "limits.h",
                                               "cstddef",
                                               "stddef.h"};
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    const std::size_t first = line.find_first_not_of(" \t");
    const std::size_t open = line.find_first_of("<\""), close = line.find_last_of(">\"");
    const bool is_include = first != std::string_view::npos && line.substr(first).starts_with("#include") &&
                            open != std::string_view::npos && close > open;
    const bool is_known = is_include && std::find(std::begin(known), std::end(known),
                                                  line.substr(open + 1, close - open - 1)) != std::end(known);
    if (!is_known) result += line;
    result += '\n';
    at = end + 1;
  }
  return result;
}

// The memory of one launch.
class Arguments {
 public:
  Arguments(const Program::Kernel& kernel, const std::string& name, std::span<const CudaArgument> arguments)
      : arguments_(arguments), device_(arguments.size()) {
    if (kernel.parameters != arguments.size()) {
      throw ValueError(fmt::format("kernel {} has {} parameters, but there are {} arguments", name, kernel.parameters,
                                   arguments.size()));
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const CudaArgument& argument = arguments[i];
      if (argument.bytes() != kernel.parameter_sizes[i]) {
        throw ValueError(fmt::format("parameter {} of kernel {} has {} bytes, but the argument is {} of {} bytes",
                                     i + 1, name, kernel.parameter_sizes[i],
                                     argument.is_array() ? "a pointer" : "a number", argument.bytes()));
      }
      if (argument.is_array()) device_[i] = copied(argument);
    }
    for (std::size_t i = 0; i < arguments.size(); ++i)
      pointers_.push_back(arguments[i].is_array() ? static_cast<void*>(&device_[i])
                                                  : const_cast<void*>(arguments[i].number()));
  }

  std::span<void* const> pointers() const { return pointers_; }
  const DeviceMemory& memory() const { return memory_; }

  void copy_back() {
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (!arguments_[i].is_array() || !arguments_[i].array().writable()) continue;
      Array array = arguments_[i].array();
      memory_.copy_out(runtime::bytes_at(array.raw(), array.bytes()), device_[i]);
    }
  }

 private:
  void* copied(const CudaArgument& argument) {
    const Array& array = argument.array();
    void* address = memory_.allocate(array.bytes());
    memory_.copy_in(address, runtime::bytes_at(array.raw(), array.bytes()));
    if (argument.is_output()) memory_.forget(address);
    return address;
  }

  std::span<const CudaArgument> arguments_;
  DeviceMemory memory_;
  std::vector<void*> device_;
  std::vector<void*> pointers_;
};

}  // namespace

CudaArgument::CudaArgument(Array array) : array_(std::move(array)), is_array_(true), bytes_(sizeof(void*)) {
  if (!array_.is_contiguous()) throw ValueError("an array that a kernel gets must be contiguous");
}

CudaArgument CudaArgument::output(Array array) {
  CudaArgument argument(std::move(array));
  argument.is_output_ = true;
  return argument;
}

struct CudaText::State {
  std::string text;
  std::string file;
  std::mutex mutex;
  std::map<std::pair<std::string, std::string_view>, std::shared_ptr<const Program>>
      programs;  // by kernel, architecture

  std::shared_ptr<const Program> program(const std::string& kernel) {
    const std::string name = kernel.substr(0, kernel.find('<'));
    if (name.empty() || text.find(name) == std::string::npos)
      throw ValueError(fmt::format("{} has no kernel '{}'", file, kernel));
    const std::lock_guard lock(mutex);
    const Architecture& architecture = runtime::simulator::current_architecture();
    auto& program = programs[{kernel, architecture.name}];
    if (program == nullptr) {
      const std::string before =
          fmt::format("{}#define __CUDA_ARCH__ {}\n#line 1 \"{}\"\n", prelude(), architecture.number(), file);
      program = std::make_shared<const Program>(
          runtime::simulator::compile(before + without_known_headers(text), std::span(&kernel, 1), true,
                                      /*prelude_size=*/0, /*users_begin=*/before.size()),
          text);
    }
    return program;
  }
};

CudaText::CudaText(std::string text, std::string file) : state_(std::make_shared<State>()) {
  state_->text = std::move(text);
  state_->file = std::move(file);
  // It is in a line of its own before the text, between quotes.
  std::replace_if(
      state_->file.begin(), state_->file.end(), [](char c) { return c == '"' || c == '\\' || c == '\n'; }, '_');
}

void CudaText::compile(const std::string& kernel) const { state_->program(kernel); }

std::string CudaText::describe_running() {
  const runtime::simulator::Block* block = runtime::simulator::Block::current();
  return block != nullptr ? block->describe_running() : "while it was compiled";
}

void CudaText::launch(const CudaLaunch& launch, std::span<const CudaArgument> arguments) const {
  const auto program = state_->program(launch.kernel);
  const auto &blocks = launch.blocks, &threads = launch.threads;
  const LaunchShape shape{.blocks = blocks[0],
                          .threads = threads[0],
                          .dynamic_shared = launch.shared_bytes,
                          .cooperative = launch.cooperative,
                          .strict = launch.strict,
                          .architecture = &runtime::simulator::current_architecture(),
                          .more_blocks = {blocks[1], blocks[2]},
                          .more_threads = {threads[1], threads[2]}};
  Arguments on_device(program->kernel(launch.kernel), launch.kernel, arguments);
  runtime::simulator::launch(*program, launch.kernel, shape, on_device.pointers(), on_device.memory(), launch.seed);
  on_device.copy_back();
}

}  // namespace croton
