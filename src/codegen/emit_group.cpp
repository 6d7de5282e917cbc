// emit_group: several pointwise kernels, or several reductions of everything, as one text.
#include <fmt/format.h>

#include <algorithm>

#include "base/hash.hpp"
#include "base/stage.hpp"
#include "codegen/functor.hpp"

namespace croton::codegen {

using kernel::Family;

bool is_epilogue(Family first, Family own) { return first == Family::split && own == Family::pointwise; }

std::string group_name(std::span<const Part> parts) {
  std::string names;
  for (const Part& part : parts) names += kernel_name(*part.analysis, part.variant->without_tiles());
  return fmt::format("group_{}", base::to_hex(base::hash128(names)).substr(0, digits_of_kernel));
}

namespace {

class GroupEmitter {
 public:
  GroupEmitter(std::span<const Part> parts, Target target)
      : target_(target),
        are_reductions_(parts.front().analysis->kernel.family == Family::split),
        threads_(parts.front().schedule.threads) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool ends = is_epilogue(parts.front().analysis->kernel.family, parts[i].analysis->kernel.family);
      add_part(parts[i], i, ends ? epilogues_ : bodies_);
    }
  }

  Text run(const std::string& name) {
    hashed_ = name_of(target_);
    for (std::size_t b = 0; b < bodies_.size(); ++b) add_body(b);
    for (std::size_t e = 0; e < epilogues_.size(); ++e) add_epilogue(e);
    add_parameters();
    text_.digest = base::to_hex(base::hash128(hashed_ + name));
    text_.name = fmt::format("{}_{}", name, text_.digest.substr(0, digits_of_text));
    const std::string space = text_.name + "_text";
    text_.code = fmt::format(
        "namespace {0} {{\n\n"
        "{1}struct Params {{\n{2}}};\n\n"
        "struct Run {{\n"
        "  const Params& p;\n"
        "{3}"
        "}};\n\n"
        "}}  // namespace {0}\n\n",
        space, functors_, members_, functions());
    text_.code += entry(space);
    return std::move(text_);
  }

 private:
  /// A functor, and the parts that use it.
  struct Body {
    Functor functor;
    std::vector<std::size_t> parts;
    std::vector<std::string> comment;
  };

  void add_part(const Part& part, std::size_t i, std::vector<Body>& bodies) const {
    const Variant variant = part.variant->without_tiles();
    Functor functor = emit_functor(*part.analysis, variant, part.schedule, target_);
    auto at = &bodies == &epilogues_
                  ? bodies.end()  // each runs at its place
                  : std::ranges::find(bodies, functor.code, [](const Body& b) { return b.functor.code; });
    if (at == bodies.end()) at = bodies.insert(at, {std::move(functor), {}, {}});
    at->parts.push_back(i);
    // The first kernel whole, and of others with the same body the head.
    if (at->comment.empty())
      at->comment = part.comment;
    else if (const std::string also = "also " + part.comment.front();
             std::ranges::find(at->comment, also) == at->comment.end())
      at->comment.push_back(also);
  }

  void add_functor(const Body& body, const std::string& space) {
    functors_ += commented(body.comment) +
                 fmt::format("namespace {0} {{\n\n{1}\n}}  // namespace {0}\n\n", space, body.functor.shown);
    for (const std::size_t part : body.parts) {
      for (Parameter parameter : body.functor.parameters) {
        parameter.part = part;
        text_.parameters.push_back(parameter);
      }
    }
  }

  void add_body(std::size_t b) {
    const Body& body = bodies_[b];
    hashed_ += body.functor.code + fmt::format(" {}", body.parts.size());
    add_functor(body, fmt::format("body{}", b));
    members_ += fmt::format("  body{0}::Params a{0}[{1}];\n", b, body.parts.size());
    const std::size_t begin = order_.size();
    order_.insert(order_.end(), body.parts.begin(), body.parts.end());
    choice_ += choice_of(b, begin, b + 1 < bodies_.size() ? order_.size() : 0);
  }

  /// The lines that run an item of one of the parts [begin, end) by body `b`; `end` is 0 for the last parts.
  std::string choice_of(std::size_t b, std::size_t begin, std::size_t end) const {
    if (target_ == Target::cpu) {
      const std::string run =
          fmt::format("ct::group_points(body{0}::Body{{p.a{0}[part - {1}]}}, first, last);", b, begin);
      return end == 0 ? fmt::format("    {}\n", run) : fmt::format("    if (part < {}) return {}\n", end, run);
    }
    // Each thread of an elementwise kernel reads the parameters of its part once, wherever they are. In a reduction
    // most of them are for its end: until then they would take registers.
    const std::string run =
        fmt::format(fmt::runtime(are_reductions_ ? "split_block(body{0}::Body{{a}}, tile)"
                                                 : "pointwise_tile(body{0}::Body{{a}}, body{0}::Body::Base(tile))"),
                    b);
    return fmt::format(
        "    {0}{{\n"
        "      const body{1}::Params{4} a = p.a{1}[part - {2}];\n"
        "      return ct::{3};\n"
        "    }}\n",
        end == 0 ? "" : fmt::format("if (part < {}) ", end), b, begin, run, are_reductions_ ? "&" : "");
  }

  void add_epilogue(std::size_t e) {
    hashed_ += " epilogue " + epilogues_[e].functor.code;
    add_functor(epilogues_[e], fmt::format("epilogue{}", e));
    members_ += fmt::format("  epilogue{0}::Params last{0};\n", e);
  }

  /// The parameters after those of the functors.
  void add_parameters() {
    using Kind = Parameter::Kind;
    members_ += fmt::format("  ct::index ends[{}];\n", order_.size());
    for (const std::size_t part : order_) text_.parameters.push_back({.kind = Kind::last_tile, .part = part});
    if (target_ == Target::cpu) {
      members_ += fmt::format("  ct::index points[{}];\n", order_.size());
      for (const std::size_t part : order_) text_.parameters.push_back({.kind = Kind::points, .part = part});
    }
    if (epilogues_.empty()) return;
    members_ += "  unsigned int* finished;\n";
    text_.parameters.push_back({.kind = Kind::counters, .part = epilogues_.front().parts.front()});
  }

  /// The functions of struct Run.
  std::string functions() const {
    constexpr std::string_view form = "  CT_MEMBER {} {}(int part, {}) const {{\n{}  }}\n";
    const auto function = [&](std::string_view type, std::string_view name, const std::string& lines) {
      return fmt::format(form, type, name,
                         target_ == Target::cpu ? "ct::index first, ct::index last" : "ct::index tile", lines);
    };
    if (!are_reductions_) return function("void", "operator()", choice_);
    if (epilogues_.empty()) return function("bool", "operator()", choice_);
    // The results of all reductions are there when the last one ends.
    std::string last = fmt::format(
        "    if (!reduction(part, tile) || !ct::is_last_block(p.finished, {}u) || ct::thread_index() != 0) return;\n",
        order_.size());
    for (std::size_t e = 0; e < epilogues_.size(); ++e)
      last += fmt::format("    ct::one_point(epilogue{0}::Body{{p.last{0}}});\n", e);
    return function("bool", "reduction", choice_) + function("void", "operator()", last);
  }

  std::string entry(const std::string& space) const {
    if (target_ == Target::cpu) {
      return fmt::format(
          "extern \"C\" void {0}(const {1}::Params* p, ct::index begin, ct::index end) {{\n"
          "  ct::group(p->ends, p->points, begin, end, {1}::Run{{*p}});\n"
          "}}\n",
          text_.name, space);
    }
    const bool in_table = needs_table(text_.parameters, target_);
    const auto [declaration, lines] = parameter_entry(in_table, space, "CT_PARAMETERS");
    return fmt::format(
        "CT_KERNEL void {0}{1}({2}, ct::index) {{\n{3}"
        "  ct::group<{4}>(p.ends, {5}, {6}::Run{{p}});\n"
        "}}\n",
        are_reductions_ ? memory_bounds(threads_) : "", text_.name, declaration, lines, in_table, order_.size(), space);
  }

  Target target_;
  bool are_reductions_;
  int threads_;
  std::vector<Body> bodies_, epilogues_;  // the distinct functors; one for each epilogue
  std::vector<std::size_t> order_;        // the parts but for epilogues, in the order of Params
  std::string hashed_, functors_, members_, choice_;
  Text text_;
};

}  // namespace

Text emit_group(std::span<const Part> parts, Target target) {
  const base::StageTimer timer(base::Stage::emit);
  return GroupEmitter(parts, target).run(group_name(parts));
}

}  // namespace croton::codegen
