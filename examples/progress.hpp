// A progress bar on the standard error stream: one line that is overwritten in a terminal, at most ten plain lines
// elsewhere (a file, a CI log), with an estimate of the remaining time.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

class Progress {
 public:
  Progress(std::string unit, int total) : unit_(std::move(unit)), total_(total) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows that `done` of the total are done, with `note` after it.
  void update(int done, const std::string& note) {
    if (terminal_ ? is_too_early(done) : !is_tenth(done)) return;
    const double left = seconds() / done * (total_ - done);
    char times[32];
    std::snprintf(times, sizeof times, "%.1f s left", left);
    const std::string line = unit_ + " " + std::to_string(done) + "/" + std::to_string(total_) +
                             (terminal_ ? "  " + bar(done) : "") + "  " + note + "  " + times;
    if (terminal_) {
      std::fprintf(stderr, "\r%s\x1b[K", line.c_str());  // the last code clears the rest of a longer line
    } else {
      std::fprintf(stderr, "%s\n", line.c_str());
    }
    std::fflush(stderr);
  }

  /// Removes the bar, so that something else can be printed; the next update shows it again.
  void clear() const {
    if (terminal_ && shown_ != Clock::time_point{}) std::fputs("\r\x1b[K", stderr);
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  bool is_tenth(int done) const { return done * 10LL / total_ != (done - 1) * 10LL / total_; }

  // Twenty times a second is enough, and terminals are slow.
  bool is_too_early(int done) {
    const auto now = Clock::now();
    if (done < total_ && now - shown_ < std::chrono::milliseconds(50)) return true;
    shown_ = now;
    return false;
  }

  std::string bar(int done) const {
    constexpr int width = 30;
    const auto filled = static_cast<std::size_t>(static_cast<long long>(width) * done / total_);
    return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "]";
  }

  const std::string unit_;
  const int total_;
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point shown_{};
};
