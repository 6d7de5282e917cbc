// The processor whose kernels OpenBLAS runs. A build that is older than the processor takes it for an old one, and is
// four times slower than it could be (0.3.21 runs kernels for SSE3 on Xeons of 2023). It reads another choice from the
// environment, once, when it is loaded.
#pragma once

#include <string>
#include <string_view>

namespace croton::runtime::cpu {

/// The size of a processor's registers: 128 bits, 256 (AVX2 and FMA), 512 (AVX-512 of servers since 2017).
enum class VectorWidth { bits128, bits256, bits512 };

/// The width of this processor, as far as the operating system lets programs use it.
VectorWidth vector_width();

/// The core to request from OpenBLAS instead of `chosen` (as `openblas_get_corename` spells it) on a processor of this
/// width; empty if `chosen` is as good, or unknown. Processors of AMD with AVX-512 get the kernels of Intel's, as in
/// versions of OpenBLAS that know them.
std::string better_core(std::string_view chosen, VectorWidth width);

/// While it lives, getenv() finds one more variable. Unlike setenv() it does not change the old environment, which
/// other threads may read meanwhile. Make only one at a time.
class WithVariable {
 public:
  explicit WithVariable(std::string assignment);  // "NAME=value"
  ~WithVariable();
  WithVariable(const WithVariable&) = delete;
  WithVariable& operator=(const WithVariable&) = delete;

 private:
  struct Environment;
  Environment* added_;
  char** before_;
};

}  // namespace croton::runtime::cpu
