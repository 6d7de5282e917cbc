// Which batches an epoch of training is made of.
#pragma once

#include <croton/nn/data.hpp>

#include <cstdint>
#include <optional>

namespace croton::nn {

/// The batches of one epoch behind another: a pass of the data each, or `steps` batches of a pass that goes on in the
/// next epoch. A pass that ends within an epoch ends that too, and the next one begins the next pass, as in Keras. So
/// the place of an epoch in the data follows from its number alone, and a training that goes on from a checkpoint finds
/// it.
class EpochBatches {
 public:
  /// `first_pass` is the number of the pass that epoch 0 begins.
  EpochBatches(Dataset data, std::optional<std::int64_t> steps, std::int64_t first_pass)
      : data_(std::move(data)), steps_(steps), first_pass_(first_pass) {}

  /// Begins the epoch behind the last one; at first any. Batches of the pass before that epoch are read and dropped,
  /// whole passes too where the data does not say how many batches it has.
  void begin(std::int64_t epoch);
  /// The next batch of the epoch, or nothing at its end.
  std::optional<Batch> next();
  /// Whether the data ended before the epoch had its steps.
  bool ran_out() const { return ran_out_; }
  /// The number of the pass behind the last one that was begun.
  std::int64_t next_pass() const { return pass_ + 1; }

 private:
  void open(std::int64_t pass);
  void seek(std::int64_t epoch);

  Dataset data_;
  std::optional<std::int64_t> steps_;
  std::int64_t first_pass_, pass_ = 0;
  Dataset::Next next_;      // of the pass; empty behind its end
  std::int64_t read_ = 0;   // of the pass
  std::int64_t taken_ = 0;  // of them in this epoch
  bool found_place_ = false, ran_out_ = false;
};

}  // namespace croton::nn
