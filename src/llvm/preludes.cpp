#include "preludes.hpp"

#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/PrecompiledPreamble.h>
#include <clang/Lex/Lexer.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <clang/Serialization/PCHContainerOperations.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace croton::llvm_part {
namespace {

// CPU and simulator, with two widths of vectors each; tests that change the texts need more.
constexpr std::size_t max_preludes = 8;

struct Prelude {
  bool tried = false;
  std::optional<clang::PrecompiledPreamble> parsed;  // empty: seen once so far, or Clang could not precompile it
};

struct Preludes {
  std::mutex mutex;
  std::map<std::string, Prelude> by_text;  // key: arguments, then text. Never removed, since compilations read them

  static Preludes& instance() {
    static auto* preludes = new Preludes;  // other threads may still compile when the process ends
    return *preludes;
  }
};

std::optional<clang::PrecompiledPreamble> parse_once(const clang::CompilerInvocation& invocation,
                                                     const llvm::MemoryBuffer& text, std::size_t size,
                                                     llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files) {
  // Errors of the text are reported when the whole text is compiled.
  const llvm::IntrusiveRefCntPtr<clang::DiagnosticsEngine> diagnostics(new clang::DiagnosticsEngine(
      new clang::DiagnosticIDs(), new clang::DiagnosticOptions(), new clang::IgnoringDiagConsumer()));
  clang::PreambleCallbacks callbacks;
  auto parsed = clang::PrecompiledPreamble::Build(
      invocation, &text, clang::PreambleBounds(static_cast<unsigned>(size), /*PreambleEndsAtStartOfLine=*/true),
      *diagnostics, std::move(files), std::make_shared<clang::PCHContainerOperations>(), /*StoreInMemory=*/true, "",
      callbacks);
  if (!parsed || diagnostics->hasErrorOccurred()) return std::nullopt;
  return std::move(*parsed);
}

/// The precompiled prelude, or null.
const clang::PrecompiledPreamble* find(const clang::CompilerInvocation& invocation,
                                       const std::vector<std::string>& arguments, const llvm::MemoryBuffer& text,
                                       std::size_t size, llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files) {
  std::string key;
  for (const std::string& argument : arguments) key += argument + '\n';
  key.append(text.getBufferStart(), size);
  Preludes& preludes = Preludes::instance();
  const std::lock_guard lock(preludes.mutex);
  const auto at = preludes.by_text.find(key);
  if (at == preludes.by_text.end()) {
    if (preludes.by_text.size() < max_preludes) preludes.by_text.emplace(std::move(key), Prelude{});
    return nullptr;
  }
  Prelude& prelude = at->second;
  if (!prelude.tried) {
    prelude.tried = true;
    prelude.parsed = parse_once(invocation, text, size, std::move(files));
  }
  return prelude.parsed ? &*prelude.parsed : nullptr;
}

}  // namespace

void use_prelude(clang::CompilerInvocation& invocation, const std::vector<std::string>& arguments,
                 llvm::MemoryBuffer& text, std::size_t size, llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>& files) {
  if (size == 0 || size > text.getBufferSize()) return;
  const clang::PrecompiledPreamble* parsed = find(invocation, arguments, text, size, files);
  if (parsed == nullptr) return;
  parsed->AddImplicitPreamble(invocation, files, &text);
  invocation.getPreprocessorOpts().RetainRemappedFileBuffers = true;  // the caller owns the text
}

}  // namespace croton::llvm_part
