// Passes over batches, for Python.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "core/bindings.hpp"
#include "core/gil.hpp"

namespace croton::python {

/// A pass that is read and ended without the GIL: the producer of its batches, perhaps on another thread, may need it.
template <class Batch>
class ReleasedNext {
 public:
  using Next = std::function<std::optional<Batch>()>;
  template <class Begin>
  explicit ReleasedNext(const Begin& begin) {
    const ReleaseGil no_gil;
    next_ = std::make_unique<Next>(begin());
  }
  ReleasedNext(ReleasedNext&&) noexcept = default;
  ~ReleasedNext() {
    if (!next_) return;
    const ReleaseGil no_gil;
    next_.reset();
  }

  std::optional<Batch> operator()() {
    const ReleaseGil no_gil;
    return (*next_)();
  }

 private:
  std::unique_ptr<Next> next_;
};

}  // namespace croton::python
