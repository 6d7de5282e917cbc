// A library of a profiler, for NVTX_INJECTION64_PATH: it records ranges as text.
#include <nvtx3/nvToolsExt.h>

#include <string>

namespace {

std::string& log_text() {
  static std::string text;
  return text;
}

nvtxDomainHandle_t NVTX_API make_domain(const char* name) {
  log_text() += std::string("domain ") + name + "\n";
  return reinterpret_cast<nvtxDomainHandle_t>(&log_text());
}
int NVTX_API push(nvtxDomainHandle_t, const nvtxEventAttributes_t* attributes) {
  log_text() += std::string("push ") + attributes->message.ascii + "\n";
  return 0;
}
int NVTX_API pop(nvtxDomainHandle_t) {
  log_text() += "pop\n";
  return 0;
}

}  // namespace

extern "C" {

const char* fake_nvtx_log() { return log_text().c_str(); }

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  if (size <= NVTX_CBID_CORE2_DomainRangePop) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(make_domain);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(push);
  *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}
}
