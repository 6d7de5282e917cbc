// A launch that has run, and whose results are not yet in their places: behind the commit point of a plan everything
// that may fail is done first, then all results are written.
#pragma once

namespace croton::runtime {

class PendingResult {
 public:
  virtual ~PendingResult() = default;
  virtual void write() noexcept = 0;
};

}  // namespace croton::runtime
