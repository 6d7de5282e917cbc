// The target of CPU kernels: the processor of this process as LLVM detects it, without features that it misreports.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
}

namespace croton::llvm_part {

struct HostTarget {
  std::string triple;
  std::string cpu;
  // "+avx2", "-avx512f", ...: sorted. Missing features are listed too: a virtual machine may hide some that the CPU's
  // name implies.
  std::vector<std::string> features;
  bool wide_vectors = false;  // 512-bit vectors are profitable: the processor has AVX-512BW and VL

  /// The features, separated by commas, as LLVM's target machines expect them.
  std::string feature_string() const;
};

/// Detected once; also registers LLVM's native back end.
const HostTarget& host_target();

/// A code generator for the host with IEEE arithmetic and without contraction. Must not be shared between threads.
std::unique_ptr<llvm::TargetMachine> make_target_machine(bool quick);

}  // namespace croton::llvm_part
