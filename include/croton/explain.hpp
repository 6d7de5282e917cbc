// Explanations: how far each step of a function is from the limit of a machine, and why.
//
//   std::cout << f.explain({.machine = "H100", .shapes = {{4096, 1024}}});
//
// Times of GPUs are modelled, from the sizes of the launches and from their machine code; no GPU is needed
// (docs/use/explain.md tells how, and how far the model is from measured times).
#pragma once

#include <croton/function.hpp>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace croton {

class Trace;  // trace.hpp

struct ExplainOptions {
  /// "cpu" for the host; or a GPU by a part of its name, such as "H100" (`known_gpus`). Empty: the function's device,
  /// and the H200 for a GPU that is not known.
  std::string machine = {};
  /// The shapes of the arguments of a call, as in KernelOptions. Inputs need them.
  std::vector<Sizes> shapes = {};
  /// Overrides of schedules, as in KernelOptions.
  std::string schedule = {};
  /// Recorded calls of this function on the host with these shapes, whose times are compared with the model. Without
  /// one, a copy of a function on the host that changes no shared variable and calls no function of the user is called
  /// to measure it, with arguments of ones, and zeros for integers.
  const Trace* trace = nullptr;
};

/// A launch of a call: a kernel, a product by a library, a transfer and so on.
struct ExplainedStep {
  std::string what;                                     ///< "kernel", or as in TraceEvent::what
  std::string name;                                     ///< "row_1a2b3c", "product 100 x 784 x 128"
  std::vector<std::string> lines;                       ///< the user's lines: "train.cpp:12 loss"
  std::int64_t launches = 0;                            ///< of kernels: a long reduction may have two
  std::int64_t blocks = 0, threads = 0, registers = 0;  ///< of a GPU: of the largest launch; registers of a thread
  double occupancy = 0;                                 ///< the share of the warps that a multiprocessor can have
  std::string occupancy_limiter;                        ///< "threads", "blocks", "registers" or "shared memory"
  double bytes = 0;                                     ///< from and to memory
  double least_bytes = 0;                               ///< the same if each operand moves once
  double operations = 0;                                ///< of a product: additions and multiplications
  /// Of one thread, from the machine code of a GPU; nothing without NVRTC and nvdisasm, and on the host.
  std::optional<double> instructions_per_element, instructions_per_byte;
  /// Seconds; nothing for steps whose work is not known before a call, such as loops and callbacks.
  std::optional<double> seconds;
  double floor_seconds = 0;  ///< of one launch that moves the least bytes, or does the operations, at full rate
  std::optional<double> measured_seconds;  ///< the median of recorded calls
  /// The largest part of its time: "memory", "issue" (of instructions), "latency" (of memory, from access to access),
  /// "parallelism" (there are fewer blocks than multiprocessors), "meetings" (of blocks, for a reduction), "launch",
  /// "arithmetic" (of products and on the host); empty if the time is not known.
  std::string limiter;
  std::vector<std::string>
      fusion;          ///< its operations, the values that it stores, and the kernels that it is apart from
  std::string change;  ///< a way to make it faster

  /// The floor by the time: 1 is the limit of the machine; 0 if the time is not known.
  double share() const { return seconds && *seconds > 0 ? floor_seconds / *seconds : 0; }
};

struct Explanation {
  std::string function, machine, architecture;  ///< "cpu": no architecture
  std::string source;                           ///< of the machine's numbers: a report or a data sheet
  std::string unmeasured;                       ///< why there are no measured times on the host; empty if there are
  std::string machine_code;                     ///< why figures of machine code are missing; empty if they are not
  std::vector<ExplainedStep> steps;             ///< in the order of a call
  double seconds = 0;                           ///< of all steps whose time is known
  double least_bytes = 0;                       ///< of the inputs that are read and the results, each once
  /// Of one launch that moves these bytes while the products run at full rate: no division into steps is faster.
  double floor_seconds = 0;
  std::size_t unknown = 0;  ///< steps whose time is not known

  /// The measured time by the modelled one, over all steps that have both; nothing without one.
  std::optional<double> measured_by_modelled() const;
  /// One object, with all of the above by the same names; for pages and programs.
  std::string to_json() const;
};
/// The sums, and for each step its figures and reasons.
std::string to_string(const Explanation& explanation);
std::ostream& operator<<(std::ostream& out, const Explanation& explanation);

/// The names of GPUs that ExplainOptions::machine knows.
std::vector<std::string> known_gpus();

}  // namespace croton
