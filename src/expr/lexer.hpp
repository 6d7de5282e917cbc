// Tokens of Croton's text forms (graphs, kernels, rules). Every syntax error is a ValueError with line and column.
#pragma once

#include <string>
#include <string_view>

namespace croton::expr {

struct Token {
  enum class Kind { name, number, text, symbol, newline, end };
  Kind kind = Kind::end;
  std::string text;
  int line = 1;
  int column = 1;
};

/// Whether a word is the short name of a dtype, such as "f32".
bool is_dtype_name(std::string_view name);

class Lexer {
 public:
  /// `newlines`: whether ends of lines are tokens, which separate statements, or white space.
  explicit Lexer(std::string_view text, bool newlines);

  const Token& peek() const { return token_; }
  Token next();
  bool is(std::string_view symbol) const {
    return token_.kind != Token::Kind::end && token_.kind != Token::Kind::text && token_.text == symbol;
  }
  /// Consumes the symbol if it is next.
  bool accept(std::string_view symbol);
  void expect(std::string_view symbol);
  std::string expect_name();
  /// Raises the error "... where `wanted` is expected" for the next token.
  [[noreturn]] void fail(std::string_view wanted) const;
  /// Raises `message` after the next token's line and column.
  [[noreturn]] void error(std::string_view message) const { error(message, token_); }
  /// The same for a token that has been consumed.
  [[noreturn]] static void error(std::string_view message, const Token& token);

 private:
  void advance();
  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::size_t line_start_ = 0;
  bool newlines_;
  Token token_;
};

}  // namespace croton::expr
