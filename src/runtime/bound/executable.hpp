// Executable: the part of a compiled function that does not depend on sizes, from which plans are bound. Also the data
// that a call passes to the runtime, and its counters.
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

/// An input of the graph. Arguments and shared variables are numbered separately.
struct InputRef {
  bool shared = false;
  std::size_t number = 0;
  friend bool operator==(const InputRef&, const InputRef&) = default;
};

/// Copies of constants on devices. They are sent once, for all calls.
struct DeviceConstants {
  std::mutex mutex;
  std::map<std::pair<std::size_t, base::DeviceMemory*>, Array> arrays;  // by index in the graph
};

/// The host values that depend on `host_inputs`.
struct Numbered {
  std::vector<NodeId> nodes;              // in topological order
  std::vector<NodeId> sizes;              // those that are sizes of some node
  std::vector<std::size_t> requirements;  // indices of the arena's requirements that refer to some of them
};

/// A program and its plan, with the facts about them that binding needs.
struct Executable {
  fuse::Program program;
  plan::Plan plan;
  /// Per call: the analysis of its kernel, or of the generated kernels of a product.
  base::IdVector<fuse::CallId, std::vector<std::shared_ptr<const codegen::Analysis>>> analyses;
  base::IdVector<fuse::CallId, std::vector<std::shared_ptr<const Executable>>> bodies;
  std::vector<bool> needed;           // per node: it is reachable from the graph's results
  std::vector<InputRef> inputs;       // in the order of graph.inputs
  std::vector<InputRef> host_inputs;  // integer scalars that sizes depend on: part of a bound plan's key
  Numbered numbered;
  std::vector<bool> needs_contiguous;  // per argument: a product, a transfer or a routine reads it

  std::shared_ptr<DeviceConstants> device_constants = std::make_shared<DeviceConstants>();

  const fuse::Call& call_of(const plan::Step& step) const { return program.calls[step.call]; }
  /// The first call of a launch; all calls of a launch are of one kind.
  const fuse::Call& call_of(plan::LaunchId launch) const {
    return call_of(plan.steps[plan.launches[launch].first_step]);
  }
};
/// Finds the facts that binding needs, also for the bodies of loops and branches.
std::shared_ptr<const Executable> make_executable(fuse::Program program, plan::Plan plan);

/// The lines of the comment above a kernel's text: its expression and the user's lines.
std::vector<std::string> kernel_comment(const fuse::KernelCall& call);
/// "name, file:line" for messages.
std::string line_of(const expr::Origin& origin);

/// Copies of a shared variable's value on other devices than its home. They are sent again if the value has changed.
struct SharedCopies {
  struct Copy {
    Array array;
    std::uint64_t version = 0;
  };
  std::mutex mutex;
  std::map<base::DeviceMemory*, Copy> by_device;

  /// Frees the copy on the device that now has the value itself.
  void forget(const Array& value) {
    std::erase_if(by_device, [&](const auto& copy) { return copy.first->has(value); });
  }
};

/// The arrays of a call. Its inputs belong to the caller and do not change during the call.
struct CallArrays {
  std::vector<const Array*> arguments;  // converted; contiguous where needed
  std::vector<const Array*> shared;     // current values, each on its home device
  std::vector<SharedCopies*> copies;    // of the shared variables
  std::vector<std::uint64_t> versions;  // of their values
  std::vector<Array> held;              // keeps copies of shared variables alive during the call
  bool given_outputs = false;           // outputs that are not empty are memory to write the results to
  bool reuse_outputs = false;           // outputs are those of an earlier call: overwrite them if they fit
  std::vector<Array> outputs;           // results
  std::vector<Array> updates;           // new values; an update in place has the old array

  /// Instead of a result that is not there yet, or no more: without dimensions and owner, so that copies allocate
  /// nothing.
  static const Array& nothing();
  const Array& of(InputRef input) const { return *(input.shared ? shared : arguments)[input.number]; }
  /// The value of an integer scalar.
  std::int64_t number(InputRef input) const { return of(input).to_host().astype(DType::int64).item<std::int64_t>(); }
};

/// Raises ShapeError if a given output does not have the shape of the result.
void check_place(const Array& place, std::span<const std::int64_t> shape);

/// A copy from one device to another.
struct Transferred {
  enum class Kind : std::uint8_t { input, shared, value, output, constant };
  std::shared_ptr<const Executable> executable;  // of the function, or of a body of a loop or branch
  NodeId node;                                   // its node: the copy, on the target device
  expr::Place from = base::host_place, to = base::host_place;
  Kind kind = Kind::value;
  std::size_t bytes = 0;
};

/// Counts of the work of calls. The caller owns it and protects it by a lock.
struct RunCounts {
  std::uint64_t kernels = 0, products = 0, convolutions = 0, routines = 0, callbacks = 0, reference_kernels = 0,
                compiled = 0, cached = 0, offered_parts = 0, worker_parts = 0;
  std::uint64_t transfers = 0, transferred_bytes = 0;
  std::vector<Transferred> transferred;  // by the last call, in order
  /// How the last call ran its loops, by executable and step. (The pointer is only a key: the executable may be
  /// deleted.)
  std::map<std::pair<const Executable*, plan::StepId>, std::shared_ptr<const std::string>> loops;

  void add(const Transferred& transfer) {
    ++transfers;
    transferred_bytes += transfer.bytes;
    transferred.push_back(transfer);
  }
  /// Adds the counts of work that ran after this.
  void add(const RunCounts& more);
};

}  // namespace croton::runtime
