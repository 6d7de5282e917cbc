#include "token_checks.hpp"

#include <clang/Basic/TokenKinds.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Lex/Preprocessor.h>

#include <cstddef>
#include <vector>

namespace croton::llvm_part {
namespace {

// Clang uses up to 9 KB of stack for a level (a cast, an operator of a class); Compiler::run provides 256 MiB.
constexpr std::size_t max_depth = 8000;

/// An upper bound of the nesting depth at the last token. Clang itself limits brackets; constructs that nest without
/// brackets (`else if`, `for`, labels, operators, casts) are counted by their tokens, from the beginning of a
/// statement.
class Nesting {
 public:
  std::size_t depth() const { return outer_ + inner_.tokens; }

  void add(const clang::Token& token) {
    using namespace clang::tok;
    const TokenKind kind = token.getKind();
    if (begins_statement(token)) inner_.tokens = 0;
    if (kind == r_paren || kind == r_square || kind == r_brace) {
      close();
    } else if (kind == semi) {
      inner_.is_list = false;
    } else if (kind == comma && inner_.is_list) {
      inner_.tokens = 0;
    } else if (kind != identifier && !isLiteral(kind)) {
      ++inner_.tokens;
      if (kind == l_paren || kind == l_square || kind == l_brace) open(kind == l_brace && begins_list());
    }
    before_ = kind;
  }

 private:
  struct Level {
    std::size_t tokens = 0;
    bool is_list = false;  // of values; its commas are not operators
  };

  /// A token after the end of a statement may continue it: an else, the while of a do, an operator after `T{}`.
  bool begins_statement(const clang::Token& token) const {
    if (token.isOneOf(clang::tok::kw_else, clang::tok::kw_while)) return false;
    return before_ == clang::tok::semi || (before_ == clang::tok::r_brace && token.getIdentifierInfo() != nullptr);
  }
  bool begins_list() const {
    using namespace clang::tok;
    return before_ == equal || before_ == identifier || before_ == comma || before_ == l_paren || before_ == greater ||
           before_ == kw_return || (before_ == l_brace && inner_.is_list);
  }

  void open(bool is_list) {
    outer_ += inner_.tokens;
    levels_.push_back(inner_);
    inner_ = {.tokens = 0, .is_list = is_list};
  }
  void close() {
    if (levels_.empty()) return;  // Clang will report it
    inner_ = levels_.back();
    levels_.pop_back();
    outer_ -= inner_.tokens;
  }

  Level inner_;
  std::vector<Level> levels_;
  std::size_t outer_ = 0;
  clang::tok::TokenKind before_ = clang::tok::semi;
};

}  // namespace

void TokenChecks::ExecuteAction() {
  clang::Preprocessor& preprocessor = getCompilerInstance().getPreprocessor();
  clang::DiagnosticsEngine& diagnostics = preprocessor.getDiagnostics();
  const unsigned reserved = diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error,
                                                        "%0 is not simulated: such names are the simulator's");
  const unsigned too_deep = diagnostics.getCustomDiagID(
      clang::DiagnosticsEngine::Error,
      "more than %0 nested statements and operators (a chain of else counts as nesting) are not compiled");
  preprocessor.EnterMainSourceFile();
  Nesting nesting;
  clang::Token token;
  for (preprocessor.Lex(token); token.isNot(clang::tok::eof); preprocessor.Lex(token)) {
    if (!users_text_.wrote(preprocessor.getSourceManager(), token.getLocation())) continue;
    if (const clang::IdentifierInfo* name = token.getIdentifierInfo();
        name != nullptr && name->getName().starts_with("croton_simulator_"))
      diagnostics.Report(token.getLocation(), reserved) << ("'" + name->getName() + "'").str();
    nesting.add(token);
    if (nesting.depth() > max_depth) {
      diagnostics.Report(token.getLocation(), too_deep) << static_cast<unsigned>(max_depth);
      return;
    }
  }
}

}  // namespace croton::llvm_part
