// Machines for tests of devices: the host with simulated GPUs, with parts of itself, or with GPUs of the fake driver,
// for which the simulator's programs run texts. Each test body runs on all of them.
#pragma once

#include <croton/array.hpp>
#include <croton/config.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fake_cuda.hpp"
#include "runtime/device/device.hpp"

namespace croton::test {

/// All elements, in C order.
std::vector<double> values(const Array& array);

runtime::Device& device_called(const std::string& name);

/// Sets the process's flag `device` to auto during its lifetime, independent of the environment of the tests.
class ProcessDevice {
 public:
  ProcessDevice() : before_(flag("device")) { set_flag("device", "auto"); }
  ~ProcessDevice() { set_flag("device", before_); }
  ProcessDevice(const ProcessDevice&) = delete;
  ProcessDevice& operator=(const ProcessDevice&) = delete;

 private:
  const std::string before_;
};

/// GPUs of the fake driver, under a newly started driver, during its lifetime.
class FakeGpus {
 public:
  explicit FakeGpus(const std::vector<std::pair<std::string, long long>>& settings = {},
                    const std::string& more_flags = "");
  FakeCuda& cuda() { return cuda_; }
  /// The flags that other threads set to use the same devices.
  const std::string& flags() const { return flags_; }

 private:
  ProcessDevice device_;
  FakeCuda cuda_;
  std::string flags_;
  std::optional<change_flags> scope_;
};

/// Two devices besides the host, and the properties that distinguish them from others.
class Machine {
 public:
  enum class Kind { simulated, fake, delayed, overtaking, logical };
  /// The machines with GPUs: a delayed one runs work only when something waits for it, an overtaking one only delays
  /// kernels.
  static std::vector<Kind> gpus() { return {Kind::simulated, Kind::fake, Kind::delayed, Kind::overtaking}; }
  static std::vector<Kind> all() {
    return {Kind::simulated, Kind::fake, Kind::delayed, Kind::overtaking, Kind::logical};
  }

  explicit Machine(Kind kind);
  /// Checks that no driver was used wrongly, and that all memory was freed.
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  Kind kind() const { return kind_; }
  bool is_fake() const { return fake_ != nullptr; }
  FakeCuda& cuda() { return fake_->cuda(); }
  const std::string& flags() const { return flags_; }
  /// The names of the two devices.
  const std::string first, second;
  /// The target of their kernels: "cuda:sm_90".
  std::string target() const { return kind_ == Kind::logical ? "cpu" : "cuda:sm_90"; }
  /// In lists of devices in messages: "cuda0 (simulated), cuda1 (simulated)".
  std::string listed() const;

 private:
  const Kind kind_;
  ProcessDevice device_;
  std::unique_ptr<FakeGpus> fake_;
  std::string flags_;
  std::optional<change_flags> scope_;
  std::size_t before_[2] = {};
};

}  // namespace croton::test
