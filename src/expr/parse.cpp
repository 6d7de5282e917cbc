#include "expr/parse.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <map>

#include "base/characters.hpp"
#include "base/device_name.hpp"
#include "expr/body.hpp"
#include "expr/evaluate.hpp"
#include "expr/lexer.hpp"

namespace croton::expr {
namespace {

// The text is untrusted, so nesting and sizes are bounded.
constexpr int max_nesting = 200;
constexpr int max_bodies = 20;
constexpr std::int64_t max_constant_elements = 1 << 20;

std::int64_t to_integer(const Lexer& lexer, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) lexer.fail("an integer");
  return value;
}

bool looks_real(const std::string& text) { return text.find_first_of(".enai") != std::string::npos; }

double to_real(const Lexer& lexer, const std::string& text) {
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) lexer.fail("a number");
  return value;
}

bool is_number(const Token& token) {
  return token.kind == Token::Kind::number || token.text == "nan" || token.text == "inf";
}

Scalar number(Lexer& lexer, std::optional<DType> dtype) {
  const std::string text = lexer.peek().text;
  if (!is_number(lexer.peek())) lexer.fail("a number");
  Scalar value;
  if (dtype ? is_float(*dtype) : looks_real(text)) {
    value = Scalar::of_double(to_real(lexer, text), dtype.value_or(DType::float64));
  } else {
    const std::int64_t integer = to_integer(lexer, text);
    value = Scalar::of_int(integer, dtype.value_or(smallest_int(integer)));
  }
  lexer.next();
  return value;
}

/// "(1.0, -0.5)", or a real number.
Scalar complex_number(Lexer& lexer, DType dtype) {
  if (!lexer.accept("(")) return number(lexer, DType::float64).cast(dtype);
  const double real = number(lexer, DType::float64).d;
  lexer.expect(",");
  const double imaginary = number(lexer, DType::float64).d;
  lexer.expect(")");
  return Scalar::of_complex({real, imaginary}, dtype);
}

AttrValue attr_value(Lexer& lexer) {
  const Token& token = lexer.peek();
  if (token.kind == Token::Kind::text) return lexer.next().text;
  if (lexer.accept("[")) {
    Ints list;
    while (!lexer.is("]")) {
      list.push_back(to_integer(lexer, lexer.peek().text));
      lexer.next();
      if (!lexer.accept(",")) break;
    }
    lexer.expect("]");
    return list;
  }
  if (token.kind == Token::Kind::name && is_dtype_name(token.text)) return dtype_from_name(lexer.next().text);
  const std::string text = token.text;
  if (!is_number(token)) lexer.fail("a value");
  AttrValue value = looks_real(text) ? AttrValue(to_real(lexer, text)) : AttrValue(to_integer(lexer, text));
  lexer.next();
  return value;
}

Term parse_term(Lexer& lexer, int depth);

void parse_arguments(Lexer& lexer, Term& call, int depth) {
  while (!lexer.is(")")) {
    Term term = parse_term(lexer, depth);
    if (term.form == Term::Form::name && term.constraint.empty() && lexer.accept("=")) {
      // attribute=value, or attribute=name: a hole for the whole value.
      const Token& token = lexer.peek();
      const bool hole = token.kind == Token::Kind::name && !is_dtype_name(token.text) && !is_number(token);
      if (hole) {
        call.attr_holes.emplace_back(term.text, lexer.next().text);
      } else {
        call.attrs.set(term.text, attr_value(lexer));
      }
    } else {
      call.arguments.push_back(std::move(term));
    }
    if (!lexer.accept(",")) break;
  }
  lexer.expect(")");
}

Term parse_term(Lexer& lexer, int depth) {
  if (depth > max_nesting) lexer.error(fmt::format("calls are nested more than {} deep", max_nesting));
  Term term;
  term.line = lexer.peek().line;
  term.column = lexer.peek().column;
  if (is_number(lexer.peek())) {
    term.form = Term::Form::number;
    term.value = number(lexer, std::nullopt);
    return term;
  }
  if (lexer.accept("{")) {
    term.form = Term::Form::computed;
    term.arguments.push_back(parse_term(lexer, depth + 1));
    lexer.expect("}");
    return term;
  }
  if (const auto literal = parse_literal(lexer)) {
    term.form = Term::Form::number;
    term.value = *literal;
    term.typed_number = true;
    return term;
  }
  term.text = lexer.expect_name();
  if (lexer.accept("(")) {
    term.form = Term::Form::call;
    parse_arguments(lexer, term, depth + 1);
    return term;
  }
  if (lexer.accept(":")) term.constraint = lexer.expect_name();
  return term;
}

/// Parses statements to a graph, up to the end of the text or, in a body, up to its closing brace.
class GraphParser {
 public:
  explicit GraphParser(Lexer& lexer, int depth = 0) : lexer_(lexer), depth_(depth) {
    if (depth > max_bodies) lexer.error(fmt::format("bodies are nested more than {} deep", max_bodies));
  }

  Graph run() {
    while (lexer_.peek().kind != Token::Kind::end && !(depth_ > 0 && lexer_.is("}"))) {
      if (lexer_.peek().kind == Token::Kind::newline) {
        lexer_.next();
      } else {
        statement();
      }
    }
    return std::move(graph_);
  }

 private:
  void end_statement() {
    if (lexer_.peek().kind == Token::Kind::end) return;
    if (lexer_.peek().kind != Token::Kind::newline) lexer_.fail("the end of the line");
    lexer_.next();
  }

  void statement() {
    const Token first = lexer_.peek();
    const std::string name = lexer_.expect_name();
    if (name == "return") {
      do graph_.outputs.push_back(value());
      while (lexer_.accept(","));
      return end_statement();
    }
    if (name == "update") return update();
    if (name == "require") return requirement();
    if (name == "body" && !lexer_.is(":") && !lexer_.is("=")) return body();
    if (names_.contains(name)) Lexer::error(fmt::format("the name '{}' is taken", name), first);
    if (lexer_.accept(":")) {
      const DType dtype = parse_dtype(lexer_);
      const std::vector<std::string> sizes = size_list();
      lexer_.expect("=");
      if (lexer_.is("input") || lexer_.is("shared")) {
        declare(name, dtype, sizes, lexer_.next().text == "shared" ? Role::shared : Role::argument);
        graph_.inputs.back().place = place();
        graph_.inputs.back().pinned = lexer_.accept("pinned");
        return end_statement();
      }
      if (lexer_.is("constant")) return constant(name, dtype, sizes);
      names_[name] = value();  // the stated type is for readers; the op's rule infers it
      if (graph_.arena.type(names_[name]).dtype != dtype) {
        Lexer::error(
            fmt::format("'{}' is {}, not {}", name, graph_.arena.type_text(names_[name]), short_name_of(dtype)), first);
      }
    } else {
      lexer_.expect("=");
      names_[name] = value();
    }
    end_statement();
  }

  /// Parses a term and its place.
  NodeId value() {
    const Term term = parse_term(lexer_, 0);
    return node(term, place());
  }

  /// Parses a place such as "@cuda0"; base::unplaced if there is none.
  Place place() {
    if (!lexer_.accept("@")) return base::unplaced;
    const Token name = lexer_.peek();
    try {
      const Place place = base::parse_device(name.text).place();
      lexer_.next();
      return place;
    } catch (const ValueError&) {
      lexer_.fail("the name of a device");
    }
  }

  std::vector<std::string> size_list() {
    std::vector<std::string> sizes;
    lexer_.expect("[");
    while (!lexer_.is("]")) {
      const Token& size = lexer_.peek();
      const bool number = size.kind == Token::Kind::number && size.text[0] != '-';
      if (!number && size.kind != Token::Kind::name && !lexer_.is("?")) lexer_.fail("a size, a name of one or '?'");
      sizes.push_back(lexer_.next().text);
      if (!lexer_.accept(",")) break;
    }
    lexer_.expect("]");
    return sizes;
  }

  void declare(const std::string& name, DType dtype, const std::vector<std::string>& sizes, Role role) {
    Type type{dtype, {}};
    for (const std::string& size : sizes) {
      const bool number = base::is_digit(size[0]);
      type.shape.push_back(number ? to_integer(lexer_, size) : unknown_size);
    }
    const NodeId id = graph_.add_input(name, type, role);
    names_[name] = id;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      if (type.shape[axis] != unknown_size || sizes[axis] == "?") continue;
      const NodeId dim = graph_.arena.type(id).shape[axis];
      const auto [at, fresh] = names_.try_emplace(sizes[axis], dim);
      if (fresh) continue;
      if (!is_size(at->second)) lexer_.error(fmt::format("'{}' is not the name of a size", sizes[axis]));
      require_equal(at->second, dim, fmt::format("both are called {}", sizes[axis]));
    }
  }

  void constant(const std::string& name, DType dtype, const std::vector<std::string>& sizes) {
    lexer_.next();
    lexer_.expect("(");
    Sizes shape;
    std::int64_t count = 1;
    for (const std::string& size : sizes) {
      shape.push_back(to_integer(lexer_, size));
      if (shape.back() < 0 || shape.back() > max_constant_elements) lexer_.error("the constant has too many elements");
      count *= shape.back();
      if (count > max_constant_elements) lexer_.error("the constant has too many elements");
    }
    const DType wide = is_complex(dtype) ? DType::complex128 : DType::float64;
    std::vector<Scalar> values;
    for (std::int64_t i = 0; i < count; ++i) {
      if (i > 0) lexer_.expect(",");
      values.push_back(is_complex(dtype) ? complex_number(lexer_, wide) : number(lexer_, wide));
    }
    lexer_.expect(")");
    names_[name] = graph_.add_constant(array_of(values, wide, shape).astype(dtype));
    end_statement();
  }

  void update() {
    const Token first = lexer_.peek();
    const std::string name = lexer_.expect_name();
    lexer_.expect("=");
    const NodeId next = value();
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (names_.contains(name) && graph_.inputs[i].node == names_[name] && graph_.inputs[i].role == Role::shared) {
        if (!fits(next, graph_.inputs[i].node)) {
          Lexer::error(fmt::format("'{}' is {}, its update {}", name, graph_.arena.type_text(graph_.inputs[i].node),
                                   graph_.arena.type_text(next)),
                       first);
        }
        graph_.updates.push_back({i, next});
        return end_statement();
      }
    }
    Lexer::error(fmt::format("'{}' is not the name of a shared input", name), first);
  }

  void requirement() {
    const NodeId left = size();
    const bool index = lexer_.accept("in");
    if (!index) lexer_.expect("==");
    const NodeId right = size();
    for (const NodeId id : {left, right}) {
      const auto number = graph_.arena.scalar_value(id);  // an index may count from the end
      if (number && number->i < 0 && !(index && id == left)) lexer_.error(fmt::format("a size of {}", number->i));
    }
    const std::string why = lexer_.peek().kind == Token::Kind::text ? lexer_.next().text : "required";
    if (index) {
      checked([&] { graph_.arena.require_index(left, right, why); });
    } else {
      require_equal(left, right, why);
    }
    end_statement();
  }

  /// Parses "body step0 = {", statements, "}".
  void body() {
    const Token first = lexer_.peek();
    const std::string name = lexer_.expect_name();
    if (bodies_.contains(name)) Lexer::error(fmt::format("there are two bodies called '{}'", name), first);
    lexer_.expect("=");
    lexer_.expect("{");
    Graph graph = GraphParser(lexer_, depth_ + 1).run();
    lexer_.expect("}");
    bodies_.emplace(name, std::make_shared<const Body>(std::move(graph)));
    end_statement();
  }

  bool is_size(NodeId id) const {
    return graph_.arena.type(id).dtype == DType::int64 && graph_.arena.type(id).rank() == 0;
  }
  NodeId size() {
    const Token first = lexer_.peek();
    const NodeId id = value();
    if (const auto number = graph_.arena.scalar_value(id); number && is_discrete(number->dtype))
      return graph_.arena.integer(number->as_int());
    if (!is_size(id)) Lexer::error(fmt::format("{} is not a size", graph_.arena.type_text(id)), first);
    return id;
  }
  bool fits(NodeId value, NodeId variable) const {
    const TensorType &a = graph_.arena.type(value), &b = graph_.arena.type(variable);
    return a.dtype == b.dtype && a.rank() == b.rank();
  }

  /// Calls f and adds the line to errors of the arena.
  template <class F>
  void checked(F f) {
    try {
      f();
    } catch (const Error& e) {
      lexer_.error(e.what());
    }
  }
  void require_equal(NodeId a, NodeId b, const std::string& why) {
    checked([&] { graph_.arena.require_equal(a, b, why); });
  }

  NodeId node(const Term& term, Place place = base::unplaced) {
    Token where;
    where.line = term.line;
    where.column = term.column;
    switch (term.form) {
      case Term::Form::number:
        return graph_.arena.scalar(*term.value);
      case Term::Form::name: {
        const auto at = names_.find(term.text);
        if (at == names_.end()) Lexer::error(fmt::format("there is nothing called '{}'", term.text), where);
        return at->second;
      }
      case Term::Form::computed:
        Lexer::error("only rules have braces", where);
      case Term::Form::call:
        break;
    }
    const Op* o = find_op(term.text);
    if (o == nullptr || o->kind == Kind::Leaf)
      Lexer::error(fmt::format("there is no op called '{}'", term.text), where);
    Attrs attrs = term.attrs;
    for (const auto& [attribute, value] : term.attr_holes) {
      const auto found = bodies_.find(value);
      if (found == bodies_.end())
        Lexer::error(fmt::format("{}: '{}' where the value of '{}' is expected", o->name, value, attribute), where);
      attrs.set(attribute, found->second);
    }
    std::vector<NodeId> inputs;
    for (const Term& argument : term.arguments) inputs.push_back(node(argument));
    return make_parsed(where, graph_.arena, *o, inputs, attrs, place);
  }

  Lexer& lexer_;
  int depth_;
  Graph graph_;
  std::map<std::string, NodeId> names_;
  std::map<std::string, BodyPtr> bodies_;
};

}  // namespace

DType parse_dtype(Lexer& lexer) {
  if (lexer.peek().kind != Token::Kind::name || !is_dtype_name(lexer.peek().text)) lexer.fail("a dtype such as f32");
  return dtype_from_name(lexer.next().text);
}

std::optional<Scalar> parse_literal(Lexer& lexer) {
  if (lexer.peek().kind != Token::Kind::name || !is_dtype_name(lexer.peek().text)) return std::nullopt;
  const DType dtype = parse_dtype(lexer);
  if (is_complex(dtype)) return complex_number(lexer, dtype);
  return number(lexer, dtype).cast(dtype);
}

NodeId make_parsed(const Token& where, Arena& arena, const Op& op, std::span<const NodeId> inputs, const Attrs& attrs,
                   Place place) {
  const bool fits = op.arity >= 0 ? std::cmp_equal(inputs.size(), op.arity) : !inputs.empty();
  if (!fits) {
    const std::string wanted = op.arity >= 0 ? fmt::format("{} argument(s)", op.arity) : "at least one argument";
    Lexer::error(fmt::format("{} takes {}, not {}", op.name, wanted, inputs.size()), where);
  }
  try {
    return arena.make(op, inputs, attrs, place);
  } catch (const Error& e) {
    const std::string_view message = e.what();
    Lexer::error(message.starts_with(op.name) ? std::string(message) : fmt::format("{}: {}", op.name, message), where);
  } catch (const AttrFault& e) {
    Lexer::error(fmt::format("{}: {}", op.name, e.fault), where);
  }
}

Graph parse_graph(std::string_view text) {
  Lexer lexer(text, true);
  return GraphParser(lexer).run();
}

Term parse_term(std::string_view text) {
  Lexer lexer(text, false);
  Term term = parse_term(lexer, 0);
  if (lexer.peek().kind != Token::Kind::end) lexer.fail("the end");
  return term;
}

}  // namespace croton::expr
