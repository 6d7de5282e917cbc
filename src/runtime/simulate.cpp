#include "runtime/simulate.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/simulator/driver.hpp"

namespace croton::runtime {
namespace {

bool is_split(const codegen::Text& text) { return text.state_bytes > 0; }

/// Compiled texts of this process, by kernel name.
struct Programs {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const simulator::Program>> by_name;
  std::function<std::string(std::string)> change;

  static Programs& instance() {
    static auto* programs = new Programs;
    return *programs;
  }
};

std::shared_ptr<const simulator::Program> program_of(const codegen::Text& text) {
  Programs& programs = Programs::instance();
  const std::lock_guard lock(programs.mutex);
  auto& program = programs.by_name[text.name];
  if (!program) {
    std::string unit = codegen::prelude(codegen::Target::cuda, true) + text.code;
    if (programs.change) unit = programs.change(std::move(unit));
    std::vector<std::string> names{text.name};
    if (is_split(text)) names.push_back(text.name + "_finish");
    program = std::make_shared<const simulator::Program>(simulator::compile(unit, names, true), unit);
  }
  return program;
}

bool texts_are_changed() {
  Programs& programs = Programs::instance();
  const std::lock_guard lock(programs.mutex);
  return static_cast<bool>(programs.change);
}

class Run final : public PendingResult {
 public:
  Run(const SimulatedLaunch& request, std::uint32_t* failure) {
    // An operand that is written in place of another one is one piece of memory on the device as well.
    for (const SimulatedOperand& operand : request.operands) {
      if (operand.bytes == 0) continue;
      Piece& piece = pieces_[operand.host];
      (operand.written ? piece.written : piece.read) = true;
      piece.bytes = std::max(piece.bytes, operand.bytes);
    }
    for (auto& [host, piece] : pieces_) {
      piece.device = static_cast<char*>(memory_.allocate(piece.bytes));
      memory_.copy_in(piece.device, {static_cast<const std::byte*>(host), piece.bytes});
    }
    // What is only written holds nothing that the kernel may read; its bytes stay for what the kernel leaves alone.
    for (const auto& [host, piece] : pieces_) {
      if (piece.read) continue;
      memory_.forget(piece.device);
      // What a broken text leaves out must not be there from the run before.
      if (texts_are_changed()) std::memset(piece.device, 0xab, piece.bytes);
    }
    constexpr std::size_t failure_bytes = 3 * sizeof(std::uint32_t);
    void* device_failure = memory_.allocate(failure_bytes);
    memory_.copy_in(device_failure, {reinterpret_cast<const std::byte*>(failure), failure_bytes});

    const codegen::Text& text = *request.text;
    std::vector<std::uint64_t> parameters = request.parameters;
    for (const SimulatedPointer& pointer : request.pointers) {
      const auto at = pieces_.find(pointer.host);  // absent: no elements, never followed
      parameters[pointer.parameter] =
          at == pieces_.end() ? 0 : reinterpret_cast<std::uint64_t>(at->second.device + pointer.offset);
    }
    for (std::size_t i = 0; i < text.parameters.size(); ++i) {
      using Kind = codegen::Parameter::Kind;
      if (text.parameters[i].kind == Kind::failure) parameters[i] = reinterpret_cast<std::uint64_t>(device_failure);
      if (text.parameters[i].kind != Kind::workspace) continue;
      const auto parts = static_cast<std::size_t>(std::max<std::int64_t>(1, request.items));
      parameters[i] = reinterpret_cast<std::uint64_t>(memory_.allocate(text.state_bytes * parts));
    }

    const auto program = program_of(text);
    // A changed text may go on for ever; none of the tests' programs comes near this.
    const std::uint64_t most_steps = texts_are_changed() ? 1 << 20 : simulator::LaunchShape{}.most_steps;
    std::int64_t items = request.items;
    void* arguments[] = {parameters.data(), &items};
    const simulator::LaunchShape shape{.blocks = static_cast<unsigned>(request.blocks),
                                       .threads = static_cast<unsigned>(request.threads),
                                       .most_steps = most_steps};
    if (items > 0) simulator::launch(*program, text.name, shape, arguments, memory_, request.seed);
    if (is_split(text)) {
      simulator::launch(*program, text.name + "_finish", {.blocks = 1, .threads = 32, .most_steps = most_steps},
                        std::span(arguments, 1), memory_, request.seed);
    }
    memory_.copy_out({reinterpret_cast<std::byte*>(failure), failure_bytes}, device_failure);
  }

  void write() noexcept override {
    for (const auto& [host, piece] : pieces_) {
      if (piece.written) memory_.copy_out({static_cast<std::byte*>(host), piece.bytes}, piece.device);
    }
  }

 private:
  struct Piece {
    char* device = nullptr;
    std::size_t bytes = 0;
    bool read = false;
    bool written = false;
  };
  simulator::DeviceMemory memory_;
  std::map<void*, Piece> pieces_;  // by their place on the host
};

}  // namespace

std::unique_ptr<PendingResult> simulate(const SimulatedLaunch& launch, std::uint32_t* failure) {
  return std::make_unique<Run>(launch, failure);
}

void change_simulated_texts(std::function<std::string(std::string)> change) {
  Programs& programs = Programs::instance();
  const std::lock_guard lock(programs.mutex);
  programs.by_name.clear();
  programs.change = std::move(change);
}

}  // namespace croton::runtime
