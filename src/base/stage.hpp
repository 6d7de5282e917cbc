// The stages of the compiler by name, the time that each takes (the flag print_timings), and the printing of their
// results (the flag `print`), where each stage runs. The list of stages is stages.def.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace croton::base {

enum class Stage : std::uint8_t {
#define CROTON_STAGE(name, word) name,
#include "base/stages.def"
#undef CROTON_STAGE
};
inline constexpr std::size_t stage_count = 0
#define CROTON_STAGE(...) +1
#include "base/stages.def"
#undef CROTON_STAGE
    ;
std::string_view name_of(Stage stage);
/// The word of the flag `print` for its result.
std::string_view word_of(Stage stage);

/// The accepted words of the flag `print`: also all, and the report of mode=verify.
inline constexpr std::string_view print_words =
    "all|"
#define CROTON_STAGE(name, word) word "|"
#include "base/stages.def"
#undef CROTON_STAGE
    "verification";

/// While it lives, this thread works on that stage. Timers nest (binding emits and compiles), and time counts for the
/// innermost one. When the outermost ends, a line for each stage is printed, if the flag print_timings is set.
class StageTimer {
 public:
  explicit StageTimer(Stage stage);
  ~StageTimer();
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

  /// Records a part of the present stage's time for the program that took it: "Clang", "LLVM", "NVRTC".
  static void note(std::string_view program, std::chrono::nanoseconds time);

 private:
  Stage before_;
  bool outermost_, counts_;
};

/// While it lives, stages of this thread work on the function of that name, which is in all printed lines; nothing is
/// printed without a name.
class NamedFunction {
 public:
  explicit NamedFunction(std::string_view name);
  ~NamedFunction();
  NamedFunction(const NamedFunction&) = delete;
  NamedFunction& operator=(const NamedFunction&) = delete;

 private:
  std::string_view before_;
};

/// Whether the result of a stage is printed: if the function has a name, and the flag `print` has the stage's word.
bool shows(Stage stage);
/// Prints the result of a stage, with the function's name.
void print(Stage stage, std::string_view text);

/// Prints the result of a stage, the result of `text`, if the flag requests it.
void show(Stage stage, const auto& text) {
  if (shows(stage)) print(stage, text());
}

}  // namespace croton::base
