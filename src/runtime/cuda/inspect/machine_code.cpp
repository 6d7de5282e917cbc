#include "runtime/cuda/inspect/machine_code.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

namespace croton::runtime::cuda {
namespace {

constexpr std::int64_t instruction_bytes = 16;

/// The line of the kernel's own text that an instruction works for; else the innermost line of the prelude, negated.
int site_of(const Instruction& instruction, int prelude_lines) {
  const auto own = std::ranges::find_if(instruction.lines, [&](int line) { return line > prelude_lines; });
  if (own != instruction.lines.end()) return *own - prelude_lines;
  return instruction.lines.empty() ? 0 : -instruction.lines.front();
}

bool is_global_access(const Instruction& i) {
  return i.space() == Space::global && (i.loads() || i.stores()) && !i.reports_failure;
}

/// The sites of the global accesses of a path: each line, and whether it stores.
std::set<std::pair<int, bool>> sites_of(const Code& code, const CodePath& path, int prelude_lines) {
  std::set<std::pair<int, bool>> sites;
  for (const std::size_t at : path.instructions) {
    const Instruction& i = code.instructions[at];
    if (is_global_access(i)) sites.emplace(site_of(i, prelude_lines), i.stores());
  }
  return sites;
}

/// The elements that a path advances: at each site its bytes divided by those of an element; the most of all sites.
std::int64_t elements_of(const Code& code, const CodePath& path, const KernelText& text) {
  std::map<std::pair<int, bool>, std::pair<std::int64_t, int>> sites;  // bytes, and the narrowest access
  for (const std::size_t at : path.instructions) {
    const Instruction& i = code.instructions[at];
    if (!is_global_access(i)) continue;
    auto& [bytes, narrowest] = sites[{site_of(i, text.prelude_lines), i.stores()}];
    bytes += i.bytes();
    narrowest = narrowest == 0 ? i.bytes() : std::min(narrowest, i.bytes());
  }
  std::int64_t most = 0;
  for (const auto& [site, access] : sites) {
    const int element = element_bytes(text, site.first);
    most = std::max(most, access.first / (element > 0 ? element : access.second));
  }
  return std::max<std::int64_t>(1, most);
}

std::int64_t calls_in(const Code& code, const ControlFlow& flow, const CodePath& path) {
  std::int64_t calls = 0;
  const auto count = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) calls += code.instructions[i].is("CALL") ? 1 : 0;
  };
  if (!path.loop) {
    for (const std::size_t i : path.instructions) count(i, i + 1);
    return calls;
  }
  for (BlockIndex b = 0; b < flow.blocks.size(); ++b) {
    if (flow.loops[*path.loop].contains[b]) count(flow.blocks[b].begin, flow.blocks[b].end);
  }
  return calls;
}

Pass make_pass(const Code& code, const ControlFlow& flow, const CodePath& path, const KernelText& text) {
  Pass pass;
  pass.in_loop = path.loop.has_value();
  pass.instructions = path.length();
  pass.elements = elements_of(code, path, text);
  pass.calls = calls_in(code, flow, path);
  pass.in_flight = bytes_in_flight(code, path);
  for (const std::size_t at : path.instructions) {
    const Instruction& i = code.instructions[at];
    if (is_global_access(i)) ++(i.loads() ? pass.loads : pass.stores)[i.bytes()];
  }
  return pass;
}

/// The line of a text with this number, from 1, and its position.
std::pair<std::size_t, std::string_view> line_of_text(std::string_view text, int number) {
  std::size_t at = 0;
  for (int line = 1; line < number && at != text.npos; ++line) {
    at = text.find('\n', at);
    if (at != text.npos) ++at;
  }
  if (number < 1 || at == text.npos) return {text.npos, {}};
  return {at, text.substr(at, text.find('\n', at) - at)};
}

using Sites = std::set<std::pair<int, bool>>;

/// The main path of each pass: of the paths with the same sites the one that accesses most at once. A loop that only
/// stores, by lines that are on a path around loops elsewhere, is that path for the case that these have no work.
std::vector<CodePath> main_paths(const Code& code, const ControlFlow& flow, int prelude_lines) {
  HotPaths paths = hot_paths(code, flow);
  const auto is_variant = [&](const CodePath& path, const Sites& sites) {
    if (!std::ranges::all_of(sites, &Sites::value_type::second)) return false;
    return std::ranges::any_of(paths.around, [&](const CodePath& other) {
      const bool elsewhere = path.loop && other.loop && !flow.is_inside(*path.loop, *other.loop);
      return elsewhere && std::ranges::includes(sites_of(code, other, prelude_lines), sites);
    });
  };
  std::vector<Sites> known;
  std::vector<CodePath> main;
  for (CodePath& path : paths.hot) {
    Sites sites = sites_of(code, path, prelude_lines);
    if (is_variant(path, sites)) continue;
    const auto same = std::ranges::find(known, sites);
    if (same == known.end()) {
      known.push_back(std::move(sites));
      main.push_back(std::move(path));
      continue;
    }
    CodePath& other = main[static_cast<std::size_t>(same - known.begin())];
    const bool better = path.global_bytes != other.global_bytes ? path.global_bytes > other.global_bytes
                                                                : path.length() < other.length();
    if (better) other = std::move(path);
  }
  return main;
}

MachineCode figures_of(Code code, const KernelText& text) {
  MachineCode result;
  result.entry = code.name;
  result.code_bytes = static_cast<std::int64_t>(code.instructions.size()) * instruction_bytes;
  for (Instruction& i : code.instructions) {
    const std::string_view line = line_of_text(text.source, site_of(i, text.prelude_lines)).second;
    i.reports_failure = line.find("p.failure") != line.npos;
    if (is_global_access(i)) ++(i.loads() ? result.loads : result.stores)[i.bytes()];
    if (i.space() == Space::local) ++(i.loads() ? result.local_loads : result.local_stores);
  }
  const ControlFlow flow = find_control_flow(code);
  for (const CodePath& path : main_paths(code, flow, text.prelude_lines))
    result.passes.push_back(make_pass(code, flow, path, text));
  return result;
}

int bytes_of_type(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, int>, 15> types{{{"bool", 1},
                                                                    {"ct::i8", 1},
                                                                    {"ct::u8", 1},
                                                                    {"ct::i16", 2},
                                                                    {"ct::u16", 2},
                                                                    {"ct::f16", 2},
                                                                    {"ct::bf16", 2},
                                                                    {"ct::i32", 4},
                                                                    {"ct::u32", 4},
                                                                    {"float", 4},
                                                                    {"ct::i64", 8},
                                                                    {"ct::u64", 8},
                                                                    {"double", 8},
                                                                    {"ct::complex<float>", 8},
                                                                    {"ct::complex<double>", 16}}};
  const auto* at = std::ranges::find(types, type, &std::pair<std::string_view, int>::first);
  return at == types.end() ? 0 : at->second;
}

}  // namespace

int element_bytes(const KernelText& text, int line) {
  const auto [begin, words] = line_of_text(text.source, line);
  // The pointer of an operand, or that of its elements on a line.
  std::size_t digits = words.npos;
  for (const std::string_view member : {"p.p", "line.q"}) {
    const std::size_t at = words.find(member);
    if (digits == words.npos && at != words.npos) digits = at + member.size();
  }
  if (digits == words.npos) return 0;
  const std::size_t end = std::min(words.find_first_not_of("0123456789", digits), words.size());
  if (end == digits) return 0;
  // The nearest declaration before it, since a text of several kernels declares parameters for each.
  const std::string name = "* p" + std::string(words.substr(digits, end - digits)) + ";";
  const std::size_t declared = text.source.rfind(name, begin);
  if (declared == text.source.npos) return 0;
  const std::size_t line_begin = text.source.rfind('\n', declared) + 1;
  std::string_view type = text.source.substr(line_begin, declared - line_begin);
  type.remove_prefix(std::min(type.find_first_not_of(' '), type.size()));
  if (type.starts_with("const ")) type.remove_prefix(6);
  return bytes_of_type(type);
}

double MachineCode::instructions_per_element() const {
  double sum = 0;
  for (const Pass& pass : passes) sum += static_cast<double>(pass.instructions) / static_cast<double>(pass.elements);
  return sum;
}

std::int64_t MachineCode::calls_in_hot_loops() const {
  std::int64_t sum = 0;
  for (const Pass& pass : passes) sum += pass.calls;
  return sum;
}

std::int64_t MachineCode::in_flight() const {
  std::int64_t least = 0;
  for (const Pass& pass : passes) {
    if (pass.in_flight > 0) least = least == 0 ? pass.in_flight : std::min(least, pass.in_flight);
  }
  return least;
}

bool MachineCode::hot_accesses_are_wide() const {
  const auto wide = [](const Widths& widths) { return widths.empty() || widths.begin()->first >= 16; };
  return !passes.empty() &&
         std::ranges::all_of(passes, [&](const Pass& pass) { return wide(pass.loads) && wide(pass.stores); });
}

std::vector<MachineCode> read_machine_code(std::string_view listing, const KernelText& text) {
  std::vector<MachineCode> all;
  for (const SassFunction& function : parse_sass(listing)) all.push_back(figures_of(read_code(function), text));
  return all;
}

}  // namespace croton::runtime::cuda
