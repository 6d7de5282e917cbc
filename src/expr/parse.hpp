// The parser of the text of print.hpp, with two extensions for tests: calls may be nested, and the name of a size is
// accepted as an integer scalar. Text is untrusted: every error is a ValueError with line and column.
#pragma once

#include "expr/graph.hpp"

#include <string_view>

namespace croton::expr {

class Lexer;
struct Token;

/// The graph of a whole text.
Graph parse_graph(std::string_view text);

/// A parsed term, before it is a node: rules keep these as patterns.
struct Term {
  enum class Form { call, name, number, computed };
  Form form = Form::name;
  std::string text;  // op, name, or the source of {computed}
  std::vector<Term> arguments;
  std::vector<std::pair<std::string, std::string>> attr_holes;  // attribute, and the name that is used for its value
  Attrs attrs;
  std::optional<Scalar> value;  // of a number; without a stated dtype it fits any dtype
  bool typed_number = false;
  std::string constraint;    // of `c:const`
  int line = 0, column = 0;  // where it starts
};

/// One term, which must be the whole text.
Term parse_term(std::string_view text);

// Parts that other parsers use.

/// A dtype such as "f32".
DType parse_dtype(Lexer& lexer);
/// A literal such as "f32 0.5"; nothing if the next token is not the name of a dtype.
std::optional<Scalar> parse_literal(Lexer& lexer);
/// The node; type errors become ValueError at `where`.
NodeId make_parsed(const Token& where, Arena& arena, const Op& op, std::span<const NodeId> inputs, const Attrs& attrs,
                   Place place = base::unplaced);

}  // namespace croton::expr
