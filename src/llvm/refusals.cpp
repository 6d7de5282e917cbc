#include "refusals.hpp"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/Builtins.h>
#include <clang/Frontend/CompilerInstance.h>

#include <algorithm>

namespace croton::llvm_part {
namespace {

class Refusals : public clang::ASTConsumer, public clang::RecursiveASTVisitor<Refusals> {
 public:
  explicit Refusals(clang::CompilerInstance& compiler)
      : compiler_(compiler),
        refusal_(
            compiler.getDiagnostics().getCustomDiagID(clang::DiagnosticsEngine::Error, "%0 is not simulated: %1")) {}

  bool HandleTopLevelDecl(clang::DeclGroupRef declarations) override {
    for (clang::Decl* declaration : declarations) TraverseDecl(declaration);
    return true;
  }

  bool VisitAsmStmt(clang::AsmStmt* statement) {
    refuse(statement->getAsmLoc(), "inline assembly", "it is not run by the host's processor");
    return true;
  }
  bool VisitFileScopeAsmDecl(clang::FileScopeAsmDecl* declaration) {
    refuse(declaration->getAsmLoc(), "assembly", "it is not run by the host's processor");
    return true;
  }
  bool VisitDecl(clang::Decl* declaration) {
    for (const clang::Attr* attribute : declaration->attrs()) {
      switch (attribute->getKind()) {
        case clang::attr::Alias:
        case clang::attr::IFunc:
        case clang::attr::WeakRef:
        case clang::attr::AsmLabel:
        case clang::attr::Constructor:
        case clang::attr::Destructor:
        case clang::attr::Section:
        case clang::attr::Naked:
          refuse(attribute->getLocation().isValid() ? attribute->getLocation() : declaration->getLocation(),
                 "the attribute '" + std::string(attribute->getSpelling()) + "'",
                 "a kernel has no such thing on a GPU, or not from its text");
          break;
        default:
          break;
      }
    }
    return true;
  }
  bool VisitCallExpr(clang::CallExpr* call) {
    const unsigned builtin = call->getBuiltinCallee();
    if (builtin == 0) return true;
    const clang::Builtin::Context& builtins = compiler_.getASTContext().BuiltinInfo;
    static constexpr unsigned refused[] = {
        clang::Builtin::BI__builtin_setjmp,         clang::Builtin::BI__builtin_longjmp,
        clang::Builtin::BI__builtin_return_address, clang::Builtin::BI__builtin_frame_address,
        clang::Builtin::BI__builtin_eh_return,      clang::Builtin::BI__builtin_unwind_init,
        clang::Builtin::BI__builtin_dwarf_cfa,      clang::Builtin::BI__builtin___clear_cache,
        clang::Builtin::BI__builtin_memcmp,         clang::Builtin::BImemcmp,
        clang::Builtin::BI__builtin_bcmp,           clang::Builtin::BIbcmp,
        clang::Builtin::BI__builtin_thread_pointer};
    if (builtins.isTSBuiltin(builtin) || std::ranges::find(refused, builtin) != std::end(refused)) {
      refuse(call->getBeginLoc(), "'" + std::string(builtins.getName(builtin)) + "'",
             "it is about the processor of the host or its memory");
    }
    return true;
  }

 private:
  void refuse(clang::SourceLocation where, const std::string& what, const char* why) {
    compiler_.getDiagnostics().Report(where, refusal_) << what << why;
  }

  clang::CompilerInstance& compiler_;
  unsigned refusal_;
};

}  // namespace

std::unique_ptr<clang::ASTConsumer> make_refusals(clang::CompilerInstance& compiler) {
  return std::make_unique<Refusals>(compiler);
}

}  // namespace croton::llvm_part
