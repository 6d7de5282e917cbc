#include "runtime/cuda/inspect/machine_code.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "runtime/cuda/inspect/origins.hpp"

namespace croton::runtime::cuda {
namespace {

constexpr std::int64_t instruction_bytes = 16;

/// The line of the kernel's own text that an instruction works for; else the innermost line of the prelude, negated.
int site_of(const Instruction& instruction, int prelude_lines) {
  const auto own = std::ranges::find_if(instruction.lines, [&](int line) { return line > prelude_lines; });
  if (own != instruction.lines.end()) return *own - prelude_lines;
  return instruction.lines.empty() ? 0 : -instruction.lines.front();
}

/// The lines of the kernel's own text for which an instruction works, from the innermost one to that of the entry: two
/// passes can read by one line, for two reductions; and whether it stores.
using Site = std::pair<std::vector<int>, bool>;
using Sites = std::set<Site>;

/// The sites of the global accesses of a path.
Sites sites_of(const Code& code, const CodePath& path, int prelude_lines) {
  Sites sites;
  for (const std::size_t at : path.accesses) {
    const Instruction& i = code.instructions[at];
    std::vector<int> lines;
    std::ranges::copy_if(i.lines, std::back_inserter(lines), [&](int line) { return line > prelude_lines; });
    if (lines.empty()) lines.push_back(site_of(i, prelude_lines));
    sites.emplace(std::move(lines), i.stores());
  }
  return sites;
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

/// The type that a declaration of a pointer ("  const float* p3;") points to.
std::string_view pointed_type(std::string_view text, std::size_t star) {
  const std::size_t begin = text.rfind('\n', star) + 1;
  std::string_view type = text.substr(begin, star - begin);
  type.remove_prefix(std::min(type.find_first_not_of(' '), type.size()));
  if (type.starts_with("const ")) type.remove_prefix(6);
  return type;
}

/// The bytes of an element of a parameter; 0 if it is no pointer. The parameters of a text with one kernel are members
/// of its first structure, whose pointers come first.
int element_of_parameter(const KernelText& text, int parameter) {
  std::size_t at = text.source.find("struct Params {\n");
  for (int number = 0; at != text.source.npos && number <= parameter; ++number) {
    at = text.source.find('\n', at) + 1;
    const std::string_view line = text.source.substr(at, text.source.find('\n', at) - at);
    const std::size_t star = line.find("* p");
    if (star == line.npos) return 0;
    if (number == parameter) return bytes_of_type(pointed_type(text.source, at + star));
  }
  return 0;
}

/// The elements that a path advances: those of the accesses of each group, the most of all groups.
template <class GroupOf>
std::int64_t most_elements(const Code& code, const CodePath& path, const std::vector<Address>& addresses,
                           const KernelText& text, const GroupOf& group_of) {
  struct Accesses {
    std::int64_t bytes = 0;
    int narrowest = 0, element = 0;
  };
  std::map<std::pair<int, bool>, Accesses> groups;
  for (const std::size_t at : path.accesses) {
    const Instruction& i = code.instructions[at];
    const int site = site_of(i, text.prelude_lines);
    Accesses& accesses = groups[{group_of(site, addresses[at].parameter), i.stores()}];
    accesses.bytes += i.bytes();
    accesses.narrowest = accesses.narrowest == 0 ? i.bytes() : std::min(accesses.narrowest, i.bytes());
    if (accesses.element == 0) accesses.element = element_of_parameter(text, addresses[at].parameter);
    if (accesses.element == 0) accesses.element = element_bytes(text, site);
  }
  std::int64_t most = 1;
  for (const auto& [group, accesses] : groups)
    most = std::max(most, accesses.bytes / (accesses.element > 0 ? accesses.element : accesses.narrowest));
  return most;
}

/// The elements that a path advances. The compiler gives accesses of several operands one line, and one parameter can
/// be accessed for several purposes, which have lines of their own; the smaller number is right.
std::int64_t elements_of(const Code& code, const CodePath& path, const std::vector<Address>& addresses,
                         const KernelText& text) {
  constexpr int unknown = 1 << 30;
  return std::min(most_elements(code, path, addresses, text, [](int site, int) { return site; }),
                  most_elements(code, path, addresses, text,
                                [](int site, int parameter) { return parameter >= 0 ? unknown + parameter : site; }));
}

/// Whether the compiler has a subroutine for what an instruction does, such as a division. No such call: a jump to a
/// label, and the way of shuffles and votes for lanes that are apart, which whole warps do not take.
bool calls_subroutine(const Instruction& i) {
  return i.is("CALL") && i.target.starts_with('$') && i.target.find("sync_") == std::string::npos;
}

/// The calls in the loop of a path; a kernel without loops calls each of its subroutines once at most.
std::int64_t calls_in(const Code& code, const ControlFlow& flow, const CodePath& path) {
  std::int64_t calls = 0;
  for (BlockIndex b = 0; b < flow.blocks.size() && path.loop; ++b) {
    if (!flow.loops[*path.loop].contains[b]) continue;
    for (std::size_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i)
      calls += calls_subroutine(code.instructions[i]) ? 1 : 0;
  }
  return calls;
}

Pass make_pass(const Code& code, const ControlFlow& flow, const CodePath& path, const std::vector<Address>& addresses,
               const KernelText& text) {
  Pass pass;
  pass.in_loop = path.loop.has_value();
  pass.instructions = path.length();
  pass.elements = elements_of(code, path, addresses, text);
  pass.calls = calls_in(code, flow, path);
  pass.in_flight = bytes_in_flight(code, path);
  for (const std::size_t at : path.accesses) {
    const Instruction& i = code.instructions[at];
    ++(i.loads() ? pass.loads : pass.stores)[i.bytes()];
    if (i.loads() && !addresses[at].of_thread) ++pass.scalars[i.bytes()];
  }
  for (const std::size_t at : path.instructions) pass.local += code.instructions[at].space() == Space::local ? 1 : 0;
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

/// The main path of each pass: of the paths with the same sites (or some of them, as the compiler drops lines) the one
/// that accesses most at once. A loop that only stores, by lines that are on a path around loops elsewhere, is that
/// path for the case that these have no work.
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
    const auto same = std::ranges::find_if(
        known, [&](const Sites& k) { return std::ranges::includes(k, sites) || std::ranges::includes(sites, k); });
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

/// Per line of a kernel's text, from 1, whether it is for exceptions: the report of a failed check, or what the last
/// block does for all, which comes after its test of `is_last` in a function, or what parts of rows that meet do with
/// their states: their elements are loaded by lines of their own.
std::vector<bool> exceptional_lines(std::string_view source) {
  const bool meets = source.find("ct::row_meetings(") != source.npos;
  std::vector<bool> exceptional(1, false);
  std::size_t indentation = source.npos;  // of the test; none: not after one
  while (!source.empty()) {
    const std::string_view line = source.substr(0, source.find('\n'));
    source.remove_prefix(std::min(line.size() + 1, source.size()));
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    if (indentation != line.npos && !line.empty() && begin < indentation) indentation = line.npos;
    const bool joins = meets && line.find(".template reduce<") != line.npos;
    exceptional.push_back(indentation != line.npos || joins || line.find("p.failure") != line.npos);
    if (line.find(".is_last(") != line.npos) indentation = begin;
  }
  return exceptional;
}

MachineCode figures_of(Code code, const KernelText& text) {
  MachineCode result;
  result.entry = code.name;
  result.code_bytes = static_cast<std::int64_t>(code.instructions.size()) * instruction_bytes;
  const std::vector<bool> exceptional = exceptional_lines(text.source);
  for (Instruction& i : code.instructions) {
    const int site = site_of(i, text.prelude_lines);
    i.is_exceptional =
        site > 0 && static_cast<std::size_t>(site) < exceptional.size() && exceptional[static_cast<std::size_t>(site)];
    if (i.counts_as_access()) ++(i.loads() ? result.loads : result.stores)[i.bytes()];
    if (i.space() == Space::local) ++(i.loads() ? result.local_loads : result.local_stores);
  }
  const ControlFlow flow = find_control_flow(code);
  const std::vector<Address> addresses = find_addresses(code, flow);
  for (const CodePath& path : main_paths(code, flow, text.prelude_lines))
    result.passes.push_back(make_pass(code, flow, path, addresses, text));
  return result;
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
  return bytes_of_type(pointed_type(text.source, declared));
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

std::int64_t MachineCode::narrow_accesses() const {
  constexpr int wide = 16;
  const auto narrow = [](const Widths& widths) {
    std::int64_t sum = 0;
    for (const auto& [width, accesses] : widths) sum += width < wide ? accesses : 0;
    return sum;
  };
  std::int64_t sum = 0;
  for (const Pass& pass : passes) sum += narrow(pass.loads) + narrow(pass.stores) - narrow(pass.scalars);
  return sum;
}

bool MachineCode::hot_accesses_are_wide() const { return !passes.empty() && narrow_accesses() == 0; }

std::vector<MachineCode> read_machine_code(std::string_view listing, const KernelText& text) {
  std::vector<MachineCode> all;
  for (const SassFunction& function : parse_sass(listing)) all.push_back(figures_of(read_code(function), text));
  return all;
}

}  // namespace croton::runtime::cuda
