#include "runtime/simulator/kernels.hpp"

#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace croton::runtime::simulator {
namespace {

/// Compiled texts of this process, by kernel name: all simulated devices run the same code.
struct Programs {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const Program>> by_name;
  std::function<std::string(std::string)> change;
  bool together = false;
  std::map<std::string, codegen::Text> waiting;  // by name; compiled when one is launched

  static Programs& instance() {
    static auto* programs = new Programs;
    return *programs;
  }

  /// Whether all was found in the cache on disk.
  bool compile_all(std::span<const codegen::Text* const> texts) {
    std::string unit = codegen::prelude(codegen::Target::cuda, true);
    const std::size_t prelude_size = change ? 0 : unit.size();  // a test changes each text once
    std::vector<std::string> names;
    for (const codegen::Text* text : texts) {
      unit += text->code;
      names.push_back(text->name);
      if (text->state_bytes > 0) names.push_back(text->name + "_finish");
    }
    if (change) unit = change(std::move(unit));
    bool found = false;
    const auto program = checked_program(unit, names, prelude_size, &found);
    for (const codegen::Text* text : texts) by_name[text->name] = program;
    return found;
  }

  /// Compiles those of one family, which is the beginning of the name: they need the same features of the simulator.
  void compile_waiting(const std::string& name) {
    const std::string family = name.substr(0, name.find('_') + 1);
    std::vector<const codegen::Text*> texts;
    for (const auto& [other, text] : waiting) {
      if (other.starts_with(family)) texts.push_back(&text);
    }
    compile_all(texts);
    std::erase_if(waiting, [&](const auto& item) { return item.first.starts_with(family); });
  }
};

}  // namespace

Prepared prepare_program(const codegen::Text& text) {
  Programs& programs = Programs::instance();
  const std::lock_guard lock(programs.mutex);
  if (programs.by_name.contains(text.name)) return Prepared::before;
  if (programs.together)
    return programs.waiting.emplace(text.name, text).second ? Prepared::compiled : Prepared::before;
  const codegen::Text* one = &text;
  return programs.compile_all(std::span(&one, 1)) ? Prepared::from_cache : Prepared::compiled;
}

std::shared_ptr<const Program> program_of(const codegen::Text& text) {
  Programs& programs = Programs::instance();
  const std::lock_guard lock(programs.mutex);
  if (programs.waiting.contains(text.name)) programs.compile_waiting(text.name);
  const codegen::Text* one = &text;
  if (!programs.by_name.contains(text.name)) programs.compile_all(std::span(&one, 1));  // texts have changed since then
  return programs.by_name.at(text.name);
}

bool texts_are_changed() {
  Programs& programs = Programs::instance();
  const std::lock_guard lock(programs.mutex);
  return programs.change != nullptr;
}

void change_texts(std::function<std::string(std::string)> change) {
  Programs& programs = Programs::instance();
  const std::lock_guard lock(programs.mutex);
  programs.by_name.clear();
  programs.change = std::move(change);
}

void compile_together(bool together) {
  Programs& programs = Programs::instance();
  const std::lock_guard lock(programs.mutex);
  programs.together = together;
}

}  // namespace croton::runtime::simulator
