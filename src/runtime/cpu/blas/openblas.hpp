// The processor whose kernels OpenBLAS runs. A build that is older than the processor takes one that it does not know
// for an old one, and multiplies four times slower than it could (0.3.21 runs kernels for SSE3 on Xeons of 2023). It
// reads another choice from the environment, once, when it is loaded.
#pragma once

#include <string>
#include <string_view>

namespace croton::runtime::cpu {

/// What the registers of a processor hold: 128 bits, 256 (AVX2 and FMA), 512 (AVX-512 of servers since 2017).
enum class VectorWidth { bits128, bits256, bits512 };

/// This processor's, as far as the operating system lets programs use it.
VectorWidth vector_width();

/// The core that OpenBLAS should be asked for in place of `chosen` (as `openblas_get_corename` spells it), on a
/// processor of this width; empty where `chosen` does as well, or is not known. Processors of AMD with AVX-512 are
/// taken for Intel's, as versions of OpenBLAS that know them do.
std::string better_core(std::string_view chosen, VectorWidth width);

/// While it lives, getenv() finds one more variable. Unlike setenv() it leaves the old environment as it is, so that
/// threads which are reading it are not disturbed. Make only one at a time.
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
