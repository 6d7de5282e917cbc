#include "expr/lexer.hpp"

#include <croton/error.hpp>
#include <croton/type.hpp>

#include <fmt/format.h>

#include "base/characters.hpp"
#include "base/index.hpp"

namespace croton::expr {
namespace {

bool starts_name(char c) { return base::is_letter(c) || c == '_' || c == '%'; }
bool in_name(char c) { return base::is_letter_or_digit(c) || c == '_'; }

}  // namespace

bool is_dtype_name(std::string_view name) {
  for (int t = 0; t < dtype_count; ++t) {
    if (short_name_of(static_cast<DType>(t)) == name) return true;
  }
  return false;
}

Lexer::Lexer(std::string_view text, bool newlines) : text_(text), newlines_(newlines) { advance(); }

void Lexer::advance() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == '\n') {
      if (newlines_) break;
      ++at_;
      ++line_;
      line_start_ = at_;
    } else if (base::is_space(c)) {
      ++at_;
    } else {
      break;
    }
  }
  token_ = {Token::Kind::end, "", line_, base::to_int(at_ - line_start_) + 1};
  if (at_ >= text_.size()) return;
  const std::size_t start = at_;
  const char c = text_[at_];
  const auto digit_at = [&](std::size_t i) { return i < text_.size() && base::is_digit(text_[i]); };
  if (c == '\n') {
    token_.kind = Token::Kind::newline;
    ++at_;
    ++line_;
    line_start_ = at_;
  } else if (starts_name(c)) {
    token_.kind = Token::Kind::name;
    ++at_;
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
  } else if (digit_at(at_) || (c == '-' && (digit_at(at_ + 1) || text_.substr(at_ + 1, 3) == "inf"))) {
    token_.kind = Token::Kind::number;
    ++at_;
    while (at_ < text_.size() && (base::is_letter_or_digit(text_[at_]) || text_[at_] == '.' ||
                                  ((text_[at_] == '-' || text_[at_] == '+') && text_[at_ - 1] == 'e'))) {
      ++at_;
    }
  } else if (c == '"') {
    token_.kind = Token::Kind::text;
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
      const bool escaped = text_[at_] == '\\' && at_ + 1 < text_.size();
      if (escaped) ++at_;
      token_.text += escaped && text_[at_] == 'n' ? '\n' : text_[at_];
      ++at_;
    }
    if (at_ >= text_.size() || text_[at_] != '"') fail("a closing quote");
    ++at_;
    return;
  } else {
    token_.kind = Token::Kind::symbol;
    const std::string_view two = text_.substr(at_, 2);
    at_ += two == "=>" || two == "==" || two == "->" ? 2 : 1;
  }
  token_.text = std::string(text_.substr(start, at_ - start));
}

Token Lexer::next() {
  Token taken = token_;
  advance();
  return taken;
}

bool Lexer::accept(std::string_view symbol) {
  if (!is(symbol)) return false;
  advance();
  return true;
}

void Lexer::expect(std::string_view symbol) {
  if (!accept(symbol)) fail(fmt::format("'{}'", symbol));
}

std::string Lexer::expect_name() {
  if (token_.kind != Token::Kind::name) fail("a name");
  return next().text;
}

void Lexer::fail(std::string_view wanted) const {
  const std::string met = token_.kind == Token::Kind::end       ? "the end of the text"
                          : token_.kind == Token::Kind::newline ? "the end of the line"
                                                                : fmt::format("'{}'", token_.text);
  error(fmt::format("{} where {} is expected", met, wanted));
}

void Lexer::error(std::string_view message, const Token& token) {
  throw ValueError(fmt::format("line {}, column {}: {}", token.line, token.column, message));
}

}  // namespace croton::expr
