// The arguments of a function's calls on their way to a GPU: copied in a stream that holds nothing but such copies,
// into two sets of memory that calls use in turn.
//
// - The copies of a call wait for nothing on the device: its memory was read by the call before the last one, whose end
//   begin() waits for on the host. That also bounds how far the host runs ahead.
// - The stream that computes waits for an event behind each copy, so all that is asked of it later may read the data.
// - Memory is taken and given back in the order of the stream that computes. One that is new there is used by the
// copies
//   after an event behind its making; when it ends, that stream has waited for all copies into it.
#pragma once

#include "runtime/cuda/peer_copies.hpp"
#include "runtime/cuda/stream.hpp"
#include "runtime/device/device.hpp"

#include <array>
#include <cstddef>
#include <memory>

namespace croton::runtime::cuda {

class TwoSets final : public Uploads {
 public:
  /// `gpu` computes in the one stream; both are of `device`.
  TwoSets(runtime::Device& gpu, std::shared_ptr<Context> context, Stream computing, Stream copying,
          std::shared_ptr<PeerCopies> peer_copies);

  char* begin(std::size_t bytes) override;
  void copy_in(void* to, const void* host, std::size_t bytes) override;
  bool save_memory() override;

 private:
  struct Set {
    std::shared_ptr<void> memory;
    std::size_t bytes = 0;
    Event used;  // the work of the call that used it has run; recorded when the next call begins
  };
  void make_ready(Set& set, std::size_t bytes);

  runtime::Device& gpu_;
  const std::shared_ptr<Context> context_;
  const Stream computing_, copying_;
  const std::shared_ptr<PeerCopies> peer_copies_;
  std::array<Set, 2> sets_;
  std::size_t now_ = 0;  // the set of the present call, or of the last one
  Event arrived_;
  bool ahead_ = true;
};

}  // namespace croton::runtime::cuda
