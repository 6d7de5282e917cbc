#include "nn/progress.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "base/index.hpp"

namespace croton::nn {
namespace {

/// "0.4 ms", "14 ms", "1.3 s", "2 min 5 s".
std::string duration(double seconds) {
  if (seconds < 0.01) return fmt::format("{:.1f} ms", 1000 * seconds);
  if (seconds < 1) return fmt::format("{:.0f} ms", 1000 * seconds);
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  return fmt::format("{} min {} s", whole / 60, whole % 60);
}

}  // namespace

EpochProgress::EpochProgress(Verbose verbose, std::string unit, std::optional<std::int64_t> steps)
    : verbose_(verbose), unit_(std::move(unit)), steps_(steps), terminal_(isatty(STDOUT_FILENO) != 0) {}

EpochProgress::~EpochProgress() {
  if (open_) overwrite_line("");
}

void EpochProgress::overwrite_line(const std::string& line) {
  // The escape sequence clears the rest of a longer line.
  std::cout << '\r' << line << "\x1b[K" << std::flush;
  open_ = !line.empty();
}

void EpochProgress::update(std::int64_t done, const std::function<Logs()>& logs) {
  if (verbose_ != Verbose::bar || !terminal_) return;
  const auto now = Clock::now();
  if (now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  std::string line = unit_ + fmt::format("  {}", done);
  if (steps_ && *steps_ > 0) {
    constexpr std::int64_t width = 25;
    const std::int64_t filled = std::min(width, width * done / *steps_);
    line += fmt::format("/{}  [{}{}]  {} left", *steps_, std::string(base::to_size(filled), '#'),
                        std::string(base::to_size(width - filled), '.'),
                        duration(seconds() / static_cast<double>(done) *
                                 static_cast<double>(std::max<std::int64_t>(*steps_ - done, 0))));
  }
  overwrite_line(line + "  " + to_string(logs()));
}

void EpochProgress::finish(std::int64_t done, const Logs& logs) {
  if (verbose_ == Verbose::silent) return;
  if (open_) overwrite_line("");
  std::string line = unit_;
  if (verbose_ == Verbose::bar) {
    const double took = seconds();
    line += fmt::format("  {} steps, {} ({} each)", done, duration(took),
                        duration(took / static_cast<double>(std::max<std::int64_t>(done, 1))));
  }
  std::cout << line << "  " << to_string(logs) << '\n' << std::flush;
}

}  // namespace croton::nn
