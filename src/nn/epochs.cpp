#include "nn/epochs.hpp"

namespace croton::nn {

void EpochBatches::open(std::int64_t pass) {
  pass_ = pass;
  read_ = 0;
  next_ = data_.begin(pass);
}

void EpochBatches::seek(std::int64_t epoch) {
  std::int64_t pass = first_pass_, left = epoch;
  if (data_.batches().value_or(0) > 0) {
    const std::int64_t in_a_pass = (*data_.batches() - 1) / *steps_ + 1;
    pass += epoch / in_a_pass;
    left = epoch % in_a_pass;
  }
  open(pass);
  for (; left > 0; --left) {
    begin(epoch - left);
    while (next()) continue;
  }
}

void EpochBatches::begin(std::int64_t epoch) {
  if (!steps_) return open(first_pass_ + epoch);
  if (!std::exchange(is_positioned_, true)) seek(epoch);
  if (!next_) open(pass_ + 1);
  taken_ = 0;
  ran_out_ = false;
}

std::optional<Batch> EpochBatches::next() {
  if (!steps_) return next_();
  if (!next_ || taken_ == *steps_) return std::nullopt;
  std::optional<Batch> batch = next_();
  if (!batch && taken_ == 0 && read_ > 0) {  // the pass ended with the epoch before
    open(pass_ + 1);
    batch = next_();
  }
  if (!batch) {
    ran_out_ = taken_ > 0;
    next_ = nullptr;
    return std::nullopt;
  }
  ++taken_;
  ++read_;
  return batch;
}

}  // namespace croton::nn
