// emit_group: several pointwise kernels as one text.
#include <fmt/format.h>

#include <algorithm>

#include "base/hash.hpp"
#include "base/stage.hpp"
#include "codegen/functor.hpp"

namespace croton::codegen {

namespace {

/// The lines that run a tile of one of the parts [begin, end) by body `b`; `end` is 0 for the last parts.
std::string choice_of(std::size_t b, std::size_t begin, std::size_t end, Target target) {
  if (target == Target::cpu) {
    const std::string run =
        fmt::format("ct::group_points(body{0}::Body{{p.a{0}[part - {1}]}}, first, last);", b, begin);
    return end == 0 ? fmt::format("    {}\n", run) : fmt::format("    if (part < {}) return {}\n", end, run);
  }
  // Each thread reads the parameters of its part once, wherever they are.
  return fmt::format(
      "    {0}{{\n"
      "      const body{1}::Params a = p.a{1}[part - {2}];\n"
      "      return ct::pointwise_tile(body{1}::Body{{a}}, body{1}::Body::Base(tile));\n"
      "    }}\n",
      end == 0 ? "" : fmt::format("if (part < {}) ", end), b, begin);
}

}  // namespace

std::string group_name(std::span<const Part> parts) {
  std::string names;
  for (const Part& part : parts) names += kernel_name(*part.analysis, part.variant->without_tiles());
  return fmt::format("group_{}", base::to_hex(base::hash128(names)).substr(0, digits_of_kernel));
}

Text emit_group(std::span<const Part> parts, Target target) {
  const base::StageTimer timer(base::Stage::emit);
  // The distinct functors, and the parts that use them.
  struct Body {
    Functor functor;
    std::vector<std::size_t> parts;
    std::vector<std::string> comment;
  };
  std::vector<Body> bodies;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Variant variant = parts[i].variant->without_tiles();
    Functor functor = emit_functor(*parts[i].analysis, variant, parts[i].schedule, target);
    auto at = std::ranges::find(bodies, functor.code, [](const Body& b) { return b.functor.code; });
    if (at == bodies.end()) at = bodies.insert(at, {std::move(functor), {}, {}});
    at->parts.push_back(i);
    for (const std::string& line : parts[i].comment) {
      if (std::ranges::find(at->comment, line) == at->comment.end()) at->comment.push_back(line);
    }
  }

  Text text;
  std::string hashed = name_of(target), functors, members, choice;
  std::vector<std::size_t> order;  // the parts, in the order of Params
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const Body& body = bodies[b];
    hashed += body.functor.code + fmt::format(" {}", body.parts.size());
    functors += commented(body.comment) +
                fmt::format("namespace body{0} {{\n\n{1}\n}}  // namespace body{0}\n\n", b, body.functor.shown);
    members += fmt::format("  body{0}::Params a{0}[{1}];\n", b, body.parts.size());
    const std::size_t begin = order.size();
    for (const std::size_t part : body.parts) {
      order.push_back(part);
      for (Parameter parameter : body.functor.parameters) {
        parameter.part = part;
        text.parameters.push_back(parameter);
      }
    }
    choice += choice_of(b, begin, b + 1 < bodies.size() ? order.size() : 0, target);
  }
  for (const std::size_t part : order) text.parameters.push_back({.kind = Parameter::Kind::last_tile, .part = part});
  if (target == Target::cpu) {
    for (const std::size_t part : order) text.parameters.push_back({.kind = Parameter::Kind::points, .part = part});
  }
  const std::string name = group_name(parts);
  text.digest = base::to_hex(base::hash128(hashed + name));
  text.name = fmt::format("{}_{}", name, text.digest.substr(0, digits_of_text));
  const std::string space = text.name + "_text";
  text.code = fmt::format(
      "namespace {0} {{\n\n"
      "{1}struct Params {{\n{2}  ct::index ends[{3}];\n{4}}};\n\n"
      "struct Run {{\n"
      "  const Params& p;\n"
      "  CT_MEMBER void operator()(int part, {5}) const {{\n{6}  }}\n"
      "}};\n\n"
      "}}  // namespace {0}\n\n",
      space, functors, members, order.size(),
      target == Target::cpu ? fmt::format("  ct::index points[{}];\n", order.size()) : "",
      target == Target::cpu ? "ct::index first, ct::index last" : "ct::index tile", choice);
  if (target == Target::cpu) {
    text.code += fmt::format(
        "extern \"C\" void {0}(const {1}::Params* p, ct::index begin, ct::index end) {{\n"
        "  ct::group(p->ends, p->points, begin, end, {1}::Run{{*p}});\n"
        "}}\n",
        text.name, space);
  } else {
    const bool in_table = needs_table(text.parameters, target);
    const auto [declaration, lines] = parameter_entry(in_table, space, "CT_PARAMETERS");
    text.code += fmt::format(
        "CT_KERNEL void {0}({1}, ct::index) {{\n{2}"
        "  ct::{3}(p.ends, {4}, {5}::Run{{p}});\n"
        "}}\n",
        text.name, declaration, lines, in_table ? "group_of_table" : "group", order.size(), space);
  }
  return text;
}

}  // namespace croton::codegen
