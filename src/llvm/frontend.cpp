#include "frontend.hpp"

#include <clang/AST/Decl.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "ast_checks.hpp"
#include "host_target.hpp"
#include "preludes.hpp"
#include "simulator_passes.hpp"
#include "token_checks.hpp"

namespace croton::llvm_part {
namespace {

constexpr const char* file_name = "kernel.cpp";  // the text's name in messages; runtime/cpu/compiler.cpp looks for it

// The limit of steps for one constant expression of a user's text: a table of 1024 entries has 256 steps an entry.
// Clang's own limit is four times as high, six seconds of a slow processor; the compilation would be stopped before it,
// and the message would have no line.
constexpr int max_constexpr_steps = 1 << 18;

// Arguments of `clang -cc1`.
std::vector<std::string> cc1_arguments(const CrotonCompileRequest& request) {
  const HostTarget& host = host_target();
  std::vector<std::string> all;
  const auto add = [&](std::initializer_list<std::string> more) { all.insert(all.end(), more); };
  add({"-triple", host.triple, "-target-cpu", host.cpu});
  for (const std::string& feature : host.features) add({"-target-feature", feature});
  add({"-std=c++17", "-fgnuc-version=4.2.1", "-ffreestanding", "-nostdsysteminc", "-nobuiltininc", "-nostdinc++"});
  // IEEE arithmetic without contraction: CPU, simulator and GPU give the same bits. Exceptions are ignored; errno is
  // off by default in cc1, which has no -fno-math-errno and no -fno-trapping-math.
  add({"-ffp-contract=off", "-fno-rounding-math", "-ffp-exception-behavior=ignore"});
  add({"-mrelocation-model", "pic", "-pic-level", "2", "-mframe-pointer=none"});
  add({"-O3", "-disable-llvm-passes", "-emit-llvm-only"});  // the optimiser runs once, in backend.cpp
  add({"-w", "-ferror-limit", "20", "-fno-caret-diagnostics"});
  if (request.mode == croton_mode_cpu_trapping) {
    const std::string checks =
        "signed-integer-overflow,shift-base,shift-exponent,integer-divide-by-zero,float-cast-overflow";
    add({"-fsanitize=" + checks, "-fsanitize-trap=" + checks});
  }
  if (is_for_cpu(request.mode)) {
    const char* width = prefers_wide_vectors(request) ? "-mprefer-vector-width=512" : "-mprefer-vector-width=256";
    add({"-vectorize-loops", "-vectorize-slp", width, "-x", "c++"});
  } else {
    // Device code for the host's triple: kernels become ordinary functions, and `__shared__` is understood.
    add({"-aux-triple", host.triple, "-fcuda-is-device", "-x", "cuda"});
    // Uninitialised locals are visible in results: floats are nan, integers 0xaaaaaaaa.
    if (request.mode == croton_mode_simulator_checked)
      add({"-debug-info-kind=line-tables-only", "-ftrivial-auto-var-init=pattern"});
  }
  if (request.users_size > 0) add({"-fconstexpr-steps=" + std::to_string(max_constexpr_steps)});
  add({"-main-file-name", file_name, file_name});
  return all;
}

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> file_system_of(std::string_view text) {
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  files->addFile(file_name, 0,
                 llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(text.data(), text.size()), file_name));
  return files;
}

/// Emits IR for the checked simulator; constructs that it cannot run are errors.
class EmitSimulated : public clang::EmitLLVMOnlyAction {
 public:
  EmitSimulated(llvm::LLVMContext* context, UsersText users_text)
      : EmitLLVMOnlyAction(context), users_text_(users_text) {}

 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef file) override {
    std::vector<std::unique_ptr<clang::ASTConsumer>> consumers;
    consumers.push_back(make_ast_checks(compiler, users_text_));
    consumers.push_back(clang::EmitLLVMOnlyAction::CreateASTConsumer(compiler, file));
    return std::make_unique<clang::MultiplexConsumer>(std::move(consumers));
  }

  /// Marks variables in dynamic shared memory, which look like undefined ones in IR.
  void EndSourceFileAction() override {
    clang::CodeGenerator* generator = getCodeGenerator();
    if (llvm::Module* module = generator != nullptr ? generator->GetModule() : nullptr) {
      for (llvm::GlobalVariable& variable : module->globals()) {
        const clang::Decl* declaration = generator->GetDeclForMangledName(variable.getName());
        if (variable.isDeclaration() && declaration != nullptr && declaration->hasAttr<clang::CUDASharedAttr>())
          variable.addAttribute(dynamic_shared_attribute);
        // Only host code may write __constant__ variables, and the text has none.
        if (declaration != nullptr && declaration->hasAttr<clang::CUDAConstantAttr>()) variable.setConstant(true);
      }
    }
    EmitLLVMOnlyAction::EndSourceFileAction();
  }

 private:
  UsersText users_text_;
};

/// Sets up a compiler of one file, `file_name`; false if Clang rejects the arguments.
bool prepare(clang::CompilerInstance& compiler, const std::vector<std::string>& arguments, llvm::raw_ostream& stream) {
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> options(new clang::DiagnosticOptions());
  clang::TextDiagnosticPrinter argument_printer(stream, options.get());
  clang::DiagnosticsEngine argument_diagnostics(new clang::DiagnosticIDs(), options, &argument_printer, false);
  if (!clang::CompilerInvocation::CreateFromArgs(compiler.getInvocation(), pointers, argument_diagnostics))
    return false;
  // createDiagnostics, not setDiagnostics: only the former applies -w, and device mode warns about its own macros.
  compiler.createDiagnostics(new clang::TextDiagnosticPrinter(stream, &compiler.getDiagnosticOpts()));
  return true;
}

}  // namespace

bool prefers_wide_vectors(const CrotonCompileRequest& request) {
  if (request.width == croton_width_host) return host_target().wide_vectors;
  return request.width == croton_width_512;
}

std::unique_ptr<llvm::Module> parse(const CrotonCompileRequest& request, llvm::LLVMContext& context,
                                    std::string& messages) {
  const std::vector<std::string> arguments = cc1_arguments(request);
  const UsersText users_text{request.users_begin, request.users_size};
  llvm::raw_string_ostream stream(messages);
  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files = file_system_of({request.source, request.source_size});
  if (users_text.size > 0) {
    clang::CompilerInstance lexer;
    if (!prepare(lexer, arguments, stream)) return nullptr;
    lexer.createFileManager(files);
    TokenChecks checks(users_text);
    if (!lexer.ExecuteAction(checks)) return nullptr;
  }

  clang::CompilerInstance compiler;
  if (!prepare(compiler, arguments, stream)) return nullptr;
  const auto text = llvm::MemoryBuffer::getMemBuffer(llvm::StringRef(request.source, request.source_size), file_name);
  use_prelude(compiler.getInvocation(), arguments, *text, request.prelude_size, files);
  compiler.createFileManager(files);

  clang::EmitLLVMOnlyAction plain(&context);
  EmitSimulated simulated(&context, users_text);
  clang::CodeGenAction& action = request.mode == croton_mode_simulator_checked ? simulated : plain;
  if (!compiler.ExecuteAction(action)) return nullptr;
  return action.takeModule();
}

}  // namespace croton::llvm_part
