#include <croton/error.hpp>

#include <fmt/format.h>

#include <charconv>
#include <map>

#include "base/index.hpp"
#include "expr/lexer.hpp"
#include "expr/parse.hpp"
#include "kernel/kernel.hpp"

namespace croton::kernel {
namespace {

using expr::Core;
using expr::Lexer;
using expr::Token;

// Text is untrusted, so the sizes of kernels are limited.
constexpr std::size_t max_axes = 64;
constexpr std::size_t max_operands = 1024;
constexpr std::size_t max_rank = 64;
constexpr int max_nesting = 200;

bool is_numbered(std::string_view name, char letter) {
  return name.size() > 1 && name[0] == letter && name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

/// The k of "i<k>" if it is below `count`.
std::optional<std::size_t> number_after(char letter, std::string_view name, std::size_t count) {
  if (!is_numbered(name, letter) || name.size() > 6 || (name[1] == '0' && name.size() > 2)) return std::nullopt;
  std::size_t k = 0;
  std::from_chars(name.data() + 1, name.data() + name.size(), k);
  return k < count ? std::optional(k) : std::nullopt;
}

class KernelParser {
 public:
  explicit KernelParser(std::string_view text) : lexer_(text, true) {}

  Kernel run() {
    skip_newlines();
    header();
    while (lexer_.peek().kind != Token::Kind::end) {
      statement();
      skip_newlines();
    }
    if (const std::string promise = broken_promise(kernel_); !promise.empty())
      lexer_.error("the kernel is invalid: " + promise);
    return std::move(kernel_);
  }

 private:
  expr::Arena& body() { return kernel_.body; }
  NodeId leaf(Core core, std::string_view attr, std::size_t k, DType dtype = DType::int64) {
    return body().make_typed(core, {}, {{attr, k}}, body().intern_type({dtype, {}}));
  }

  void skip_newlines() {
    while (lexer_.peek().kind == Token::Kind::newline) lexer_.next();
  }
  void end_line() {
    if (lexer_.peek().kind == Token::Kind::end) return;
    if (lexer_.peek().kind != Token::Kind::newline) lexer_.fail("the end of the line");
    lexer_.next();
  }

  std::int64_t integer() {
    const Token& token = lexer_.peek();
    std::int64_t value = 0;
    const char* end = token.text.data() + token.text.size();
    const auto [at, error] = std::from_chars(token.text.data(), end, value);
    if (token.kind != Token::Kind::number || error != std::errc() || at != end) lexer_.fail("an integer");
    lexer_.next();
    return value;
  }

  // kernel row [i0: e0, i1: 10 inner] (e0, p0: f32[2]) -> (p1: f32[2])
  void header() {
    lexer_.expect("kernel");
    kernel_.family = family();
    lexer_.expect("[");
    std::vector<Token> extents;  // read before the sizes that they may refer to
    while (!lexer_.is("]")) {
      if (kernel_.axes.size() == max_axes) lexer_.error("the kernel has too many axes");
      lexer_.expect(fmt::format("i{}", kernel_.axes.size()));
      lexer_.expect(":");
      extents.push_back(lexer_.next());
      kernel_.axes.push_back({expr::no_node, lexer_.accept("inner")});
      if (!lexer_.accept(",")) break;
    }
    lexer_.expect("]");
    lexer_.expect("(");
    operands(false);
    lexer_.expect("->");
    lexer_.expect("(");
    operands(true);
    for (std::size_t axis = 0; axis < kernel_.axes.size(); ++axis)
      kernel_.axes[axis].extent = axis_extent(extents[axis]);
    end_line();
  }

  Family family() {
    for (const Family f : {Family::pointwise, Family::row, Family::column, Family::split, Family::contract}) {
      if (lexer_.accept(name_of(f))) return f;
    }
    lexer_.fail("pointwise, row, column, split or contract");
  }

  void operands(bool written) {
    while (!lexer_.is(")")) {
      if (!written && kernel_.operands.empty() && lexer_.accept(fmt::format("e{}", kernel_.extents))) {
        if (++kernel_.extents > max_operands) lexer_.error("the kernel has too many sizes");
      } else {
        if (kernel_.operands.size() == max_operands) lexer_.error("the kernel has too many operands");
        lexer_.expect(fmt::format("p{}", kernel_.operands.size()));
        lexer_.expect(":");
        const DType dtype = expr::parse_dtype(lexer_);
        lexer_.expect("[");
        const std::int64_t rank = integer();
        if (!base::is_index(rank, max_rank + 1))
          lexer_.error(fmt::format("a rank of {}; 0 to {} are accepted", rank, max_rank));
        lexer_.expect("]");
        kernel_.operands.push_back({dtype, base::to_size(rank), written});
      }
      if (!lexer_.accept(",")) break;
    }
    lexer_.expect(")");
  }

  NodeId axis_extent(const Token& token) {
    std::int64_t size = 0;
    const char* end = token.text.data() + token.text.size();
    const auto [at, error] = std::from_chars(token.text.data(), end, size);
    if (token.kind == Token::Kind::number && error == std::errc() && at == end && size >= 0)
      return body().integer(size);
    if (const auto e = number_after('e', token.text, kernel_.extents)) return leaf(Core::extent, "k", *e);
    Lexer::error("a size or one of the extents is expected", token);
  }

  void statement() {
    const Token first = lexer_.peek();
    const std::string name = lexer_.expect_name();
    if (name == "check") {
      const NodeId condition = value(0);
      lexer_.expect(",");
      const NodeId shown = value(0);
      lexer_.expect(",");
      if (lexer_.peek().kind != Token::Kind::text) lexer_.fail("a message in quotes");
      kernel_.checks.push_back({condition, shown, lexer_.next().text});
    } else if (is_numbered(name, 'p')) {
      const std::size_t operand = known_operand(first, true);
      std::vector<NodeId> at = index(0);
      lexer_.expect("=");
      kernel_.stores.push_back({operand, std::move(at), value(0)});
    } else if (is_numbered(name, 'r')) {
      stage(first);
    } else {
      if (is_numbered(name, 'i') || is_numbered(name, 'e') || values_.contains(name)) {
        Lexer::error(fmt::format("'{}' is the name of something else; a new name is expected", name), first);
      }
      lexer_.expect("=");
      values_[name] = value(0);
    }
    end_line();
  }

  void stage(const Token& first) {
    const std::string& name = first.text;
    const std::size_t number = kernel_.stages.size();
    if (name != fmt::format("r{}", number))
      Lexer::error(fmt::format("'{}' where r{} is the next stage", name, number), first);
    lexer_.expect("=");
    const Token op_name = lexer_.peek();
    const expr::Op* op = expr::find_op(lexer_.expect_name());
    if (op == nullptr || op->kind != expr::Kind::Reduce)
      Lexer::error(fmt::format("'{}' is not the name of a reduction", op_name.text), op_name);
    const NodeId reduced = value(0);
    kernel_.stages.push_back({op, reduced});
    values_[name] =
        leaf(Core::result, "stage", number, op->reduce->yields_index ? DType::int64 : body().type(reduced).dtype);
  }

  std::size_t known_operand(const Token& where, bool written) {
    const std::string& name = where.text;
    const auto p = number_after('p', name, kernel_.operands.size());
    if (!p) Lexer::error(fmt::format("there is no operand called '{}'", name), where);
    if (kernel_.operands[*p].written != written) {
      Lexer::error(fmt::format("{} is {}", name, written ? "only read" : "only written"), where);
    }
    return *p;
  }

  std::vector<NodeId> index(int depth) {
    std::vector<NodeId> nodes;
    lexer_.expect("[");
    while (!lexer_.is("]")) {
      nodes.push_back(lexer_.peek().kind == Token::Kind::number ? body().integer(integer()) : value(depth + 1));
      if (!lexer_.accept(",")) break;
    }
    lexer_.expect("]");
    return nodes;
  }

  NodeId load(const Token& name, NodeId guard, int depth) {
    const std::size_t operand = known_operand(name, false);
    std::vector<NodeId> inputs = index(depth);
    const auto& [dtype, rank, written] = kernel_.operands[operand];
    if (inputs.size() != rank)
      Lexer::error(fmt::format("{} indices of {}, which has rank {}", inputs.size(), name.text, rank), name);
    if (guard != expr::no_node) inputs.insert(inputs.begin(), guard);
    const Core core = guard != expr::no_node ? Core::load_if : Core::load;
    return body().make_typed(core, inputs, {{"operand", operand}}, body().intern_type({dtype, {}}));
  }

  /// Parses an axis, a size, a result, a name, a literal, a load or a call.
  NodeId value(int depth) {
    if (depth > max_nesting) lexer_.error(fmt::format("calls are nested more than {} deep", max_nesting));
    if (const auto constant = expr::parse_literal(lexer_)) return body().scalar(*constant);
    const Token where = lexer_.peek();
    const std::string name = lexer_.expect_name();
    if (name == "if") {
      const NodeId guard = value(depth + 1);
      lexer_.expect(":");
      const Token operand = lexer_.peek();
      lexer_.expect_name();
      return load(operand, guard, depth);
    }
    if (lexer_.is("(")) return call(where, depth);
    if (lexer_.is("[")) return load(where, expr::no_node, depth);
    if (const auto known = values_.find(name); known != values_.end()) return known->second;
    if (const auto axis = number_after('i', name, kernel_.axes.size())) return leaf(Core::axis, "k", *axis);
    if (const auto e = number_after('e', name, kernel_.extents)) return leaf(Core::extent, "k", *e);
    Lexer::error(fmt::format("there is no value called '{}'", name), where);
  }

  NodeId call(const Token& name, int depth) {
    const expr::Op* op = expr::find_op(name.text);
    if (op == nullptr || op->kind != expr::Kind::Map)
      Lexer::error(fmt::format("'{}' is not the name of an elementwise op", name.text), name);
    lexer_.expect("(");
    std::vector<NodeId> inputs;
    expr::Attrs attrs;
    while (!lexer_.is(")")) {
      // Among the elementwise ops only cast has an attribute.
      if (lexer_.is("dtype") && !values_.contains("dtype")) {
        lexer_.next();
        lexer_.expect("=");
        attrs.set("dtype", expr::parse_dtype(lexer_));
      } else {
        inputs.push_back(value(depth + 1));
      }
      if (!lexer_.accept(",")) break;
    }
    lexer_.expect(")");
    return expr::make_parsed(name, body(), *op, inputs, attrs);
  }

  Lexer lexer_;
  Kernel kernel_;
  std::map<std::string, NodeId> values_;
};

}  // namespace

Kernel parse_kernel(std::string_view text) { return KernelParser(text).run(); }

}  // namespace croton::kernel
