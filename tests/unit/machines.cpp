#include "machines.hpp"

#include <croton/error.hpp>

#include <cstring>
#include <map>
#include <mutex>

#include "base/device_name.hpp"
#include "codegen/emit.hpp"
#include "runtime/device.hpp"
#include "runtime/simulator/driver.hpp"

namespace croton::test {
namespace {

namespace simulator = runtime::simulator;

/// The text as a program of the simulator: with its header in the place of the GPU's.
std::shared_ptr<const simulator::Program> program_of(const std::string& text, const std::string& kernel) {
  static std::mutex mutex;
  static auto& made = *new std::map<std::pair<std::string, std::string>, std::shared_ptr<const simulator::Program>>;
  const std::lock_guard lock(mutex);
  auto& program = made[{text, kernel}];
  if (!program) {
    const std::string own = codegen::prelude(codegen::Target::cuda);
    if (!text.starts_with(own)) throw InternalError("a text without the prelude");
    const std::string prelude = codegen::prelude(codegen::Target::cuda, true);
    const std::string unit = prelude + text.substr(own.size());
    program = simulator::checked_program(unit, std::span(&kernel, 1), prelude.size());
  }
  return program;
}

fake_cuda::Launch launch_in_simulator(const std::string& text, const std::string& kernel, unsigned blocks,
                                      unsigned threads, bool cooperative, void** parameters) {
  const auto program = program_of(text, kernel);
  std::vector<std::vector<std::byte>> kept;
  const simulator::Program::Kernel entry = program->kernel(kernel);
  for (unsigned i = 0; i < entry.parameters; ++i) {
    const auto* bytes = static_cast<const std::byte*>(parameters[i]);
    kept.emplace_back(bytes, bytes + entry.parameter_sizes[i]);
  }
  return [=](const std::vector<fake_cuda::Memory>& memory) mutable -> std::string {
    std::vector<simulator::Allocation> allocations;
    for (const fake_cuda::Memory& piece : memory) {
      allocations.push_back({{piece.begin, piece.bytes}, std::make_shared<simulator::WrittenBytes>(piece.bytes)});
      allocations.back().written->set(0, piece.bytes);  // the fake driver does not know what was written
    }
    std::vector<void*> arguments;
    for (std::vector<std::byte>& bytes : kept) arguments.push_back(bytes.data());
    try {
      simulator::launch(*program, kernel, {.blocks = blocks, .threads = threads, .cooperative = cooperative}, arguments,
                        allocations);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
}

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
  folder += "./";  // another name for the file: another driver, and other devices
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
