// emit_loop: all steps of a loop as one text, with the parts of a step one after the other in a loop over the steps.
// Addresses change from step to step: those of elements of sequences, of rows of states and of results.
#include <fmt/format.h>

#include <algorithm>

#include "base/hash.hpp"
#include "base/index.hpp"
#include "base/stage.hpp"
#include "codegen/functor.hpp"
#include "codegen/spelling.hpp"

namespace croton::codegen {
namespace {

constexpr std::size_t motion_words = 4, matrix_words = 8;

class LoopEmitter {
 public:
  LoopEmitter(const LoopParts& loop, Target target) : loop_(loop), target_(target) {}

  Text run() {
    for (std::size_t i = 0; i < loop_.parts.size(); ++i) add_part(i);
    for (std::size_t i = 0; i < loop_.parts.size(); ++i) add_motions(i);
    const auto number = [&](LoopNumber which, std::string_view declaration) {
      text_.parameters.push_back({.kind = Parameter::Kind::loop, .index = base::ordinal(which)});
      members_ += fmt::format("  {};\n", declaration);
    };
    number(LoopNumber::steps, "ct::index count");
    number(LoopNumber::rows, "ct::index rows");
    number(LoopNumber::all_rows, "ct::index all_rows");
    if (loop_.condition) {
      number(LoopNumber::condition, fmt::format("const {}* stop", stored_type(*loop_.condition)));
      number(LoopNumber::done, "ct::index* done");
    }
    if (loop_.of_grid) number(LoopNumber::grid_barrier, "unsigned int* grid_barrier");
    const std::string body = steps();
    text_.digest = base::to_hex(base::hash128(name_of(target_) + hashed_ + members_ + body));
    text_.name = fmt::format("loop_{}", text_.digest.substr(0, 12));
    text_.code = fmt::format(
        "namespace {0}_text {{\n\n"
        "{1}struct Params {{\n{2}}};\n\n"
        "struct Run {{\n  const Params& p;\n\n{3}}};\n\n"
        "}}  // namespace {0}_text\n\n",
        text_.name, functors_, members_, body);
    text_.code +=
        target_ == Target::cpu
            ? fmt::format(
                  "extern \"C\" void {0}(const {0}_text::Params* arguments, ct::index begin, ct::index end) {{\n"
                  "  const {0}_text::Params p = *arguments;\n"
                  "  ct::loop({0}_text::Run{{p}}, begin, end);\n"
                  "}}\n",
                  text_.name)
            : fmt::format(
                  "CT_KERNEL void {0}(CT_PARAMETERS {0}_text::Params p, ct::index{1}) {{\n"
                  "  {2};\n"
                  "}}\n",
                  text_.name, loop_.of_grid ? "" : " shares",
                  loop_.of_grid ? fmt::format("ct::loop_of_grid({}_text::Run{{p}}, p.grid_barrier)", text_.name)
                                : fmt::format("ct::loop({}_text::Run{{p}}, shares)", text_.name));
    return std::move(text_);
  }

 private:
  void add_part(std::size_t i) {
    const LoopPart& part = loop_.parts[i];
    const auto add = [&](Parameter parameter) {
      parameter.part = i;
      text_.parameters.push_back(parameter);
    };
    std::string shown;
    if (part.analysis == nullptr) {
      shown = fmt::format("typedef ct::MatrixProduct<{}> Params;\n", stored_type(part.dtype));
      hashed_ += shown;
      for (std::size_t access = 0; access < 3; ++access) add({.kind = Parameter::Kind::pointer, .access = access});
      for (std::size_t which = 0; which < matrix_words; ++which) add({.kind = Parameter::Kind::matrix, .index = which});
      if (target_ == Target::cpu) add({.kind = Parameter::Kind::workspace});
    } else {
      const Functor functor = emit_functor(*part.analysis, *part.variant, Schedule(), target_, loop_.of_grid);
      shown = functor.shown;
      hashed_ += functor.code;
      for (const Parameter& parameter : functor.parameters) add(parameter);
    }
    functors_ +=
        commented(part.comment) + fmt::format("namespace part{0} {{\n\n{1}\n}}  // namespace part{0}\n\n", i, shown);
    members_ += fmt::format("  part{0}::Params a{0};\n", i);
  }

  void add_motions(std::size_t i) {
    const LoopPart& part = loop_.parts[i];
    for (std::size_t a = 0; a < part.motions.size(); ++a) {
      if (part.motions[a] == Motion::none) continue;
      members_ += fmt::format("  ct::Motion m{}_{};\n", i, a);
      for (std::size_t word = 0; word < motion_words; ++word) {
        text_.parameters.push_back({.kind = Parameter::Kind::motion, .access = a, .index = word, .part = i});
      }
    }
  }

  /// The number of parallel points of a kernel part, in a share.
  std::string points(std::size_t i) const {
    std::string product;
    for (std::size_t m = 0; m < loop_.parts[i].variant->parallel.size(); ++m)
      product += fmt::format("{}a{}.n{}", product.empty() ? "" : " * ", i, m);
    return product.empty() ? "ct::index(1)" : product;
  }

  std::string call(std::size_t i) const {
    const LoopPart& part = loop_.parts[i];
    if (part.analysis == nullptr) return fmt::format("      ct::matrix_product(group, a{});\n", i);
    if (part.analysis->kernel.family == kernel::Family::split) {
      return fmt::format(
          "      ct::split_parts(group, part{0}::Body{{a{0}}});\n"
          "      group.sync();\n"
          "      ct::split_finish(group, part{0}::Body{{a{0}}});\n",
          i);
    }
    return fmt::format("      ct::{}(group, part{}::Body{{a{}}}, {});\n", kernel::name_of(part.analysis->kernel.family),
                       i, i, points(i));
  }

  std::string steps() const {
    std::string before, moves, calls;
    for (std::size_t i = 0; i < loop_.parts.size(); ++i) {
      const LoopPart& part = loop_.parts[i];
      before += fmt::format("    part{0}::Params a{0} = p.a{0};\n", i);
      // The parameter for the size of the first axis is its size for one row.
      if (loop_.partitioned) before += fmt::format("    a{0}.n0 = p.a{0}.n0 * rows;\n", i);
      for (std::size_t a = 0; a < part.motions.size(); ++a) {
        const std::string name = fmt::format("{}_{}", i, a),
                          to = fmt::format("a{0}.p{1} = ct::moved(p.a{0}.p{1}, ", i, a),
                          row = loop_.partitioned ? fmt::format("first * p.m{}.row", name) : "";
        switch (part.motions[a]) {
          case Motion::none:
            break;
          case Motion::rows:
            if (loop_.partitioned) before += fmt::format("    {}{});\n", to, row);
            break;
          case Motion::line:
            moves += fmt::format("      {}{}{}t * p.m{}.step);\n", to, row, row.empty() ? "" : " + ", name);
            break;
          case Motion::ring:
            before += fmt::format("    ct::index slot{0} = p.m{0}.slot;\n", name);
            moves += fmt::format("      {0}{1}{2}slot{3} * p.m{3}.step);\n", to, row, row.empty() ? "" : " + ", name);
            moves += fmt::format("      slot{0} = ct::next_slot(slot{0}, p.m{0}.slots);\n", name);
            break;
        }
      }
      if (part.analysis == nullptr && target_ == Target::cpu)
        before += fmt::format("    ct::make_panels(a{}, share);\n", i);
      calls += call(i);
      if (part.sync_after) calls += "      group.sync();\n";
    }
    if (loop_.condition) {
      calls += fmt::format(
          "      const bool last = {} != 0;\n{}"
          "      if (last) {{\n        ++t;\n        break;\n      }}\n",
          compute_dtype(*loop_.condition) == *loop_.condition ? "*p.stop" : "ct::to_float(*p.stop)",
          loop_.sync_after_condition ? "      group.sync();\n" : "");
    }
    std::string text =
        "  // All steps for the rows of one share.\n"
        "  template <class ThreadGroup>\n"
        "  CT_MEMBER void steps(const ThreadGroup& group, ct::index share) const {\n";
    if (loop_.partitioned) {
      text +=
          "    const ct::index first = share * p.rows, left = p.all_rows - first;\n"
          "    const ct::index rows = left < p.rows ? left : p.rows;\n";
    } else {
      text += "    (void)share;\n";
    }
    text += before + "    ct::index t = 0;\n    for (; t < p.count; ++t) {\n" + moves + calls + "    }\n";
    if (loop_.condition) text += "    if (group.leads()) *p.done = t;\n";
    return text + "  }\n";
  }

  const LoopParts& loop_;
  Target target_;
  Text text_;
  std::string hashed_, functors_, members_;
};

}  // namespace

Text emit_loop(const LoopParts& loop, Target target) {
  const base::StageTimer timer(base::Stage::emit);
  return LoopEmitter(loop, target).run();
}

}  // namespace croton::codegen
