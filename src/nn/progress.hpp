// The progress of a training: on a terminal a bar that is updated in place, elsewhere a line for each epoch.
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
  /// `unit`: "Epoch 3/12", "Evaluate" or "Predict". Steps may be unknown.
  EpochProgress(Verbose verbose, std::string unit, std::optional<std::int64_t> steps);
  ~EpochProgress();
  EpochProgress(const EpochProgress&) = delete;
  EpochProgress& operator=(const EpochProgress&) = delete;

  /// Shows that `done` steps are done. `logs` is called only if a line is written, because it waits for the device.
  void update(std::int64_t done, const std::function<Logs()>& logs);
  /// Prints the final line.
  void finish(std::int64_t done, const Logs& logs);

 private:
  using Clock = std::chrono::steady_clock;
  void overwrite_line(const std::string& line);
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  Verbose verbose_;
  std::string unit_;
  std::optional<std::int64_t> steps_;
  bool terminal_, open_ = false;
  Clock::time_point start_ = Clock::now(), shown_ = start_;
};

}  // namespace croton::nn
