// Only where LLVM is put in statically (CROTON_LLVM_STATIC): Debian's Clang registers Polly, a plugin that no package
// has as an archive. This one stands in its place and registers nothing.
#include <llvm/Passes/PassPlugin.h>

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "no Polly", "", [](llvm::PassBuilder&) {}};
}
