// emit_inner_outer: a row kernel and a column kernel as one text for a GPU (codegen_templates/inner_outer.cuh). The
// body of the rows calls `columns` for each pack of a row, with the packs that the body of the columns needs too.
#include <fmt/format.h>

#include <algorithm>

#include "base/hash.hpp"
#include "base/stage.hpp"
#include "codegen/emitter.hpp"
#include "codegen/inner_outer.hpp"
#include "codegen/spelling.hpp"

namespace croton::codegen {

void Emitter::give_to_columns() {
  std::string arguments = "column, left";
  for (std::size_t b : distinct_given(*shared_)) {
    const std::string_view from = is_held(b) ? "held" : is_staged_row(b) ? "staged" : "in";
    arguments += ", " + (analysis_.accesses[b].written ? stored_pack(b) : fmt::format("{}.l{}", from, b));
  }
  line(fmt::format("columns({});", arguments));
}

/// The struct of packs of a row's elements, and the function that makes it of what the row kernel gives and loads.
void Emitter::columns_inputs() {
  const std::vector<std::size_t> inputs = fetched();
  pack_struct("Inputs", inputs);
  std::string parameters;
  for (const std::size_t b : distinct_given(*shared_)) {
    const auto a = static_cast<std::size_t>(std::ranges::find(shared_->given, b) - shared_->given.begin());
    parameters += fmt::format(", const ct::Pack<{}, vector>& given{}", stored_type(dtype_of(a)), b);
  }
  line(
      fmt::format("CT_MEMBER Inputs inputs(const Line& line, Offset column, Base k, int left{}) const {{", parameters));
  block([&] {
    line("(void)line, (void)column, (void)k, (void)left;");
    inner_position("k");
    line("Inputs in;");
    for (const std::size_t a : inputs) {
      const std::size_t b = shared_->given[a];
      line(fmt::format("in.l{} = {};", a, b == SharedOperands::own ? pack_load(a) : fmt::format("given{}", b)));
    }
    line("return in;");
  });
  line("}");
}

void Emitter::emit_columns_of_rows() {
  position_types("of positions", "in a line");
  line("static constexpr int vector = 4;");
  line("CT_MEMBER ct::index length() const { return p.n1; }");
  line("CT_MEMBER ct::index parts() const { return p.parts; }");
  line("CT_MEMBER unsigned int* counters() const { return p.counters; }");
  pack_line();
  const StageGroup all{0, kernel_.stages.size()};
  line(fmt::format("typedef {} Combiner;", combiner(all)));
  line("CT_MEMBER Combiner::State* states() const { return reinterpret_cast<Combiner::State*>(p.workspace); }");
  in_each_row_ = true;
  columns_inputs();
  line("CT_MEMBER auto value(const Line& line, const Inputs& in, Offset column, int e, Base k) const {");
  block([&] {
    line("(void)line, (void)in, (void)column, (void)e, (void)k;");
    element_index();
    inner_position("k");
    declare_values(all);
    line(fmt::format("return {};", values(all)));
  });
  line("}");
  in_each_row_ = false;
  line("template <class Result>");
  line(fmt::format("CT_MEMBER void finish(const Line& line, Offset column, int left, const Result& {}) const {{",
                   group_name(all)));
  block([&] {
    line("struct Fixed {");
    for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
      if (is_fixed(a)) line(fmt::format("  ct::Pack<{}, vector> l{};", stored_type(dtype_of(a)), a));
    }
    line("} fixed;");
    line("(void)fixed;");
    for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
      if (is_fixed(a)) line(fmt::format("fixed.l{} = {};", a, pack_load(a)));
    }
    begin_group(all);
    available_stages_ = kernel_.stages.size();
    pack_elements(false);
  });
  line("}");
}

std::string inner_outer_name(const Part& rows, const Part& columns) {
  const std::string names =
      kernel_name(*rows.analysis, *rows.variant) + kernel_name(*columns.analysis, *columns.variant);
  return fmt::format("matrix_{}", base::to_hex(base::hash128(names)).substr(0, digits_of_kernel));
}

namespace {

Functor functor_of(const Part& part, const SharedOperands& shared) {
  Emitter emitter(*part.analysis, *part.variant, part.schedule, Target::cuda);
  emitter.share(shared);
  return emitter.functor();
}

/// Blocks of a multiprocessor for which threads must have registers, and for which its shared memory has room on the
/// architectures that have most of it.
int blocks_with_memory(const Schedule& schedule) {
  constexpr std::int64_t shared_bytes = 227 * 1024, reserved_bytes = 1024;
  const std::int64_t of_memory = shared_bytes / (schedule.shared_bytes + reserved_bytes);
  return static_cast<int>(std::clamp<std::int64_t>(of_memory, 1, resident_blocks(schedule.threads)));
}

}  // namespace

Text emit_inner_outer(const Part& rows, const Part& columns, const SharedOperands& shared) {
  const base::StageTimer timer(base::Stage::emit);
  Text text;
  std::string functors, code;
  for (const auto& [number, part] : {std::pair(0, &rows), std::pair(1, &columns)}) {
    const Functor made = functor_of(*part, shared);
    const std::string_view space = number == 0 ? "rows" : "columns";
    functors +=
        commented(part->comment) + fmt::format("namespace {0} {{\n\n{1}\n}}  // namespace {0}\n\n", space, made.shown);
    code += made.code;
    for (Parameter parameter : made.parameters) {
      parameter.part = static_cast<std::size_t>(number);
      text.parameters.push_back(parameter);
    }
  }
  const std::string name = inner_outer_name(rows, columns);
  // The shared memory, and with it these bounds, may follow sizes that the code does not contain.
  const std::string bounds =
      fmt::format("CT_LAUNCH_BOUNDS({}, {})", rows.schedule.threads, blocks_with_memory(rows.schedule));
  text.digest = base::to_hex(base::hash128(code + bounds + name_of(Target::cuda) + name));
  text.name = fmt::format("{}_{}", name, text.digest.substr(0, digits_of_text));
  const std::string space = text.name + "_text";
  const bool guarded = std::ranges::any_of(
      rows.analysis->kernel.checks, [](const kernel::Check& check) { return check.message == kernel::guard_message; });
  const auto [declaration, lines] = parameter_entry(needs_table(text.parameters, Target::cuda), space, "CT_PARAMETERS");
  text.code = fmt::format(
      "namespace {0} {{\n\n{1}struct Params {{\n  rows::Params rows;\n  columns::Params columns;\n}};\n\n"
      "}}  // namespace {0}\n\n"
      "CT_KERNEL void {2} {3}({4}, ct::index) {{\n{5}"
      "  const {0}::rows::Body rows{{p.rows}};\n"
      "  ct::inner_outer(rows, {0}::columns::Body{{p.columns}});\n{6}}}\n",
      space, functors, bounds, text.name, declaration, lines,
      guarded ? "  if (rows.bad != 0) ct::report(p.rows.failure, rows.bad, 0);\n" : "");
  return text;
}

}  // namespace croton::codegen
