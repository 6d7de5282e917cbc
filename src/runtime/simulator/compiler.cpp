#include "runtime/simulator/compiler.hpp"

#include "runtime/cpu/compiler.hpp"
#include "runtime/simulator/callbacks.hpp"

namespace croton::runtime::simulator {
namespace {

// As src/llvm/simulator_passes.cpp writes it.
constexpr std::uint64_t trait_waits = 1;
constexpr std::uint64_t trait_checked = 2;

std::string_view trimmed(std::string_view line) {
  const auto first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

std::vector<std::byte> compile(std::string_view text, std::span<const std::string> kernels, bool checked) {
  std::string whole(text);
  whole += "\n";  // entries come last, so that lines keep their numbers
  for (const std::string& kernel : kernels) whole += "CT_SIMULATOR_ENTRY(" + kernel + ")\n";
  cpu::CompileOptions options;
  options.mode = checked ? cpu::CompileOptions::Mode::simulator_checked : cpu::CompileOptions::Mode::simulator;
  return cpu::Compiler::instance().compile(whole, options);
}

Program::Program(std::span<const std::byte> object, std::string text)
    : module_(cpu::Compiler::instance().load(object, callbacks())), text_(std::move(text)) {
  const auto* numbers = module_->get<const std::uint64_t>("croton_simulator_program");
  std::string_view names = module_->get<const char>("croton_simulator_names");
  waits_ = (numbers[0] & trait_waits) != 0;
  checked_ = (numbers[0] & trait_checked) != 0;
  shared_bytes_ = numbers[1];
  for (std::uint64_t i = 0; i < numbers[2]; ++i) {
    const std::size_t end = names.find('\n');
    shared_variables_.push_back({std::string(names.substr(0, end)), numbers[3 + 2 * i], numbers[4 + 2 * i]});
    names.remove_prefix(end == std::string_view::npos ? names.size() : end + 1);
  }
}

Program::Kernel Program::kernel(const std::string& name) const {
  return {module_->get<void(void**)>("croton_simulator_entry_" + name),
          *module_->get<const unsigned>("croton_simulator_parameters_" + name)};
}

std::string Program::describe_line(unsigned line) const {
  if (line == 0) return "line unknown";
  std::string description = "line " + std::to_string(line);
  std::string_view rest = text_;
  for (unsigned number = 1; number < line && !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  const std::string_view shown = trimmed(rest.substr(0, rest.find('\n')));
  if (!shown.empty()) description += ": `" + std::string(shown) + "`";
  return description;
}

}  // namespace croton::runtime::simulator
