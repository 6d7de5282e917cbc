// A replacement for Polly that registers nothing, for builds that link LLVM statically (CROTON_LLVM_STATIC): Debian's
// Clang registers this plugin, but no package has it as an archive.
#include <llvm/Passes/PassPlugin.h>

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "no Polly", "", [](llvm::PassBuilder&) {}};
}
