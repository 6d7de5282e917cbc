// What a training prints: on a terminal a bar that is written over, elsewhere a line for each epoch.
#pragma once

#include <croton/nn/callbacks.hpp>
#include <croton/nn/model.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace croton::nn {

class EpochProgress {
 public:
  /// `unit`: "Epoch 3/12", or what else is gone through. Steps may be unknown.
  EpochProgress(Verbose verbose, std::string unit, std::optional<std::int64_t> steps);
  ~EpochProgress();
  EpochProgress(const EpochProgress&) = delete;
  EpochProgress& operator=(const EpochProgress&) = delete;

  /// So many steps are done. The numbers are asked for only when something is written: the device is waited for then.
  void update(std::int64_t done, const std::function<Logs()>& logs);
  /// The line that stays.
  void finish(std::int64_t done, const Logs& logs);

 private:
  using Clock = std::chrono::steady_clock;
  void write_over(const std::string& line);
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  Verbose verbose_;
  std::string unit_;
  std::optional<std::int64_t> steps_;
  bool terminal_, open_ = false;
  Clock::time_point start_ = Clock::now(), shown_ = start_;
};

}  // namespace croton::nn
