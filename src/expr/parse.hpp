// Reads the text of print.hpp back, with two liberties for people who write tests: calls may be nested, and a name of a
// size stands for it wherever an integer scalar may stand. Text is untrusted: every fault is a ValueError with line and
// column.
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
  std::vector<std::pair<std::string, std::string>> attr_holes;  // attribute = a name that stands for its value
  Attrs attrs;
  std::optional<Scalar> value;  // number; without a stated dtype it fits any
  bool typed_number = false;
  std::string constraint;    // of `c:const`
  int line = 0, column = 0;  // where it starts
};

/// One term, with nothing behind it.
Term parse_term(std::string_view text);

// Pieces that other texts share.

/// "f32".
DType parse_dtype(Lexer& lexer);
/// "f32 0.5", or nothing if no name of a dtype is next.
std::optional<Scalar> parse_literal(Lexer& lexer);
/// The node, what its type rule has against it being a ValueError with the place of `where`.
NodeId make_parsed(const Token& where, Arena& arena, const Op& op, std::span<const NodeId> inputs, const Attrs& attrs,
                   Place place = 0);

}  // namespace croton::expr
