// emit_loop: all steps of a loop as one text, with the parts of a step one after the other in a loop over the steps.
// Addresses change from step to step: those of elements of sequences, of rows of states and of results.
#include <fmt/format.h>

#include <algorithm>

#include "base/hash.hpp"
#include "base/index.hpp"
#include "base/stage.hpp"
#include "codegen/division.hpp"
#include "codegen/functor.hpp"
#include "codegen/spelling.hpp"

namespace croton::codegen {
namespace {

constexpr std::size_t motion_words = 4, matrix_words = 8;

class LoopEmitter {
 public:
  LoopEmitter(const LoopParts& loop, Target target) : loop_(loop), target_(target) { schedule_.index = loop.index; }

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
    in_table_ = needs_table(text_.parameters, target_);
    const std::string body = steps();
    text_.digest = base::to_hex(base::hash128(name_of(target_) + hashed_ + members_ + body));
    text_.name = fmt::format("loop_{}", text_.digest.substr(0, digits_of_kernel));
    text_.code = fmt::format(
        "namespace {0}_text {{\n\n"
        "{1}struct Params {{\n{2}}};\n\n"
        "struct Run {{\n  const Params& p;\n\n{3}}};\n\n"
        "}}  // namespace {0}_text\n\n",
        text_.name, functors_, members_, body);
    text_.code += entry();
    return std::move(text_);
  }

 private:
  std::string entry() const {
    const std::string space = text_.name + "_text";
    if (target_ == Target::cpu) {
      return fmt::format(
          "extern \"C\" void {0}(const {1}::Params* arguments, ct::index begin, ct::index end) {{\n"
          "  const {1}::Params p = *arguments;\n"
          "  ct::loop({1}::Run{{p}}, begin, end);\n"
          "}}\n",
          text_.name, space);
    }
    const auto [declaration, lines] = parameter_entry(in_table_, space, "CT_PARAMETERS");
    return fmt::format(
        "CT_KERNEL void {0}({1}, ct::index{2}) {{\n{3}"
        "  ct::{4}({5}::Run{{p}}, {6});\n"
        "}}\n",
        text_.name, declaration, loop_.of_grid ? "" : " shares", lines, loop_.of_grid ? "loop_of_grid" : "loop", space,
        loop_.of_grid ? "p.grid_barrier" : "shares");
  }

  void add_part(std::size_t i) {
    const LoopPart& part = loop_.parts[i];
    const auto add = [&](Parameter parameter) {
      parameter.part = i;
      text_.parameters.push_back(parameter);
    };
    std::string shown;
    if (part.analysis == nullptr) {
      const std::string_view index = target_ == Target::cpu                  ? ""
                                     : schedule_.index == IndexWidth::narrow ? ", int"
                                                                             : ", ct::index";
      shown = fmt::format("typedef ct::MatrixProduct<{}{}> Params;\n", stored_type(part.dtype), index);
      hashed_ += shown;
      for (std::size_t access = 0; access < 3; ++access) add({.kind = Parameter::Kind::pointer, .access = access});
      for (std::size_t which = 0; which < matrix_words; ++which) add({.kind = Parameter::Kind::matrix, .index = which});
      if (target_ == Target::cpu) {
        add({.kind = Parameter::Kind::workspace});
      } else {
        for (std::size_t word = 0; word < divisor_words(schedule_.index); ++word)
          add({.kind = Parameter::Kind::matrix_divisor, .access = word});
      }
    } else {
      const Functor functor = emit_functor(*part.analysis, *part.variant, schedule_, target_, true);
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

  /// The code of a part, as lines without indentation.
  struct PartLines {
    std::vector<std::string> copy;   // its parameters for the rows of the share, the same in all steps
    std::vector<std::string> slots;  // variables that steps change, if they are not among `copy`
    std::vector<std::string> moves;  // the addresses of a step
  };
  PartLines lines_of(std::size_t i) const {
    const LoopPart& part = loop_.parts[i];
    PartLines lines;
    lines.copy.push_back(fmt::format("part{0}::Params a{0} = p.a{0};", i));
    // The parameter for the size of the first axis is its size for one row.
    if (loop_.partitioned) lines.copy.push_back(fmt::format("a{0}.n0 = p.a{0}.n0 * rows;", i));
    for (std::size_t a = 0; a < part.motions.size(); ++a) {
      const std::string name = fmt::format("{}_{}", i, a),
                        to = fmt::format("a{0}.p{1} = ct::moved(p.a{0}.p{1}, ", i, a),
                        row = loop_.partitioned ? fmt::format("first * p.m{}.row", name) : "",
                        sum = row.empty() ? "" : row + " + ";
      switch (part.motions[a]) {
        case Motion::none:
          break;
        case Motion::rows:
          if (loop_.partitioned) lines.copy.push_back(fmt::format("{}{});", to, row));
          break;
        case Motion::line:
          lines.moves.push_back(fmt::format("{}{}t * p.m{}.step);", to, sum, name));
          break;
        case Motion::ring:
          (in_table_ ? lines.slots : lines.copy).push_back(fmt::format("ct::index slot{0} = p.m{0}.slot;", name));
          lines.moves.push_back(fmt::format("{0}{1}slot{2} * p.m{2}.step);", to, sum, name));
          lines.moves.push_back(fmt::format("slot{0} = ct::next_slot(slot{0}, p.m{0}.slots);", name));
          break;
      }
    }
    if (part.analysis == nullptr && target_ == Target::cpu)
      lines.copy.push_back(fmt::format("ct::make_panels(a{}, share);", i));
    return lines;
  }

  static std::string indented(const std::vector<std::string>& lines, std::string_view indent) {
    std::string text;
    for (const std::string& line : lines) text += fmt::format("{}{}\n", indent, line);
    return text;
  }

  std::string steps() const {
    std::string before, moves, calls;
    for (std::size_t i = 0; i < loop_.parts.size(); ++i) {
      const PartLines lines = lines_of(i);
      if (in_table_) {
        // A thread has no registers for so many parameters: it reads those of a part again in each step.
        before += indented(lines.slots, "    ");
        calls += "      {\n" + indented(lines.copy, "      ") + indented(lines.moves, "      ") + call(i) + "      }\n";
      } else {
        before += indented(lines.copy, "    ");
        moves += indented(lines.moves, "      ");
        calls += call(i);
      }
      if (loop_.parts[i].sync_after) calls += "      group.sync();\n";
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
  Schedule schedule_;  // of which parts have the width of indices
  Text text_;
  std::string hashed_, functors_, members_;
  bool in_table_ = false;
};

}  // namespace

Text emit_loop(const LoopParts& loop, Target target) {
  const base::StageTimer timer(base::Stage::emit);
  return LoopEmitter(loop, target).run();
}

}  // namespace croton::codegen
