// The kernels of stub devices, from the CPU's compiler, and their launches, in the calling thread.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string>

#include "runtime/cpu/kernels.hpp"
#include "runtime/device/device.hpp"

namespace croton::test::stub {

class Kernels {
 public:
  runtime::Prepared prepare(const codegen::Text& text) {
    const std::lock_guard lock(mutex_);
    if (entries_.contains(text.name)) return runtime::Prepared::before;
    runtime::cpu::KernelCounts counts;
    entries_[text.name] = runtime::cpu::get_kernels(std::span(&text, 1), counts).front();
    return counts.compiled > 0 ? runtime::Prepared::compiled : runtime::Prepared::from_cache;
  }

  void launch(const runtime::DeviceLaunch& launch) {
    const runtime::cpu::KernelEntry entry = [&] {
      const std::lock_guard lock(mutex_);
      return entries_.at(launch.text->name);
    }();
    if (launch.items > 0) entry.run(launch.parameters.data(), 0, launch.items);
    if (entry.finish != nullptr) entry.finish(launch.parameters.data());
  }

 private:
  std::mutex mutex_;
  std::map<std::string, runtime::cpu::KernelEntry> entries_;
};

}  // namespace croton::test::stub
