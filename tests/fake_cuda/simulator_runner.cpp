#include "fake_cuda/simulator_runner.hpp"

#include <croton/error.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "codegen/emit.hpp"
#include "runtime/simulator/launch.hpp"

namespace croton::test {
namespace {

namespace simulator = runtime::simulator;

/// The text as a program of the simulator: with the simulator's header instead of the GPU's.
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

}  // namespace

fake_cuda::Launch launch_in_simulator(const std::string& text, const std::string& kernel,
                                      const fake_cuda::LaunchConfiguration& configuration, void** parameters) {
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
      allocations.back().written->set(0, piece.bytes);  // the fake driver does not know which bytes were written
    }
    std::vector<void*> arguments;
    for (std::vector<std::byte>& bytes : kept) arguments.push_back(bytes.data());
    try {
      static std::atomic<std::uint64_t> seed{0};
      const simulator::LaunchShape shape{.blocks = configuration.blocks,
                                         .threads = configuration.threads,
                                         .dynamic_shared = configuration.shared_bytes,
                                         .cooperative = configuration.cooperative,
                                         .strict = true};
      simulator::launch(*program, kernel, shape, arguments, allocations, ++seed);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
}

}  // namespace croton::test

// For programs that do not link the runner: control.hpp.
extern "C" const fake_cuda::Runner* fake_cuda_runner();
extern "C" const fake_cuda::Runner* fake_cuda_runner() {
  static const fake_cuda::Runner runner = croton::test::launch_in_simulator;
  return &runner;
}
