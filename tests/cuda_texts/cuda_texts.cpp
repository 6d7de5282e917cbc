// Compiles the CUDA text of every kernel that the tests have made (the flag dump_kernels) with NVRTC, which needs no
// GPU.
//
//   croton_cuda_texts FOLDER [--least N] [--quick] [--covering] [--every N] [ARCHITECTURE ...]
//
// Each kernel has unique names, so that many of them are one program after one prelude. --least: fewer texts are a
// failure, so that the test cannot pass without compiling. --quick: with little optimisation, in a fifth of the time.
// --covering: only texts that use a function, type or form that no earlier text uses; with --every N also every Nth of
// the others. Without --quick a table of facts is printed: registers, stacks and spills by family. (The page with
// figures of kernels is that of tests/kernel_table.) Exit status: 0 all compile, 1 something does not, 2 bad arguments,
// 77 not run, because there is no NVRTC.
#include <croton/error.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/config.hpp"
#include "codegen/emit.hpp"
#include "runtime/cuda/inspect/facts.hpp"
#include "runtime/cuda/libraries/nvrtc.hpp"
#include "runtime/cuda/toolkit/toolkit.hpp"

namespace {

using croton::runtime::cuda::Nvrtc;

constexpr int not_run = 77;
constexpr std::size_t kernels_a_program = 40;

struct Text {
  std::string name, code;  // without the prelude
};

struct Options {
  std::filesystem::path folder;
  std::size_t least = 1;
  std::size_t every = 0;  // 0: no others
  bool covering = false, quick = false;
  std::vector<std::string> architectures;
};

/// Facts that the compiler reports about the kernels of one family.
struct FamilyFacts {
  std::size_t kernels = 0, stacks = 0, spills = 0;
  croton::KernelFacts most_registers, largest_stack, most_spilled;
};
using Facts = std::map<std::string, FamilyFacts>;

/// Moves the facts from a log to a table; returns the warnings.
std::string take_facts(const std::string& log, Facts& to) {
  for (const croton::KernelFacts& facts : croton::runtime::cuda::parse_log(log)) {
    FamilyFacts& family =
        to[facts.entry.ends_with("_finish") ? "split, second launch" : facts.entry.substr(0, facts.entry.find('_'))];
    const auto spilled = [](const croton::KernelFacts& f) { return f.spill_store_bytes + f.spill_load_bytes; };
    ++family.kernels;
    if (facts.stack_bytes > 0) ++family.stacks;
    if (spilled(facts) > 0) ++family.spills;
    if (facts.registers > family.most_registers.registers) family.most_registers = facts;
    if (facts.stack_bytes > family.largest_stack.stack_bytes) family.largest_stack = facts;
    if (spilled(facts) > spilled(family.most_spilled)) family.most_spilled = facts;
  }
  std::string rest;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = std::min(log.find('\n', at), log.size());
    const std::string line = log.substr(at, end - at);
    const bool fact = line.empty() || line.starts_with("ptxas info") || line.starts_with("ptxas   ") ||
                      line.find(" bytes stack frame") != std::string::npos;
    if (!fact) rest += line + "\n";
    at = end + 1;
  }
  return rest;
}

std::string facts_table(const std::map<std::string, Facts>& by_architecture) {
  std::string table =
      "| Architecture | Family | Entries | Most registers | With a stack | Largest stack, bytes | That spill | Most "
      "spilled, bytes |\n|---|---|---|---|---|---|---|---|\n";
  for (const auto& [architecture, facts] : by_architecture) {
    for (const auto& [family, f] : facts) {
      const auto named = [](std::int64_t number, const croton::KernelFacts& of) {
        return number == 0 ? std::string("0") : fmt::format("{} ({})", number, of.entry);
      };
      table += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", architecture, family, f.kernels,
                           named(f.most_registers.registers, f.most_registers), f.stacks,
                           named(f.largest_stack.stack_bytes, f.largest_stack), f.spills,
                           named(f.most_spilled.spill_store_bytes + f.most_spilled.spill_load_bytes, f.most_spilled));
    }
  }
  return table;
}

/// All texts of the folder, by name.
std::vector<Text> read_texts(const std::filesystem::path& folder) {
  const std::string prelude = croton::codegen::prelude(croton::codegen::Target::cuda);
  std::vector<Text> texts;
  if (!std::filesystem::is_directory(folder)) return texts;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".cu" || entry.path().stem().string().ends_with("_main")) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string unit(std::istreambuf_iterator<char>(file), {});
    if (!unit.starts_with(prelude)) {
      throw croton::FileError(entry.path().string() +
                              " was written by another build: it does not start with this build's prelude");
    }
    texts.push_back({entry.path().stem().string(), unit.substr(prelude.size())});
  }
  std::ranges::sort(texts, {}, &Text::name);
  return texts;
}

/// The first line in which integers that are values are added, subtracted, multiplied, shifted or negated by C++'s own
/// operators, whose overflow is undefined; kernels must use functions that wrap. Indices have the type ct::index.
std::string overflowing_line(const Text& text) {
  std::istringstream lines(text.code);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start == line.npos || !line.substr(start).starts_with("const ct::")) continue;
    const std::string type = line.substr(start + 10, line.find(' ', start + 6) - start - 10);
    if (type.size() < 2 || (type[0] != 'i' && type[0] != 'u') || !std::isdigit(static_cast<unsigned char>(type[1])))
      continue;
    std::string value;
    int depth = 0;  // of brackets, between which are indices
    for (const char c : line.substr(line.find('=') + 1, line.find(';') - line.find('=') - 1)) {
      depth += c == '[' ? 1 : c == ']' ? -1 : 0;
      if (depth == 0) value += c;
    }
    for (const std::string_view sign : {" + ", " - ", " * ", " << ", " -v", "(-v"}) {
      if (value.find(sign) != value.npos) return line.substr(start);
    }
  }
  return "";
}

/// The features of C++ that a text uses: names of `ct` functions with their template arguments, words, and its family.
std::set<std::string> features(const Text& text) {
  std::set<std::string> found{text.name.substr(0, text.name.find('_'))};
  const std::string_view code = text.code;
  for (std::size_t at = code.find("ct::"); at != code.npos; at = code.find("ct::", at + 1)) {
    std::size_t end = at + 4;
    const auto is_part = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':' || c == '<' || c == '>';
    };
    while (end < code.size() && is_part(code[end])) ++end;
    std::string name(code.substr(at, end - at));
    if (!name.ends_with("_text")) found.insert(std::move(name));
  }
  for (const std::string_view word : {" % ", " ? ", " / ", "double", "float", "bool", " & ", " ^ ", " | "}) {
    if (code.find(word) != code.npos) found.emplace(word);
  }
  return found;
}

std::vector<Text> covering(const std::vector<Text>& all, std::size_t every) {
  std::set<std::string> seen;
  std::vector<Text> chosen;
  std::size_t others = 0;
  for (const Text& text : all) {
    const std::size_t before = seen.size();
    seen.merge(features(text));
    if (seen.size() > before || (every > 0 && ++others % every == 0)) chosen.push_back(text);
  }
  return chosen;
}

/// The option that disables NVRTC's most expensive optimisations; empty if this NVRTC does not have it.
std::vector<std::string> quick_options(const std::string& architecture) {
  std::vector<std::string> quick{"--Ofast-compile=min"};
  try {
    Nvrtc::instance().compile("__global__ void nothing() {}", architecture, quick, false);
    return quick;
  } catch (const croton::InternalError&) {
    return {};
  }
}

/// Compiles all texts for one architecture, one program after another because NVRTC has one lock for all of it; returns
/// the faults.
std::vector<std::string> compile_all(const std::vector<Text>& texts, const std::string& architecture,
                                     const std::vector<std::string>& options, Facts& facts) {
  const std::string prelude = croton::codegen::prelude(croton::codegen::Target::cuda);
  std::vector<std::string> faults;
  const auto fault_of = [&](const std::string& code, bool together) -> std::string {
    try {
      const Nvrtc::Result result = Nvrtc::instance().compile(prelude + code, architecture, options, false);
      Facts ignored;  // of texts that are compiled a second time, alone
      const std::string warnings = take_facts(result.log, together ? facts : ignored);
      return result.cubin.empty() ? "NVRTC gave no cubin" : warnings;  // warnings are faults
    } catch (const std::exception& e) {
      return e.what();
    }
  };
  for (std::size_t first = 0; first < texts.size(); first += kernels_a_program) {
    const std::size_t last = std::min(texts.size(), first + kernels_a_program), before = faults.size();
    std::string code;
    for (std::size_t i = first; i < last; ++i) code += texts[i].code + "\n";
    const std::string together = fault_of(code, true);
    if (together.empty()) continue;
    for (std::size_t i = first; i < last; ++i) {
      const std::string alone = fault_of(texts[i].code, false);
      if (!alone.empty()) faults.push_back(texts[i].name + ": " + alone);
    }
    if (faults.size() == before) {
      faults.push_back(fmt::format("{} to {} compile alone, but not together: {}", texts[first].name,
                                   texts[last - 1].name, together));
    }
  }
  return faults;
}

int run(const Options& options) {
  croton::runtime::cuda::set_toolkit(croton::base::config());
  std::string why;
  if (!Nvrtc::available(&why)) {
    fmt::print("NOT RUN: no CUDA text was compiled, as there is no NVRTC.\n{}\n", why);
    return not_run;
  }
  const Nvrtc& nvrtc = Nvrtc::instance();
  const std::vector<Text> all = read_texts(options.folder);
  if (all.size() < options.least) {
    fmt::print("{} CUDA texts in {}, where at least {} are expected: do the tests run with dump_kernels?\n", all.size(),
               options.folder.string(), options.least);
    return 1;
  }
  std::map<std::string, std::size_t> families;
  for (const Text& text : all) ++families[text.name.substr(0, text.name.find('_'))];
  fmt::print("{} distinct CUDA texts: {}\n", all.size(), fmt::join(families, ", "));
  std::size_t overflowing = 0;
  for (const Text& text : all) {
    const std::string line = overflowing_line(text);
    if (line.empty()) continue;
    fmt::print("{}: integers that are not wrapped: {}\n", text.name, line);
    ++overflowing;
  }
  if (overflowing > 0) return 1;
  const std::vector<Text> texts = options.covering ? covering(all, options.every) : all;
  const std::vector<std::string> known = nvrtc.architectures();
  int status = 0;
  std::map<std::string, Facts> facts;
  for (const std::string& architecture : options.architectures) {
    if (std::ranges::find(known, architecture) == known.end()) {
      fmt::print("{}: NOT RUN: NVRTC {}.{} does not know it\n", architecture, nvrtc.version().first,
                 nvrtc.version().second);
      continue;
    }
    const auto start = std::chrono::steady_clock::now();
    const std::vector<std::string> extra =
        options.quick ? quick_options(architecture) : std::vector<std::string>{"--ptxas-options=--verbose"};
    Facts& found = facts[architecture];
    const std::vector<std::string> faults = compile_all(texts, architecture, extra, found);
    if (options.quick) found.clear();  // they describe code without most optimisation
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    fmt::print("{}: {} texts by NVRTC {}.{}{} in {:.1f} s, {} at fault\n", architecture, texts.size(),
               nvrtc.version().first, nvrtc.version().second, options.quick && !extra.empty() ? " " + extra[0] : "",
               seconds, faults.size());
    std::fflush(stdout);
    for (const std::string& fault : faults) fmt::print("\n{}\n", fault);
    if (!faults.empty()) status = 1;
  }
  if (options.quick) return status;
  fmt::print("\n{}", facts_table(facts));
  return status;
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--covering") {
      options.covering = true;
    } else if (word == "--quick") {
      options.quick = true;
    } else if ((word == "--least" || word == "--every") && i + 1 < words.size()) {
      const std::string& number = words[++i];
      std::from_chars(number.data(), number.data() + number.size(), word == "--least" ? options.least : options.every);
    } else if (word.starts_with("sm_")) {
      options.architectures.push_back(word);
    } else if (options.folder.empty() && !word.starts_with("-")) {
      options.folder = word;
    } else {
      options.folder.clear();
      break;
    }
  }
  if (options.folder.empty()) {
    fmt::print(stderr,
               "usage: croton_cuda_texts FOLDER [--least N] [--quick] [--covering] [--every N] [ARCHITECTURE ...]\n");
    return 2;
  }
  if (options.architectures.empty()) options.architectures = {"sm_90"};
  return run(options);
} catch (const std::exception& e) {
  fmt::print("{}\n", e.what());
  return 1;
}
