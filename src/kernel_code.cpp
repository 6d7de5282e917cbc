// The output of compilers for a kernel: PTX, machine code, assembly, and facts such as the number of registers.
#include <croton/function.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/index.hpp"
#include "codegen/emit.hpp"
#include "runtime/cpu/compiler.hpp"
#include "runtime/cuda/compiler.hpp"
#include "runtime/cuda/inspect/facts.hpp"
#include "runtime/cuda/inspect/nvdisasm.hpp"
#include "runtime/cuda/inspect/sass.hpp"

namespace croton {

using runtime::cuda::Form;

namespace {

std::string architecture(const KernelInfo& kernel) {
  if (!kernel.target.starts_with("cuda:"))
    throw ValueError("PTX, cubin, facts and SASS are for CUDA targets: use kernels(\"cuda:sm_90\")");
  return kernel.target.substr(5);
}

std::vector<std::byte> compiled(const KernelInfo& kernel, runtime::cuda::Form form) {
  return runtime::cuda::compile(kernel.unit, kernel.digest, codegen::prelude(codegen::Target::cuda),
                                architecture(kernel), form, kernel.name);
}
std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string KernelInfo::ptx() const { return text_of(compiled(*this, Form::ptx)); }
std::vector<std::byte> KernelInfo::cubin() const { return compiled(*this, Form::cubin); }
std::vector<KernelFacts> KernelInfo::facts() const {
  return runtime::cuda::read_facts(text_of(compiled(*this, Form::facts)));
}
std::string KernelInfo::sass() const {
  namespace cuda = runtime::cuda;
  return cuda::print_sass(cuda::parse_sass(cuda::disassemble(compiled(*this, Form::cubin), false)));
}
std::string KernelInfo::annotated_sass() const {
  namespace cuda = runtime::cuda;
  const std::string_view prelude = std::string_view(unit).substr(0, unit.size() - source.size());
  const int prelude_lines = base::to_int(std::ranges::count(prelude, '\n'));
  const std::string listing = cuda::disassemble(compiled(*this, Form::lined_cubin), true);
  return cuda::annotate(cuda::parse_sass(listing), source, prelude_lines);
}
std::string KernelInfo::assembly() const {
  if (target != "cpu") throw ValueError("assembly is for the cpu target; CUDA kernels have ptx()");
  return runtime::cpu::Compiler::instance().assembly(unit);
}

}  // namespace croton
