#include "runtime/cuda/kernels.hpp"

#include <cstddef>
#include <vector>

#include "runtime/cuda/compiler.hpp"
#include "runtime/cuda/libraries/nvrtc.hpp"
#include "runtime/cuda/target.hpp"

namespace croton::runtime::cuda {

std::pair<const LoadedKernel&, Prepared> Kernels::get(const codegen::Text& text, std::size_t dynamic_shared) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find(text.name);
    if (found != kernels_.end()) return {allow(found->second, dynamic_shared), Prepared::before};
  }
  bool from_cache = false;
  LoadedKernel fresh = load(text, from_cache);
  const std::lock_guard lock(mutex_);  // another thread may have been faster: its kernel is the same
  return {allow(kernels_.try_emplace(text.name, std::move(fresh)).first->second, dynamic_shared),
          from_cache ? Prepared::from_cache : Prepared::compiled};
}

const LoadedKernel& Kernels::allow(LoadedKernel& kernel, std::size_t dynamic_shared) {
  if (dynamic_shared > kernel.dynamic_shared) {
    kernel.main.allow_dynamic_shared(dynamic_shared);
    kernel.dynamic_shared = dynamic_shared;
  }
  return kernel;
}

const LoadedKernel* Kernels::find(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(name);
  return found == kernels_.end() ? nullptr : &found->second;
}

LoadedKernel Kernels::load(const codegen::Text& text, bool& from_cache) const {
  const std::string prelude = codegen::prelude(codegen::Target::cuda);
  const CompileTarget target = choose_target(context_->facts(), Nvrtc::instance().architectures());
  const std::vector<std::byte> code =
      compile(prelude + text.code, text.digest, prelude, target.architecture, target.form, text.name, &from_cache);
  const Module module(context_, code);
  LoadedKernel kernel{module.kernel(text.name), std::nullopt};
  if (text.state_bytes > 0) kernel.finish = module.kernel(text.name + "_finish");
  return kernel;
}

}  // namespace croton::runtime::cuda
