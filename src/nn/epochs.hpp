// The batches of each epoch of training.
#pragma once

#include <croton/nn/data.hpp>

#include <cstdint>
#include <optional>

namespace croton::nn {

/// The batches of successive epochs: an epoch is one pass of the data, or `steps` batches of a pass that continues in
/// the next epoch. A pass that ends within an epoch also ends that epoch, and the next epoch begins the next pass, as
/// in Keras. So the position of an epoch in the data depends only on its number, and a training that resumes from a
/// checkpoint finds it.
class EpochBatches {
 public:
  /// `first_pass` is the number of the pass that epoch 0 begins.
  EpochBatches(Dataset data, std::optional<std::int64_t> steps, std::int64_t first_pass)
      : data_(std::move(data)), steps_(steps), first_pass_(first_pass) {}

  /// Begins the epoch after the last one; the first call may begin any epoch. It reads and drops the batches of the
  /// pass before that epoch, and whole passes too if the number of batches of the data is unknown.
  void begin(std::int64_t epoch);
  /// The next batch of the epoch, or nothing at its end.
  std::optional<Batch> next();
  /// Whether the data ended before the epoch had its steps.
  bool ran_out() const { return ran_out_; }
  /// The number of the pass after the last one that was begun.
  std::int64_t next_pass() const { return pass_ + 1; }

 private:
  void open(std::int64_t pass);
  void seek(std::int64_t epoch);

  Dataset data_;
  std::optional<std::int64_t> steps_;
  std::int64_t first_pass_, pass_ = 0;
  Dataset::Next next_;      // of the pass; empty after its end
  std::int64_t read_ = 0;   // batches of the pass
  std::int64_t taken_ = 0;  // batches of this epoch
  bool is_positioned_ = false, ran_out_ = false;
};

}  // namespace croton::nn
