#include "codegen/routine.hpp"
#include "codegen/spelling.hpp"

#include <fmt/format.h>

#include "base/hash.hpp"
#include "base/stage.hpp"
#include "codegen/embedded.hpp"

namespace croton::codegen {
namespace {

/// The code with {0}, {1}, ... replaced by stored types.
std::string with_types(std::string_view code, const std::vector<DType>& inputs) {
  std::string text;
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (code[at] != '{') {
      text += code[at];
      continue;
    }
    text += stored_type(inputs.at(operand_of_hole(code[at + 1])));
    at += 2;
  }
  return text;
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) all.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

}  // namespace

Text emit_routine(const RoutinePart& part, Target target) {
  const base::StageTimer timer(base::Stage::emit);
  const expr::RoutineInfo& routine = *part.op->routine;
  Text text;
  std::string fields;
  using Kind = Parameter::Kind;
  for (std::size_t i = 0; i < part.inputs.size(); ++i) {
    fields += fmt::format("  const {}* in{};\n", stored_type(part.inputs[i]), i);
    text.parameters.push_back({Kind::pointer, i});
  }
  fields += fmt::format("  {}* out;\n  char* workspace;\n", stored_type(part.result));
  text.parameters.push_back({Kind::pointer, part.inputs.size()});
  text.parameters.push_back({Kind::workspace});
  std::vector<std::string_view> numbers = words(routine.numbers);
  numbers.insert(numbers.end(), {"phase", "step"});
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    fields += fmt::format("  ct::index {};\n", numbers[k]);
    text.parameters.push_back({Kind::extent, 0, k});
  }
  const std::string params = "struct Params {\n" + fields + "};\n";
  const std::string body = with_types(routine.code, part.inputs);
  const std::string templates =
      fmt::format("{}\n{}\n", embedded_file("routines/values.cuh"), embedded_file(routine.file));
  text.digest = base::to_hex(base::hash128(templates + params + body + (target == Target::cpu ? "cpu" : "cuda")));
  text.name = fmt::format("{}_{}", part.op->name, text.digest.substr(0, 12));
  for (const std::string& line : part.comment) text.code += "// " + sanitized(line) + "\n";
  text.code += templates + fmt::format("namespace {0}_text {{\n{1}}}  // namespace {0}_text\n\n", text.name, params);
  if (target == Target::cpu) {
    text.code += fmt::format(
        "extern \"C\" void {0}(const {0}_text::Params* arguments, ct::index begin, ct::index end) {{\n"
        "  const {0}_text::Params p = *arguments;\n"
        "  for (ct::index item = begin; item < end; ++item) {1}::item(p, item);\n"
        "}}\n",
        text.name, body);
  } else {
    text.code += fmt::format(
        "CT_KERNEL void {0}(const {0}_text::Params p, ct::index items) {{\n"
        "  const ct::index stride = ct::index(ct::block_count()) * ct::block_size();\n"
        "  for (ct::index item = ct::index(ct::block_index()) * ct::block_size() + ct::thread_index(); item < items;\n"
        "       item += stride)\n"
        "    {1}::item(p, item);\n"
        "}}\n",
        text.name, body);
  }
  return text;
}

}  // namespace croton::codegen
