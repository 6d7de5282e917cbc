#include "runtime/cuda/compile.hpp"

#include "runtime/cache.hpp"
#include "runtime/cuda/nvrtc.hpp"

namespace croton::runtime::cuda {

std::vector<std::byte> compile(std::string_view unit, std::string_view digest, std::string_view prelude,
                               const std::string& architecture, Form form, bool* from_cache) {
  if (from_cache != nullptr) *from_cache = false;
  const Nvrtc& nvrtc = Nvrtc::instance();
  CacheKey key;
  key.add("kernel", digest)
      .add("prelude", prelude)
      .add("architecture", architecture)
      .add("form", form == Form::ptx ? "ptx" : "cubin");
  key.add("compiler", nvrtc.identity());
  for (const std::string& option : nvrtc.options()) key.add("option", option);
  KernelCache* cache = configured_cache();
  if (cache != nullptr) {
    if (auto found = cache->find(key.digest())) {
      if (from_cache != nullptr) *from_cache = true;
      return *found;
    }
  }
  const Nvrtc::Result result = nvrtc.compile(unit, architecture, {}, form == Form::ptx);
  std::vector<std::byte> code = result.cubin;
  if (form == Form::ptx) {
    const auto* text = reinterpret_cast<const std::byte*>(result.ptx.data());
    code.assign(text, text + result.ptx.size());
  }
  if (cache != nullptr) cache->store(key.digest(), code);
  return code;
}

}  // namespace croton::runtime::cuda
