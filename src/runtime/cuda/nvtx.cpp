#include "runtime/cuda/nvtx.hpp"

#include "base/config.hpp"
#include "base/environment.hpp"

#ifdef CROTON_WITH_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace croton::runtime::cuda {

#ifdef CROTON_WITH_NVTX

namespace {

/// Separates the ranges of Croton from those of the program.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t made = nvtxDomainCreateA("Croton");
  return made;
}

}  // namespace

bool has_nvtx() { return true; }

void NvtxRange::open(const std::string& name) {
  // The environment names the library; a program with more rights than its caller must not use it.
  if (base::secure_execution()) return;
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name.c_str();
  nvtxDomainRangePushEx(domain(), &attributes);
  open_ = true;
}

void NvtxRange::close() { nvtxDomainRangePop(domain()); }

#else

bool has_nvtx() { return false; }
void NvtxRange::open(const std::string&) {}
void NvtxRange::close() {}

#endif

}  // namespace croton::runtime::cuda
