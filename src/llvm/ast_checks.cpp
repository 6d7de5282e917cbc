#include "ast_checks.hpp"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/Builtins.h>
#include <clang/Frontend/CompilerInstance.h>
#include <llvm/ADT/DenseMap.h>

#include <algorithm>

namespace croton::llvm_part {
namespace {

class AstChecks : public clang::ASTConsumer, public clang::RecursiveASTVisitor<AstChecks> {
 public:
  AstChecks(clang::CompilerInstance& compiler, UsersText users_text)
      : compiler_(compiler),
        users_text_(users_text),
        diagnostic_(
            compiler.getDiagnostics().getCustomDiagID(clang::DiagnosticsEngine::Error, "%0 is not simulated: %1")) {}

  bool HandleTopLevelDecl(clang::DeclGroupRef declarations) override {
    for (clang::Decl* declaration : declarations) TraverseDecl(declaration);
    return !is_too_deep_;  // later declarations may be deeper still
  }

  // Clang visits the bases of each class by recursion.
  bool VisitCXXRecordDecl(clang::CXXRecordDecl* record) {
    if (!record->isThisDeclarationADefinition()) return true;
    unsigned depth = 0;
    for (const clang::CXXBaseSpecifier& base : record->bases()) {
      if (const clang::CXXRecordDecl* of = base.getType()->getAsCXXRecordDecl())
        depth = std::max(depth, 1 + depths_.lookup(of->getCanonicalDecl()));
    }
    depths_[record->getCanonicalDecl()] = depth;
    if (depth > max_base_depth && !is_too_deep_) {
      reject(record->getLocation(), "a class with more than 256 nested bases", "Clang has no stack for that");
      is_too_deep_ = true;
    }
    return true;
  }

  bool VisitAsmStmt(clang::AsmStmt* statement) {
    reject(statement->getAsmLoc(), "inline assembly", "it is not run by the host's processor");
    return true;
  }
  bool VisitFileScopeAsmDecl(clang::FileScopeAsmDecl* declaration) {
    reject(declaration->getAsmLoc(), "assembly", "it is not run by the host's processor");
    return true;
  }
  bool VisitVarDecl(clang::VarDecl* variable) {
    if (variable->getTLSKind() != clang::VarDecl::TLS_None)
      reject(variable->getLocation(), "a variable of a thread of the host", "kernels have none");
    return true;
  }
  // A GPU has no such jumps, and the detection of endless loops does not support them.
  bool VisitAddrLabelExpr(clang::AddrLabelExpr* address) {
    reject(address->getBeginLoc(), "the address of a label", "kernels have no computed goto");
    return true;
  }
  bool VisitIndirectGotoStmt(clang::IndirectGotoStmt* jump) {
    reject(jump->getBeginLoc(), "a computed goto", "kernels have none");
    return true;
  }
  bool VisitDecl(clang::Decl* declaration) {
    // The code that calls kernels, in namespace ct, is not instrumented; a user's functions must not be there.
    if (users_text_.wrote(compiler_.getSourceManager(), declaration->getLocation()) &&
        is_own(declaration->getDeclContext()))
      reject(declaration->getLocation(), "a declaration in namespace ct", "it is the simulator's");
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
          reject(attribute->getLocation().isValid() ? attribute->getLocation() : declaration->getLocation(),
                 "the attribute '" + std::string(attribute->getSpelling()) + "'",
                 "kernels on a GPU do not have it, or do not define it");
          break;
        case clang::attr::NoDebug:
          // Also if a macro of the simulator, used in the user's text, adds it.
          if (const clang::SourceManager& sources = compiler_.getSourceManager();
              users_text_.holds(sources, sources.getExpansionLoc(attribute->getLocation())))
            reject(attribute->getLocation(), "the attribute 'nodebug'", "reports could not name the line");
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
    static constexpr unsigned rejected[] = {
        clang::Builtin::BI__builtin_setjmp,         clang::Builtin::BI__builtin_longjmp,
        clang::Builtin::BI__builtin_return_address, clang::Builtin::BI__builtin_frame_address,
        clang::Builtin::BI__builtin_eh_return,      clang::Builtin::BI__builtin_unwind_init,
        clang::Builtin::BI__builtin_dwarf_cfa,      clang::Builtin::BI__builtin___clear_cache,
        clang::Builtin::BI__builtin_memcmp,         clang::Builtin::BImemcmp,
        clang::Builtin::BI__builtin_bcmp,           clang::Builtin::BIbcmp,
        clang::Builtin::BI__builtin_thread_pointer};
    if (builtins.isTSBuiltin(builtin) || std::ranges::find(rejected, builtin) != std::end(rejected)) {
      reject(call->getBeginLoc(), "'" + std::string(builtins.getName(builtin)) + "'",
             "it is about the processor of the host or its memory");
    }
    return true;
  }

 private:
  static constexpr unsigned max_base_depth = 256;

  /// Whether the context is in namespace ct, which is the simulator's.
  static bool is_own(const clang::DeclContext* context) {
    for (; context != nullptr; context = context->getParent()) {
      const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(context);
      if (space != nullptr && space->getName() == "ct" && space->getParent()->getRedeclContext()->isTranslationUnit())
        return true;
    }
    return false;
  }

  void reject(clang::SourceLocation where, const std::string& what, const char* why) {
    compiler_.getDiagnostics().Report(where, diagnostic_) << what << why;
  }

  clang::CompilerInstance& compiler_;
  UsersText users_text_;
  unsigned diagnostic_;
  llvm::DenseMap<const clang::CXXRecordDecl*, unsigned> depths_;  // of bases below each other
  bool is_too_deep_ = false;
};

}  // namespace

std::unique_ptr<clang::ASTConsumer> make_ast_checks(clang::CompilerInstance& compiler, UsersText users_text) {
  return std::make_unique<AstChecks>(compiler, users_text);
}

}  // namespace croton::llvm_part
