// Named ranges for profilers, by NVTX: its headers load the library that a profiler names in the environment, and
// without one a range costs almost nothing. Ranges do nothing if Croton was configured without these headers.
#pragma once

#include <string>

#include "base/config.hpp"

namespace croton::runtime::cuda {

/// Whether this build has NVTX.
bool has_nvtx();

/// A range of this thread from its construction to its end, if the flag `nvtx` is on. Ranges nest.
class NvtxRange {
 public:
  explicit NvtxRange(const std::string& name, const base::Flags& flags = base::config()) {
    if (flags.nvtx) [[unlikely]]
      open(name);
  }
  ~NvtxRange() {
    if (open_) close();
  }
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;

 private:
  void open(const std::string& name);
  void close();

  bool open_ = false;
};

}  // namespace croton::runtime::cuda
