#include "refusals.hpp"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/Builtins.h>
#include <clang/Frontend/CompilerInstance.h>
#include <llvm/ADT/DenseMap.h>

#include <algorithm>

namespace croton::llvm_part {
namespace {

class Refusals : public clang::ASTConsumer, public clang::RecursiveASTVisitor<Refusals> {
 public:
  Refusals(clang::CompilerInstance& compiler, UsersText users_text)
      : compiler_(compiler),
        users_text_(users_text),
        refusal_(
            compiler.getDiagnostics().getCustomDiagID(clang::DiagnosticsEngine::Error, "%0 is not simulated: %1")) {}

  bool HandleTopLevelDecl(clang::DeclGroupRef declarations) override {
    for (clang::Decl* declaration : declarations) TraverseDecl(declaration);
    return !is_too_deep_;  // what follows may be deeper still
  }

  // Clang goes from each class down all of its bases, on the stack.
  bool VisitCXXRecordDecl(clang::CXXRecordDecl* record) {
    if (!record->isThisDeclarationADefinition()) return true;
    unsigned depth = 0;
    for (const clang::CXXBaseSpecifier& base : record->bases()) {
      if (const clang::CXXRecordDecl* of = base.getType()->getAsCXXRecordDecl())
        depth = std::max(depth, 1 + depths_.lookup(of->getCanonicalDecl()));
    }
    depths_[record->getCanonicalDecl()] = depth;
    if (depth > most_bases && !is_too_deep_) {
      refuse(record->getLocation(), "a class with more than 256 bases below each other", "Clang has no stack for that");
      is_too_deep_ = true;
    }
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
  bool VisitVarDecl(clang::VarDecl* variable) {
    if (variable->getTLSKind() != clang::VarDecl::TLS_None)
      refuse(variable->getLocation(), "a variable of a thread of the host", "kernels have none");
    return true;
  }
  // A GPU has no such jumps, and the checks of loops without an end know none.
  bool VisitAddrLabelExpr(clang::AddrLabelExpr* address) {
    refuse(address->getBeginLoc(), "the address of a label", "kernels have no computed goto");
    return true;
  }
  bool VisitIndirectGotoStmt(clang::IndirectGotoStmt* jump) {
    refuse(jump->getBeginLoc(), "a computed goto", "kernels have none");
    return true;
  }
  bool VisitDecl(clang::Decl* declaration) {
    // What calls a kernel is not checked, and neither is what that calls in there.
    if (users_text_.wrote(compiler_.getSourceManager(), declaration->getLocation()) &&
        is_own(declaration->getDeclContext()))
      refuse(declaration->getLocation(), "a declaration in namespace ct", "it is the simulator's");
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
        case clang::attr::NoDebug:
          // Of a macro of the simulator's, too.
          if (const clang::SourceManager& sources = compiler_.getSourceManager();
              users_text_.holds(sources, sources.getExpansionLoc(attribute->getLocation())))
            refuse(attribute->getLocation(), "the attribute 'nodebug'", "reports could not name the line");
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
  static constexpr unsigned most_bases = 256;

  static bool is_own(const clang::DeclContext* around) {
    for (; around != nullptr; around = around->getParent()) {
      const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(around);
      if (space != nullptr && space->getName() == "ct" && space->getParent()->getRedeclContext()->isTranslationUnit())
        return true;
    }
    return false;
  }

  void refuse(clang::SourceLocation where, const std::string& what, const char* why) {
    compiler_.getDiagnostics().Report(where, refusal_) << what << why;
  }

  clang::CompilerInstance& compiler_;
  UsersText users_text_;
  unsigned refusal_;
  llvm::DenseMap<const clang::CXXRecordDecl*, unsigned> depths_;  // of bases below each other
  bool is_too_deep_ = false;
};

}  // namespace

std::unique_ptr<clang::ASTConsumer> make_refusals(clang::CompilerInstance& compiler, UsersText users_text) {
  return std::make_unique<Refusals>(compiler, users_text);
}

}  // namespace croton::llvm_part
