// The functor of contractions.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/emitter.hpp"
#include "codegen/spelling.hpp"

namespace croton::codegen {

void Emitter::advance(const std::string& fast, std::string_view by, const std::vector<std::size_t>& axes) {
  std::string text = fmt::format("{0} += {1}; if ({0} == p.n{2}) {{ {0} = 0;", fast, by, axes.back());
  for (std::size_t k = axes.size() - 1; k-- > 0;)
    text += k == 0 ? fmt::format(" ++i{};", axes[k]) : fmt::format(" if (++i{0} == p.n{0}) {{ i{0} = 0;", axes[k]);
  line(text + std::string(std::max<std::size_t>(axes.size(), 2) - 1, '}'));
}

template <class F>
void Emitter::by_runs(const std::vector<std::size_t>& outer, const std::vector<std::size_t>& along, const F& element) {
  split_index("outer", outer, "ct::index i");
  split_index("first", along, "ct::index f");
  line("for (ct::index o = 0; o < outers; ++o) {");
  block([&] {
    for (std::size_t k = 0; k + 1 < along.size(); ++k) line(fmt::format("ct::index i{0} = f{0};", along[k]));
    const std::size_t fast = along.back();
    line(fmt::format("ct::index s{0} = f{0};", fast));
    line("for (ct::index done = 0, run; done < count; done += run) {");
    block([&] {
      line(fmt::format("run = ct::smaller(p.n{0} - s{0}, count - done);", fast));
      line("#pragma clang loop vectorize(assume_safety)");
      line("for (ct::index t = 0; t < run; ++t) {");
      block([&] {
        line(fmt::format("const ct::index i{0} = s{0} + t;", fast));
        element();
      });
      line("}");
      advance(fmt::format("s{}", fast), "run", along);
    });
    line("}");
    advance(fmt::format("i{}", outer.back()), "1", outer);
  });
  line("}");
}

std::vector<std::size_t> Emitter::inner_axes() const {
  std::vector<std::size_t> axes;
  for (std::size_t m = variant_.parallel.size(); m < axes_.size(); ++m) axes.push_back(m);
  return axes;
}

void Emitter::split_batch(const std::vector<std::size_t>& batch) {
  if (batch.empty())
    line("(void)batch;");
  else
    split_index("batch", batch);
}

void Emitter::emit_contract() {
  const std::vector<std::size_t> batch = axes_of_side(analysis_, variant_, kernel::Side::both),
                                 rows = axes_of_side(analysis_, variant_, kernel::Side::rows),
                                 columns = axes_of_side(analysis_, variant_, kernel::Side::columns),
                                 inner = inner_axes();
  const kernel::Contraction& contraction = *analysis_.contraction;
  const std::string_view type = value_type(body_.type(contraction.left).dtype);
  line(fmt::format("typedef {} Value;", type));
  const auto counts = [&](std::string_view name, const std::vector<std::size_t>& axes) {
    std::string total;
    for (const std::size_t m : axes) {
      const std::string size = fmt::format(fmt::runtime(target_ == Target::cuda ? "Base(p.n{})" : "p.n{}"), m);
      total += (total.empty() ? "" : " * ") + size;
    }
    line(fmt::format("CT_MEMBER {} {}() const {{ return {}; }}", position_type(), name, total.empty() ? "1" : total));
  };
  counts("batches", batch);
  counts("rows", rows);
  counts("columns", columns);
  counts("length", inner);
  line("CT_MEMBER const Value* sums() const { return reinterpret_cast<const Value*>(p.workspace); }",
       "of a library; null: they are computed here");
  available_stages_ = 1;
  if (target_ == Target::cpu) {
    const auto pieces = [&](std::string_view name, NodeId factor, const std::vector<std::size_t>& lines,
                            bool by_lines) {
      line(fmt::format("static constexpr bool {}_by_lines = {};", name, by_lines));
      line(
          fmt::format("CT_MEMBER void {}(ct::index batch, ct::index outer, ct::index outers, ct::index first, "
                      "ct::index count, Value* to, ct::index outer_step, ct::index step) const {{",
                      name));
      block([&] {
        split_batch(batch);
        by_runs(by_lines ? inner : lines, by_lines ? lines : inner, [&] {
          declare({factor}, false);
          line(fmt::format("to[o * outer_step + (done + t) * step] = {};", operand(factor)));
        });
      });
      line("}");
    };
    pieces("left", contraction.left, rows, variant_.left_by_rows);
    pieces("right", contraction.right, columns, variant_.right_by_columns);
    line(
        "CT_MEMBER void finish(ct::index batch, ct::index outer, ct::index outers, ct::index first, ct::index count, "
        "const Value* sums, ct::index outer_step) const {");
    block([&] {
      split_batch(batch);
      by_runs(rows, columns, [&] {
        line("const Value r0 = sums[o * outer_step + done + t];");
        stores_and_checks(false);
      });
    });
    line("}");
    return;
  }
  line(fmt::format("static constexpr int threads = {};", schedule_.threads));
  for (const std::string_view divisor : {"by_rows", "by_columns", "by_row_tiles", "by_column_tiles"})
    line(fmt::format("CT_MEMBER ct::Divisor<Base> {0}() const {{ return p.{0}; }}", divisor));
  const auto one = [&](std::string_view name, NodeId factor, const std::vector<std::size_t>& lines) {
    line(fmt::format("CT_MEMBER Value {}(Base batch, Base line, Base k) const {{", name));
    block([&] {
      split_batch(batch);
      split_index("line", lines);
      split_index("k", inner);
      declare({factor}, false);
      line(fmt::format("return {};", operand(factor)));
    });
    line("}");
  };
  one("left", contraction.left, rows);
  one("right", contraction.right, columns);
  line("CT_MEMBER void finish(Base batch, Base row, Base column, Value r0) const {");
  block([&] {
    split_batch(batch);
    split_index("row", rows);
    split_index("column", columns);
    stores_and_checks(false);
  });
  line("}");
}

}  // namespace croton::codegen
