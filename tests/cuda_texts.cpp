// Compiles the CUDA text of every kernel that the tests have made (the flag dump_kernels) with NVRTC, which needs no
// GPU.
//
//   croton_cuda_texts FOLDER [--least N] [--quick] [--covering] [ARCHITECTURE ...]
//
// Each kernel has names of its own, so that many of them stand behind one prelude as one program. --least: fewer texts
// are a failure, so that nothing passes by compiling nothing. --quick: with little optimisation, in a fifth of the
// time. --covering: only texts that use a function, type or form that none before them uses. Exit status: 0 all
// compile, 1 something does not, 2 bad arguments, 77 not run, as there is no NVRTC.
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
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/config.hpp"
#include "codegen/emit.hpp"
#include "runtime/cuda/nvrtc.hpp"
#include "runtime/cuda/toolkit.hpp"

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
  bool covering = false, quick = false;
  std::vector<std::string> architectures;
};

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

/// What a text asks of a compiler: the names of our functions with what stands between < and >, words, and its family.
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

std::vector<Text> covering(const std::vector<Text>& all) {
  std::set<std::string> seen;
  std::vector<Text> chosen;
  for (const Text& text : all) {
    const std::size_t before = seen.size();
    seen.merge(features(text));
    if (seen.size() > before) chosen.push_back(text);
  }
  return chosen;
}

/// The option by which NVRTC leaves out optimisation that costs most of the time, as far as this one knows it.
std::vector<std::string> quick_options(const std::string& architecture) {
  std::vector<std::string> quick{"--Ofast-compile=min"};
  try {
    Nvrtc::instance().compile("__global__ void nothing() {}", architecture, quick, false);
    return quick;
  } catch (const croton::InternalError&) {
    return {};
  }
}

/// Compiles everything for one architecture, one program after another as NVRTC has one lock for all of it; gives the
/// faults.
std::vector<std::string> compile_all(const std::vector<Text>& texts, const std::string& architecture,
                                     const std::vector<std::string>& options) {
  const std::string prelude = croton::codegen::prelude(croton::codegen::Target::cuda);
  std::vector<std::string> faults;
  const auto fault_of = [&](const std::string& code) -> std::string {
    try {
      const Nvrtc::Result result = Nvrtc::instance().compile(prelude + code, architecture, options, false);
      return result.cubin.empty() ? "NVRTC gave no cubin" : result.log;  // warnings count
    } catch (const std::exception& e) {
      return e.what();
    }
  };
  for (std::size_t first = 0; first < texts.size(); first += kernels_a_program) {
    const std::size_t last = std::min(texts.size(), first + kernels_a_program), before = faults.size();
    std::string code;
    for (std::size_t i = first; i < last; ++i) code += texts[i].code + "\n";
    const std::string together = fault_of(code);
    if (together.empty()) continue;
    for (std::size_t i = first; i < last; ++i) {
      const std::string alone = fault_of(texts[i].code);
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
  croton::runtime::cuda::set_cuda_root(croton::base::config().cuda_root);
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
  const std::vector<Text> texts = options.covering ? covering(all) : all;
  const std::vector<std::string> known = nvrtc.architectures();
  int status = 0;
  for (const std::string& architecture : options.architectures) {
    if (std::ranges::find(known, architecture) == known.end()) {
      fmt::print("{}: NOT RUN: NVRTC {}.{} does not know it\n", architecture, nvrtc.version().first,
                 nvrtc.version().second);
      continue;
    }
    const auto start = std::chrono::steady_clock::now();
    const std::vector<std::string> extra = options.quick ? quick_options(architecture) : std::vector<std::string>{};
    const std::vector<std::string> faults = compile_all(texts, architecture, extra);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    fmt::print("{}: {} texts by NVRTC {}.{}{} in {:.1f} s, {} at fault\n", architecture, texts.size(),
               nvrtc.version().first, nvrtc.version().second, extra.empty() ? "" : " " + extra[0], seconds,
               faults.size());
    std::fflush(stdout);
    for (const std::string& fault : faults) fmt::print("\n{}\n", fault);
    if (!faults.empty()) status = 1;
  }
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
    } else if (word == "--least" && i + 1 < words.size()) {
      const std::string& number = words[++i];
      std::from_chars(number.data(), number.data() + number.size(), options.least);
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
    fmt::print(stderr, "usage: croton_cuda_texts FOLDER [--least N] [--quick] [--covering] [ARCHITECTURE ...]\n");
    return 2;
  }
  if (options.architectures.empty()) options.architectures = {"sm_90"};
  return run(options);
} catch (const std::exception& e) {
  fmt::print("{}\n", e.what());
  return 1;
}
