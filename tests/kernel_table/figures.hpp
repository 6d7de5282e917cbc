// The figures of a named graph for one architecture: what NVRTC and nvdisasm make of its kernels, and what the model of
// a launch says of them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graphs.hpp"
#include "runtime/cuda/inspect/launch_model.hpp"

namespace croton::kernel_table {

/// One entry of a kernel: its code, and the largest of its launches in a call. Figures of times, bytes and launches are
/// those of all of them.
struct EntryFigures {
  std::string name;    ///< the family; "split, finish" for the second entry of a long reduction
  std::string digest;  ///< of the kernel's text
  runtime::cuda::EntryLaunch launch;
  runtime::cuda::EntryCode code;
  runtime::cuda::Occupancy occupancy;
  std::int64_t in_flight = 0;  ///< bytes on a multiprocessor
  std::int64_t serial_joins = 0;
  std::int64_t launches = 0;
  double bytes = 0;  ///< modelled
  runtime::cuda::ModelledTime time;
  bool matters = false;  ///< it moves at least a tenth of the bytes of its graph, or takes a tenth of the time
};

struct GraphFigures {
  std::vector<EntryFigures> entries;
  double bytes = 0, seconds = 0;  ///< modelled, of all launches
  std::int64_t launches = 0;
  std::size_t products = 0;  ///< by a library, which are in no figure
  double floor_seconds = 0;  ///< of one launch that moves the least bytes; 0 if these are not stated
};

/// Compiles kernels, each once for an architecture, and measures how long that takes.
class Compiler {
 public:
  struct Result {
    std::vector<runtime::cuda::EntryCode> entries;
    double milliseconds = 0;  ///< of NVRTC
    std::string family;
  };
  /// The kernel must be of a CUDA target. The errors of NVRTC and nvdisasm.
  const Result& compile(const KernelInfo& kernel);
  /// Prints the times of NVRTC: the median and the longest of each family.
  void print_times() const;

 private:
  std::map<std::pair<std::string, std::string>, Result> results_;  // by digest and target
};

GraphFigures figures_of(const NamedGraph& graph, const std::string& architecture, Compiler& compiler);

}  // namespace croton::kernel_table
