#include "runtime/simulator/compiler.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/config.hpp"
#include "base/stage.hpp"
#include "runtime/cpu/compiler.hpp"
#include "runtime/simulator/callbacks.hpp"
#include "runtime/support/cache.hpp"

namespace croton::runtime::simulator {
namespace {

// As src/llvm/simulator_passes.cpp writes them.
constexpr std::uint64_t trait_waits = 1;
constexpr std::uint64_t trait_checked = 2;
constexpr std::uint64_t trait_spins = 4;

std::string_view trimmed(std::string_view line) {
  const auto first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

// A kernel's name as a part of another name.
std::string identifier(std::string name) {
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

// The function that the simulator calls for a kernel. It follows a user's text, whose macros must not affect it.
std::string entry_of(const std::string& kernel) {
  const std::string id = identifier(kernel);
  std::string text = "\n";  // the last line may end with a backslash
  for (const char* word : {"extern", "__attribute__", "device", "nodebug", "const", "decltype", "void", "ct",
                           "internal", "sizes_of", "call", "arguments"})
    text += std::string("#undef ") + word + "\n";
  text += fmt::format(R"(extern "C" {{
extern __attribute__((device)) const decltype(ct::internal::sizes_of({0})) croton_simulator_parameters_{1};
__attribute__((device)) const decltype(ct::internal::sizes_of({0})) croton_simulator_parameters_{1} =
    ct::internal::sizes_of({0});
__attribute__((device, nodebug)) void croton_simulator_entry_{1}(void** arguments) {{
  ct::internal::call({0}, arguments);
}}
}}
)",
                      kernel, id);
  return text;
}

std::string_view next_name(std::string_view& names) {
  const std::size_t end = names.find('\n');
  const std::string_view name = names.substr(0, end);
  names.remove_prefix(end == std::string_view::npos ? names.size() : end + 1);
  return name;
}

}  // namespace

std::vector<std::byte> compile(std::string_view text, std::span<const std::string> kernels, bool checked,
                               std::size_t prelude_size, std::size_t users_begin) {
  std::string whole(text);
  whole += "\n";  // entries come last, so that lines keep their numbers
  for (const std::string& kernel : kernels) whole += entry_of(kernel);
  cpu::CompileOptions options;
  options.mode = checked ? cpu::CompileOptions::Mode::simulator_checked : cpu::CompileOptions::Mode::simulator;
  options.users_begin = std::min(users_begin, text.size());
  options.users_size = text.size() - options.users_begin;
  options.prelude_size = prelude_size;
  options.level = base::config().llvm_level;
  const base::StageTimer timer(base::Stage::compile);
  cpu::CompileTimes times;
  std::vector<std::byte> object = cpu::Compiler::instance().compile(whole, options, &times);
  times.note();
  base::show(base::Stage::compile,
             [&] { return fmt::format("  {}: for the simulator by Clang and LLVM\n", fmt::join(kernels, ", ")); });
  return object;
}

Program::Program(std::span<const std::byte> object, std::string text)
    : module_(cpu::Compiler::instance().load(object, callbacks())), text_(std::move(text)) {
  const auto* numbers = module_->get<const std::uint64_t>("croton_simulator_program");
  std::string_view names = module_->get<const char>("croton_simulator_names");
  waits_ = (numbers[0] & trait_waits) != 0;
  checked_ = (numbers[0] & trait_checked) != 0;
  shared_bytes_ = numbers[1];
  spins_ = (numbers[0] & trait_spins) != 0;
  const std::uint64_t* next = numbers + 5;
  for (std::uint64_t i = 0; i < numbers[2]; ++i, next += 2)
    shared_variables_.push_back({std::string(next_name(names)), next[0], next[1]});
  const auto* addresses = module_->get<const std::uintptr_t>("croton_simulator_variables");
  for (std::uint64_t i = 0; i < numbers[3]; ++i, ++next)
    device_variables_.push_back({std::string(next_name(names)), {addresses[i], next[0]}, i >= numbers[3] - numbers[4]});
  if (!checked_) return;
  const auto* types = module_->get<const std::uint32_t>("croton_simulator_function_types");
  for (const auto* function = module_->get<const void* const>("croton_simulator_functions"); *function != nullptr;
       ++function)
    functions_.push_back({*function, *types++});
  // The count, then the lines of each place with a 0 at its end.
  const auto* lines = module_->get<const std::uint32_t>("croton_simulator_places");
  const std::uint32_t count = *lines++;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t* end = std::find(lines, lines + 1000, 0u);
    places_.emplace_back(lines, end);
    lines = end + 1;
  }
}

Program::Kernel Program::kernel(const std::string& name) const {
  const std::string id = identifier(name);
  Kernel kernel;
  kernel.entry = module_->get<void(void**)>("croton_simulator_entry_" + id);
  // The count of parameters, then their sizes.
  const auto* sizes = module_->get<const unsigned>("croton_simulator_parameters_" + id);
  kernel.parameters = sizes[0];
  kernel.parameter_sizes = {sizes + 1, sizes[0]};
  for (const unsigned size : kernel.parameter_sizes) kernel.parameter_bytes += size;
  if (checked_) kernel.max_threads = *module_->get<const unsigned>("croton_simulator_bounds_" + id);
  return kernel;
}

std::shared_ptr<const Program> checked_program(const std::string& text, std::span<const std::string> kernels,
                                               std::size_t prelude_size, bool* found) {
  if (found != nullptr) *found = false;
  KernelCache* cache = prelude_size > 0 ? configured_cache() : nullptr;
  std::string digest;
  if (cache != nullptr) {
    CacheKey key;
    // All of the text: reports name its lines, which comments move.
    key.add("simulated, with updates", text).add("compiler", cpu::Compiler::instance().identity());
    key.add("level", std::to_string(base::config().llvm_level));
    for (const std::string& kernel : kernels) key.add("kernel", kernel);
    digest = key.digest();
    if (const auto object = cache->find(digest)) {
      try {
        auto program = std::make_shared<const Program>(*object, text);
        if (found != nullptr) *found = true;
        return program;
      } catch (const DeviceError&) {
        // Damaged in spite of its checksum: compile it again.
      }
    }
  }
  const std::vector<std::byte> object = compile(text, kernels, true, prelude_size);
  if (cache != nullptr) cache->store(digest, object);
  return std::make_shared<const Program>(object, text);
}

std::string Program::describe_place(unsigned place) const {
  if (place == 0 || place > places_.size()) return "line unknown";
  constexpr std::size_t max_lines = 4;
  const std::span<const std::uint32_t> lines = places_[place - 1];
  std::string description;
  for (std::size_t i = 0; i < std::min(lines.size(), max_lines); ++i)
    description += (i == 0 ? "" : ", called from ") + describe_line(lines[i]);
  return description;
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
