#include "base/stage.hpp"

#include <fmt/format.h>

#include <array>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "base/index.hpp"

namespace croton::base {
namespace {

using Clock = std::chrono::steady_clock;
using Time = std::chrono::nanoseconds;

double milliseconds(Time time) { return std::chrono::duration<double, std::milli>(time).count(); }

/// The time of this thread by stage since its outermost timer began.
struct Spent {
  bool running = false;
  Stage present{};
  Clock::time_point since;  // the start of the present stage
  std::array<Time, stage_count> by_stage{};
  std::array<bool, stage_count> seen{};
  std::vector<std::pair<std::string_view, Time>> by_program;

  /// Counts the time up to now for the present stage, and starts `next`.
  void switch_to(Stage next) {
    const Clock::time_point now = Clock::now();
    by_stage[ordinal(present)] += now - since;
    present = next;
    since = now;
  }
};

thread_local Spent spent;
thread_local std::string_view function_name;

void print_times(const Spent& all) {
  std::string programs;
  for (const auto& [program, time] : all.by_program)
    programs += fmt::format("{}{} {:.3f}", programs.empty() ? " (" : ", ", program, milliseconds(time));
  if (!programs.empty()) programs += ")";
  std::string text;
  for (std::size_t s = 0; s < stage_count; ++s) {
    if (!all.seen[s]) continue;
    const auto stage = static_cast<Stage>(s);
    text += fmt::format("croton: {}: {:10} {:8.3f} ms{}\n", function_name, name_of(stage),
                        milliseconds(all.by_stage[s]), stage == Stage::compile ? programs : "");
  }
  std::cerr << text;
}

}  // namespace

std::string_view name_of(Stage stage) {
  static constexpr std::string_view names[] = {
#define CROTON_STAGE(name, word) #name,
#include "base/stages.def"
#undef CROTON_STAGE
  };
  return names[ordinal(stage)];
}

std::string_view word_of(Stage stage) {
  static constexpr std::string_view words[] = {
#define CROTON_STAGE(name, word) word,
#include "base/stages.def"
#undef CROTON_STAGE
  };
  return words[ordinal(stage)];
}

StageTimer::StageTimer(Stage stage)
    : before_(spent.present), outermost_(!spent.running), counts_(spent.running || config().print_timings) {
  if (!counts_) return;
  if (outermost_) {
    spent = {.running = true, .present = stage, .since = Clock::now(), .by_stage = {}, .seen = {}, .by_program = {}};
  } else {
    spent.switch_to(stage);
  }
  spent.seen[ordinal(stage)] = true;
}

StageTimer::~StageTimer() {
  if (!counts_) return;
  spent.switch_to(before_);
  if (!outermost_) return;
  spent.running = false;
  if (!function_name.empty()) print_times(spent);
}

void StageTimer::note(std::string_view program, std::chrono::nanoseconds time) {
  if (!spent.running) return;
  for (auto& [name, total] : spent.by_program) {
    if (name != program) continue;
    total += time;
    return;
  }
  spent.by_program.emplace_back(program, time);
}

NamedFunction::NamedFunction(std::string_view name) : before_(std::exchange(function_name, name)) {}
NamedFunction::~NamedFunction() { function_name = before_; }

bool shows(Stage stage) { return !function_name.empty() && has_word(config().print, word_of(stage)); }
void print(Stage stage, std::string_view text) {
  std::cerr << fmt::format("---- {}: {}\n{}", function_name, word_of(stage), text);
}

}  // namespace croton::base
