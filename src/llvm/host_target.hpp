// The processor that kernels are compiled for: the one we run on, as LLVM names it, less what its detection gets wrong.
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
  // "+avx2", "-avx512f", ...: sorted, the missing ones too, since a virtual machine may hide what the CPU's name
  // implies.
  std::vector<std::string> features;
  bool wide_vectors = false;  // 512-bit vectors pay: AVX-512BW and VL are there

  /// The features with commas between, as LLVM's target machines take them.
  std::string feature_string() const;
};

/// Detected once; also registers LLVM's native back end.
const HostTarget& host_target();

/// A code generator for the host that contracts nothing and follows IEEE. Not to be shared between threads.
std::unique_ptr<llvm::TargetMachine> make_target_machine(bool quick);

}  // namespace croton::llvm_part
