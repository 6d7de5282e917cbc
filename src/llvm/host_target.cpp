#include "host_target.hpp"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <stdexcept>

namespace croton::llvm_part {
namespace {

// In a virtual machine LLVM 19 reports AVX10 together with AVX-512, a combination that its own front end rejects. AMX
// needs a permission of the operating system. Neither changes the code of our kernels.
bool is_misreported(llvm::StringRef feature) { return feature.starts_with("avx10") || feature.starts_with("amx"); }

HostTarget detect() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetAsmParser();

  HostTarget host;
  host.triple = llvm::sys::getProcessTriple();
  host.cpu = llvm::sys::getHostCPUName().str();
  const auto features = llvm::sys::getHostCPUFeatures();
  for (const auto& feature : features) {
    if (!is_misreported(feature.first())) host.features.push_back((feature.second ? "+" : "-") + feature.first().str());
  }
  std::sort(host.features.begin(), host.features.end());
  host.wide_vectors = features.lookup("avx512bw") && features.lookup("avx512vl");
  return host;
}

}  // namespace

std::string HostTarget::feature_string() const {
  std::string all;
  for (const std::string& feature : features) all += (all.empty() ? "" : ",") + feature;
  return all;
}

const HostTarget& host_target() {
  static const HostTarget host = detect();
  return host;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(bool quick) {
  const HostTarget& host = host_target();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(host.triple, error);
  if (target == nullptr) throw std::runtime_error("LLVM has no back end for " + host.triple + ": " + error);

  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // fma only where the text has it: all devices give the same bits
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      host.triple, host.cpu, host.feature_string(), options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      quick ? llvm::CodeGenOptLevel::Less : llvm::CodeGenOptLevel::Aggressive, /*JIT=*/true));
  if (machine == nullptr) throw std::runtime_error("LLVM gives no target machine for " + host.triple);
  return machine;
}

}  // namespace croton::llvm_part
