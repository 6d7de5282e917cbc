// Copies of the arguments of a function's calls to a GPU, in a stream that has only such copies, into two sets of
// memory that calls use in turn.
//
// - The copies of a call wait for nothing on the device: the last reader of its memory was the call before the previous
//   one, and begin() waits for its end on the host. That also limits how far the host runs ahead.
// - The computing stream waits for an event after each copy, so that all its later work may read the data.
// - Memory is allocated and freed in the order of the computing stream. Copies use new memory after an event of its
//   allocation; when it ends, the computing stream has waited for all copies into it.
#pragma once

#include "runtime/cuda/driver/stream.hpp"
#include "runtime/cuda/peer_copies.hpp"
#include "runtime/device/device.hpp"

#include <array>
#include <cstddef>
#include <memory>

namespace croton::runtime::cuda {

class DoubleBufferedUploads final : public Uploads {
 public:
  /// `gpu` computes in the stream `computing`; both streams belong to the context.
  DoubleBufferedUploads(runtime::Device& gpu, std::shared_ptr<Context> context, Stream computing, Stream copying,
                        std::shared_ptr<PeerCopies> peer_copies);

  char* begin(std::size_t bytes) override;
  void copy_in(void* to, const void* host, std::size_t bytes) override;
  bool save_memory() override;

 private:
  struct Set {
    std::shared_ptr<void> memory;
    std::size_t bytes = 0;
    Event used;  // after the work of the call that used it; recorded when the next call begins
  };
  void make_ready(Set& set, std::size_t bytes);

  runtime::Device& gpu_;
  const std::shared_ptr<Context> context_;
  const Stream computing_, copying_;
  const std::shared_ptr<PeerCopies> peer_copies_;
  std::array<Set, 2> sets_;
  std::size_t now_ = 0;  // the set of the current call, or of the last one
  Event arrived_;
  bool ahead_ = true;
};

}  // namespace croton::runtime::cuda
