// The stages of the compiler by name, and the time that each takes, measured where it runs (the flag print_timings).
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace croton::base {

/// In the order of the data. A function goes through the first five, a call that brings new sizes through the others.
/// src/compile.cpp lists them with their work.
enum class Stage : std::uint8_t { import, rewrite, place, fuse, plan, bind, emit, compile };
inline constexpr std::size_t stage_count = 8;
std::string_view name_of(Stage stage);

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
bool shows(std::string_view word);
/// Prints the result of a stage, with the function's name.
void show(std::string_view word, std::string_view text);

}  // namespace croton::base
