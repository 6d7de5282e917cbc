#include "codegen/emit.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.hpp"
#include "base/rounding.hpp"
#include "base/stage.hpp"
#include "codegen/embedded.hpp"
#include "codegen/emitter.hpp"
#include "codegen/spelling.hpp"
#include "codegen_templates/common/sizes.hpp"

namespace croton::codegen {

using kernel::Family;

std::string name_of(Target target) { return target == Target::cpu ? "cpu" : "cuda"; }

bool needs_table(std::span<const Parameter> parameters, Target target) {
  // An entry also gets a number of items.
  return target == Target::cuda && (parameters.size() + 1) * sizeof(std::uint64_t) > max_parameter_bytes;
}

ParameterEntry parameter_entry(bool in_table, std::string_view space, std::string_view by_value) {
  if (!in_table) return {fmt::format("{} {}::Params p", by_value, space), ""};
  return {fmt::format("const {}::Params* __restrict__ table", space),
          fmt::format("  const {}::Params& p = *table;\n", space)};
}

std::string commented(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "// " + sanitized(line) + "\n";
  return text;
}

Functor Emitter::functor() {
  parameters();
  line("struct Body {");
  indent_ = 2;
  line("const Params& p;");
  if (guarded()) line("mutable unsigned int bad = 0;", "the check that failed");
  if (is_by_element()) line(fmt::format("typedef {} Base;", base_type()), "of positions");
  switch (kernel_.family) {
    case Family::pointwise:
      if (target_ == Target::cuda)
        variant_.tiled() ? emit_pack_tiles() : emit_packs();
      else if (variant_.tiled())
        emit_tiles();
      else
        emit_pointwise();
      break;
    case Family::row:
      if (is_in_packs())
        in_parts() && !meets() ? emit_parts() : emit_row_packs();
      else
        emit_row();
      break;
    case Family::column:
      if (shared_ != nullptr)
        emit_columns_of_rows();
      else if (is_column_of_packs())
        emit_column_packs();
      else
        emit_column();
      break;
    case Family::split:
      if (is_split_of_packs())
        emit_parts();
      else
        emit_split();
      break;
    case Family::contract:
      emit_contract();
      break;
  }
  indent_ = 0;
  line("};");
  const std::string support = support_text();
  return {support + code_, support + struct_ + "\n" + shown_, parameters_,
          kernel_.family == Family::split && !is_split_of_packs() ? state_bytes() : 0};
}

Text Emitter::run(const std::vector<std::string>& comment) {
  Functor made = functor();
  Text text;
  const std::string kernel = kernel_name(analysis_, variant_);
  text.digest = base::to_hex(base::hash128(made.code + name_of(target_) + kernel));
  text.name = fmt::format("{}_{}", kernel, text.digest.substr(0, digits_of_text));
  text.code = commented(comment);
  // The entries are C functions in the global namespace, where launchers look them up; everything else is in
  // a separate namespace.
  text.code += fmt::format("namespace {}_text {{\n\n", text.name) + made.shown +
               fmt::format("\n}}  // namespace {}_text\n\n", text.name) + entries(text.name);
  text.parameters = std::move(made.parameters);
  text.state_bytes = made.state_bytes;
  return text;
}

std::string kernel_name(const Analysis& analysis, const Variant& variant) {
  std::string text = kernel::print(analysis.kernel);
  const auto add = [&](std::size_t number) { text += fmt::format(" {}", number); };
  for (const auto* axes : {&variant.parallel, &variant.inner}) {
    for (const MergedAxis& axis : *axes) add(axis.axes.size());
    text += ';';
  }
  for (const std::vector<StrideClass>& strides : variant.strides) {
    for (const StrideClass stride : strides) add(static_cast<std::size_t>(stride));
    text += ';';
  }
  add(variant.tile_axis.value_or(variant.parallel.size()));
  for (const bool flag : variant.staged) add(flag ? 1 : 0);
  add(variant.left_by_rows ? 1 : 0);
  add(variant.right_by_columns ? 1 : 0);
  return fmt::format("{}_{}", kernel::name_of(analysis.kernel.family),
                     base::to_hex(base::hash128(text)).substr(0, digits_of_kernel));
}

std::string Emitter::run_body(const std::string& space, std::string_view call) const {
  const std::string body = fmt::format("{}Body{{p}}", space);
  if (!guarded()) return fmt::format("  {};\n", fmt::format(fmt::runtime(call), body));
  return fmt::format("  const {} body{{p}};\n  {};\n  if (body.bad != 0) ct::report(p.failure, body.bad, 0);\n",
                     space + "Body", fmt::format(fmt::runtime(call), "body"));
}

int resident_blocks(int threads) {
  // sm_75 and sm_86 hold 16 blocks; ptxas refuses bounds beyond that.
  constexpr int half = 1024, most = 16;
  return std::clamp(half / threads, 1, most);
}

std::string memory_bounds(int threads) {
  return fmt::format("CT_LAUNCH_BOUNDS({}, {}) ", threads, resident_blocks(threads));
}

int registers_of_meeting(const Schedule& schedule) {
  // Each of the four parts of a multiprocessor gives its registers to whole warps, in units.
  constexpr int quarters = 4, of_quarter = 16384, most = 255, unit = 8, lanes = ct::lanes;
  const int warps = base::ceil_div(schedule.together * schedule.threads / lanes, quarters);
  return std::min(most, of_quarter / (warps * lanes) / unit * unit);
}

std::size_t registers_for_rows(const Schedule& schedule) {
  constexpr int others = 48;  // addresses, accumulators and values
  return static_cast<std::size_t>(std::max(0, registers_of_meeting(schedule) - others));
}

std::string Emitter::launch_bounds() const {
  if (kernel_.family == Family::contract) return fmt::format("CT_LAUNCH_BOUNDS({}) ", schedule_.threads);
  if (!is_in_packs()) return "";
  if (meets()) return fmt::format("CT_LAUNCH_BOUNDS({}, {}) ", schedule_.threads, schedule_.together);
  // Bodies that are limited by memory need half of the threads of a multiprocessor, and so do reductions, which wait
  // for each other; long elementwise bodies may need the registers.
  const bool is_short = schedule_.is_short || kernel_.family != Family::pointwise;
  return is_short ? memory_bounds(schedule_.threads) : fmt::format("CT_LAUNCH_BOUNDS({}, 1) ", schedule_.threads);
}

std::string Emitter::entries(const std::string& name) const {
  const bool split = kernel_.family == Family::split && !is_split_of_packs();
  const std::string family = split                  ? "split_parts"
                             : variant_.tiled()     ? "pointwise_tiles"
                             : is_split_of_packs()  ? "split_packs"
                             : meets()              ? "row_meetings"
                             : is_row_of_packs()    ? in_parts() ? "row_parts" : "row_packs"
                             : is_column_of_packs() ? "column_packs"
                                                    : std::string(kernel::name_of(kernel_.family));
  const std::string space = name + "_text::";
  std::string text;
  if (target_ == Target::cpu) {
    const auto entry = [&](std::string_view head, std::string_view call) {
      text += fmt::format("extern \"C\" void {}{} {{\n  const {}Params p = *arguments;\n{}}}\n", name,
                          fmt::format(fmt::runtime(head), space), space, run_body(space, call));
    };
    entry("(const {}Params* arguments, ct::index begin, ct::index end)", "ct::" + family + "({}, begin, end)");
    if (split) entry("_finish(const {}Params* arguments)", "{}.finish()");
    return text;
  }
  const auto [declaration, lines] = parameter_entry(needs_table(parameters_, target_), name + "_text", "const");
  text = fmt::format("CT_KERNEL void {}{}({}, ct::index points) {{\n{}{}}}\n", launch_bounds(), name, declaration,
                     lines, run_body(space, "ct::" + family + "({}, points)"));
  if (split) {
    text += fmt::format(
        "CT_KERNEL void {}_finish({}) {{\n"
        "  if (ct::block_index() != 0 || ct::thread_index() >= ct::lanes) return;\n{}{}}}\n",
        name, declaration, lines, run_body(space, "{}.finish(ct::WarpTeam{{}})"));
  }
  return text;
}

std::size_t split_state_bytes(const Analysis& analysis) { return 16 * analysis.kernel.stages.size(); }

std::string_view embedded_file(std::string_view path) {
  for (const EmbeddedFile& embedded : embedded_files()) {
    if (embedded.path == path) return embedded.text;
  }
  throw InternalError(fmt::format("the template {} is not embedded", path));
}

bool has_user_text(std::string_view code) { return code.find("CT_DEVICE auto user_") != code.npos; }

Text emit(const Part& part, Target target) {
  const base::StageTimer timer(base::Stage::emit);
  return Emitter(*part.analysis, *part.variant, part.schedule, target).run(part.comment);
}

Functor emit_functor(const Analysis& analysis, const Variant& variant, const Schedule& schedule, Target target,
                     bool in_loop) {
  return Emitter(analysis, variant, schedule, target, in_loop).functor();
}

std::string prelude(Target target, bool simulator) {
  static constexpr std::string_view common[] = {
      "common/sizes.hpp",  "common/numeric.cuh", "common/vector.cuh",
      "common/math.cuh",   "common/special.cuh", "common/incomplete_gamma.cuh",
      "common/bessel.cuh", "common/random.cuh",  "common/complex.cuh",
      "common/body.cuh",   "common/combine.cuh", "common/team.cuh",
      "common/motion.cuh"};
  static constexpr std::string_view cpu[] = {
      "cpu/pointwise.hpp", "cpu/tiles.hpp", "cpu/extremes.hpp", "cpu/row.hpp",  "cpu/column.hpp",
      "cpu/split.hpp",     "cpu/group.hpp", "cpu/product.hpp",  "cpu/loop.hpp", "cpu/contract.hpp"};
  static constexpr std::string_view cuda[] = {"common/division.cuh",
                                              "common/short_counter.cuh",
                                              "pointwise.cuh",
                                              "tiles.cuh",
                                              "row.cuh",
                                              "joint.cuh",
                                              "totals.cuh",
                                              "column.cuh",
                                              "split.cuh",
                                              "group.cuh",
                                              "product.cuh",
                                              "loop.cuh",
                                              "contract.cuh",
                                              "row_packs.cuh",
                                              "column_packs.cuh",
                                              "inner_outer.cuh"};
  std::string text;
  const auto add = [&](std::string_view path) { text += fmt::format("{}\n", embedded_file(path)); };
  add(target == Target::cpu ? "cpu/device_cpu.hpp"
      : simulator           ? "common/device_simulator.hpp"
                            : "common/device_cuda.cuh");
  for (const std::string_view path : common) add(path);
  for (const std::string_view path : target == Target::cpu ? std::span<const std::string_view>(cpu) : cuda) add(path);
  return text;
}

}  // namespace croton::codegen
