// Executable: everything of a compiled function that does not depend on sizes; what plans are bound from. And what a
// call hands over.
#pragma once

#include "base/device_memory.hpp"
#include "codegen/analysis.hpp"
#include "plan/plan.hpp"

#include <croton/array.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace croton::runtime {

using expr::NodeId;

/// An input of the graph as calls count it: arguments and shared variables each have numbers of their own.
struct InputRef {
  bool shared = false;
  std::size_t number = 0;
  friend bool operator==(const InputRef&, const InputRef&) = default;
};

/// Constants on devices: sent once, for all calls.
struct DeviceConstants {
  std::mutex mutex;
  std::map<std::pair<std::size_t, base::DeviceMemory*>, Array> arrays;  // by index in the graph
};

/// What the host computes of the values of `host_inputs`.
struct Numbered {
  std::vector<NodeId> nodes;              // each behind those that it needs
  std::vector<NodeId> sizes;              // those of them that something has as its size
  std::vector<std::size_t> requirements;  // of the arena, that name some of them
};

struct Executable {
  fuse::Program program;
  plan::Plan plan;
  /// Of the call's kernel, or of the kernels that may stand in for a product.
  base::IdVector<fuse::CallId, std::vector<std::shared_ptr<const codegen::Analysis>>> analyses;
  base::IdVector<fuse::CallId, std::vector<std::shared_ptr<const Executable>>> bodies;
  std::vector<bool> needed;           // per node of the graph
  std::vector<InputRef> inputs;       // as graph.inputs
  std::vector<InputRef> host_inputs;  // integer scalars whose values sizes depend on: part of a bound plan's key
  Numbered numbered;
  std::vector<bool> needs_contiguous;  // per argument: a product, a transfer or a routine reads it

  std::shared_ptr<DeviceConstants> device_constants = std::make_shared<DeviceConstants>();

  const fuse::Call& call_of(const plan::Step& step) const { return program.calls[step.call]; }
};
std::shared_ptr<const Executable> make_executable(fuse::Program program);

/// The lines above a kernel's text: its expression and the user's lines.
std::vector<std::string> kernel_comment(const fuse::KernelCall& call);
/// "name, file:line" for messages.
std::string line_of(const expr::Origin& origin);

/// Copies of a shared variable's value on other devices than its home. They are sent again when the value has changed.
struct SharedCopies {
  struct Copy {
    Array array;
    std::uint64_t version = 0;
  };
  std::mutex mutex;
  std::map<base::DeviceMemory*, Copy> by_device;

  /// Gives back the copy where the value itself lies from now on.
  void forget(const Array& value) {
    std::erase_if(by_device, [&](const auto& copy) { return copy.first->has(value); });
  }
};

/// What a call reads, which is its caller's and stays as it is meanwhile, and what it gives.
struct CallArrays {
  std::vector<const Array*> arguments;  // converted; contiguous where needed
  std::vector<const Array*> shared;     // current values, each on its home
  std::vector<SharedCopies*> copies;    // of the shared variables
  std::vector<std::uint64_t> versions;  // of their values
  std::vector<Array> held;              // copies of shared variables that the call reads
  bool given_outputs = false;           // outputs are memory that is there, where they are not empty
  bool kept_outputs = false;            // outputs are those of an earlier call, to be written over where they fit
  std::vector<Array> outputs;           // results
  std::vector<Array> updates;           // new values of the updates; one that was written in place is the old array

  const Array& of(InputRef input) const { return *(input.shared ? shared : arguments)[input.number]; }
  /// The value of an integer scalar.
  std::int64_t number(InputRef input) const { return of(input).to_host().astype(DType::int64).item<std::int64_t>(); }
};

/// ShapeError where a result of that shape would not fill its place among given outputs.
void check_place(const Array& place, std::span<const std::int64_t> shape);

/// A copy from one device to another.
struct Transferred {
  enum class Kind : std::uint8_t { input, shared, value, output, constant };
  NodeId node;  // on the device that it went to
  expr::Place from, to;
  Kind kind;
  std::size_t bytes;
};

/// What calls have run; the caller owns it and guards it.
struct RunCounts {
  std::uint64_t kernels = 0, products = 0, convolutions = 0, routines = 0, callbacks = 0, reference_kernels = 0,
                compiled = 0, cached = 0;
  std::uint64_t transfers = 0, transferred_bytes = 0;
  std::vector<Transferred> transferred;  // by the last call, in order
  /// How the last call ran the loops, by plan and step. (A plan that is gone is named for nothing.)
  std::map<std::pair<const Executable*, plan::StepId>, std::shared_ptr<const std::string>> loops;

  void add(const Transferred& transfer) {
    ++transfers;
    transferred_bytes += transfer.bytes;
    transferred.push_back(transfer);
  }
  /// What ran behind.
  void add(const RunCounts& more);
};

}  // namespace croton::runtime
