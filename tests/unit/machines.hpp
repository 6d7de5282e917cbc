// Machines that tests of devices run on: the host with simulated GPUs, with parts of itself, or with GPUs of the fake
// driver, for which texts are run by the simulator's programs. One body serves them all.
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

/// The process's flag `device` is auto for as long as it lives, whatever the tests are run under.
class ProcessDevice {
 public:
  ProcessDevice() : before_(flag("device")) { set_flag("device", "auto"); }
  ~ProcessDevice() { set_flag("device", before_); }
  ProcessDevice(const ProcessDevice&) = delete;
  ProcessDevice& operator=(const ProcessDevice&) = delete;

 private:
  const std::string before_;
};

/// GPUs of the fake driver, under a driver that is started anew, for as long as it lives.
class FakeGpus {
 public:
  explicit FakeGpus(const std::vector<std::pair<std::string, long long>>& settings = {},
                    const std::string& more_flags = "");
  FakeCuda& cuda() { return cuda_; }
  /// Those that other threads set to see the same devices.
  const std::string& flags() const { return flags_; }

 private:
  ProcessDevice device_;
  FakeCuda cuda_;
  std::string flags_;
  std::optional<change_flags> scope_;
};

/// Two devices besides the host, and what tells them apart from others.
class Machine {
 public:
  enum class Kind { simulated, fake, delayed, overtaking, logical };
  /// Those with GPUs: a delayed one runs nothing before somebody waits for it, an overtaking one no kernel.
  static std::vector<Kind> gpus() { return {Kind::simulated, Kind::fake, Kind::delayed, Kind::overtaking}; }
  static std::vector<Kind> all() {
    return {Kind::simulated, Kind::fake, Kind::delayed, Kind::overtaking, Kind::logical};
  }

  explicit Machine(Kind kind);
  /// Checks that no driver was used wrongly, and that all memory was given back.
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  Kind kind() const { return kind_; }
  bool is_fake() const { return fake_ != nullptr; }
  FakeCuda& cuda() { return fake_->cuda(); }
  const std::string& flags() const { return flags_; }
  /// What the two are called.
  const std::string first, second;
  /// Where kernels of them are made for: "cuda:sm_90".
  std::string target() const { return kind_ == Kind::logical ? "cpu" : "cuda:sm_90"; }
  /// As list of devices in messages: "cuda0 (simulated), cuda1 (simulated)".
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
