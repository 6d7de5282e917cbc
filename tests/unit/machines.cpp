#include "machines.hpp"

#include "base/device_name.hpp"
#include "fake_cuda/simulator_runner.hpp"
#include "runtime/devices.hpp"

namespace croton::test {
namespace {

std::size_t bytes_in_use(const std::string& device) { return device_called(device).memory_use().bytes_in_use; }

}  // namespace

std::vector<double> values(const Array& array) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < array.size(); ++i) all.push_back(array.as_double(i));
  return all;
}

runtime::Device& device_called(const std::string& name) { return runtime::device_at(base::parse_device(name).place()); }

FakeGpus::FakeGpus(const std::vector<std::pair<std::string, long long>>& settings, const std::string& more_flags) {
  static std::string folder = fake_cuda_folder() + "/";
  folder += "./";  // another name for the file: another driver, with separate devices
  for (const auto& [name, value] : settings) cuda_.set(name.c_str(), value);
  cuda_.set_runner(launch_in_simulator);
  flags_ =
      "cuda_simulator=0,cuda_driver=" + folder + "libcroton_fake_cuda.so,cuda_root=" + fake_cuda_folder() + more_flags;
  scope_.emplace(flags_);
}

Machine::Machine(Kind kind)
    : first(kind == Kind::logical ? "cpu1" : "cuda0"), second(kind == Kind::logical ? "cpu2" : "cuda1"), kind_(kind) {
  if (kind == Kind::fake || kind == Kind::delayed || kind == Kind::overtaking) {
    const long long delay = kind == Kind::delayed ? 1 : (kind == Kind::overtaking ? 2 : 0);
    fake_ = std::make_unique<FakeGpus>(std::vector<std::pair<std::string, long long>>{{"delay", delay}});
    flags_ = fake_->flags();
  } else {
    flags_ = kind == Kind::logical ? "logical_devices=cpu:3" : "cuda_simulator=2";
    scope_.emplace(flags_);
  }
  before_[0] = bytes_in_use(first);
  before_[1] = bytes_in_use(second);
}

Machine::~Machine() {
  CHECK(bytes_in_use(first) == before_[0]);
  CHECK(bytes_in_use(second) == before_[1]);
  if (fake_) CHECK(fake_->cuda().faults() == "");
}

std::string Machine::listed() const {
  if (kind_ == Kind::simulated) return first + " (simulated), " + second + " (simulated)";
  if (kind_ == Kind::logical) return first + " (logical), " + second + " (logical)";
  return first + ", " + second;
}

}  // namespace croton::test
