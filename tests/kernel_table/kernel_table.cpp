// The kernel table (docs/internals/kernel_table.md): figures of the kernels of named graphs, by NVRTC and nvdisasm,
// without a GPU.
//
//   croton_kernel_table [--update PAGE] [--check PAGE] [--bars FILE] [--tighten] [--graph NAME] [--sass]
//                       [ARCHITECTURE ...]
//
// Without architectures it takes sm_80, sm_90 and sm_100. It prints the tables, unless it writes or checks a page.
// --update writes the page, for all graphs and the three architectures. --check compares the page's parts for the given
// architectures, and the figures with the bars of the file. --tighten moves the bars of the file to better values.
// --graph: only that graph; --sass: its machine code by the lines of its text, instead of figures. Exit status: 0
// success, 1 a fault, 2 bad arguments, 77 not run, because NVRTC or nvdisasm is missing, or has another version than
// the one for which the page was made.
#include <croton/error.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/config.hpp"
#include "base/output.hpp"
#include "page.hpp"
#include "runtime/cuda/inspect/nvdisasm.hpp"
#include "runtime/cuda/libraries/nvrtc.hpp"
#include "runtime/cuda/toolkit/toolkit.hpp"

namespace {

using namespace croton::kernel_table;
namespace cuda = croton::runtime::cuda;

constexpr int not_run = 77;
constexpr const char* usage =
    "usage: croton_kernel_table [--update PAGE] [--check PAGE] [--bars FILE] [--tighten] [--graph NAME] [--sass] "
    "[ARCHITECTURE ...]\n"
    "  --update PAGE   writes the page, for all graphs, sm_80, sm_90 and sm_100\n"
    "  --check PAGE    compares its parts for these architectures, and the figures with the bars\n"
    "  --bars FILE     other bars than tests/kernel_table/bars.txt\n"
    "  --tighten       moves the bars to better values\n"
    "  --graph NAME    only that graph of the page's first table\n"
    "  --sass          its machine code, by the lines of its text, instead of figures\n";
const std::vector<std::string> architectures_of_page{"sm_80", "sm_90", "sm_100"};

struct Options {
  std::filesystem::path update, check, bars = CROTON_SOURCE_FOLDER "/tests/kernel_table/bars.txt";
  bool tighten = false, sass = false;
  std::string graph;
  std::vector<std::string> architectures;
};

std::optional<Options> parse(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool has_value = i + 1 < words.size();
    if (word == "--tighten")
      options.tighten = true;
    else if (word == "--sass")
      options.sass = true;
    else if (word == "--update" && has_value)
      options.update = words[++i];
    else if (word == "--check" && has_value)
      options.check = words[++i];
    else if (word == "--bars" && has_value)
      options.bars = words[++i];
    else if (word == "--graph" && has_value)
      options.graph = words[++i];
    else if (word.starts_with("sm_"))
      options.architectures.push_back(word);
    else
      return std::nullopt;
  }
  const bool whole = options.graph.empty() && options.architectures.empty();
  if ((!options.update.empty() || options.tighten) && !whole) return std::nullopt;
  if (options.sass && options.graph.empty()) return std::nullopt;
  if (options.architectures.empty()) options.architectures = architectures_of_page;
  return options;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream input(file, std::ios::binary);
  if (!input) throw croton::FileError(file.string() + " cannot be read");
  return {std::istreambuf_iterator<char>(input), {}};
}

/// The first line that differs, of both texts.
std::string difference(const std::string& want, const std::string& got) {
  const auto [a, b] = std::ranges::mismatch(want, got);
  const auto line = [](const std::string& text, std::size_t at) {
    const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  const auto at = static_cast<std::size_t>(a - want.begin());
  return fmt::format("  the page: {}\n  now:      {}\n", line(want, at), line(got, std::min(at, got.size())));
}

/// The tools' versions, if they are those of the page; else it says so.
bool tools_fit(const std::string& page) {
  const std::string want = tool_versions_of(page), have = tool_versions();
  if (want == have) return true;
  fmt::print("NOT RUN: the page and the bars are for {}; here is {}\n", want, have);
  return false;
}

bool tools_found() {
  std::string why;
  if (cuda::Nvrtc::available(&why) && cuda::can_disassemble(&why)) return true;
  fmt::print("NOT RUN: {}\n", why);
  return false;
}

std::size_t check(const std::string& page, std::span<const NamedGraph> graphs, std::span<const ArchitectureFigures> all,
                  std::span<const Bar> bars, std::span<const StepCounts> counts, bool whole) {
  std::vector<std::string> faults;
  const auto compare = [&](const std::string& what, const std::string& want, const std::string& got) {
    if (want != got) faults.push_back(fmt::format("{} of the page is out of date:\n{}", what, difference(want, got)));
  };
  if (whole) compare("the head", head_of(page), head_of(page_of(graphs, all, bars, counts)));
  for (const ArchitectureFigures& figures : all) {
    if (whole) compare(figures.architecture, section_of(page, figures.architecture), section_of(graphs, figures));
    for (std::size_t g = 0; g < graphs.size(); ++g) {
      for (std::string& fault : missed_bars(graphs[g], figures.graphs[g], figures.architecture, bars))
        faults.push_back(std::move(fault));
    }
  }
  for (const std::string& fault : faults) fmt::print("{}\n", fault);
  if (!faults.empty()) {
    fmt::print(
        "If the change is wanted: build/release/bin/croton_kernel_table --update docs/internals/kernel_table.md "
        "--tighten (and lower the bars that may be missed by hand, in tests/kernel_table/bars.txt)\n");
  }
  return faults.size();
}

void print_sass(const NamedGraph& graph, const std::string& architecture) {
  for (const croton::KernelInfo& kernel : graph.function.kernels("cuda:" + architecture, {.shapes = graph.shapes}))
    fmt::print("{}, {}:\n{}\n", kernel.name, architecture, kernel.annotated_sass());
}

int run(const Options& options) {
  cuda::set_toolkit(croton::base::config());
  if (!tools_found()) return not_run;
  const std::string page = options.check.empty() ? "" : read_text(options.check);
  if (!options.check.empty() && !tools_fit(page)) return not_run;
  std::vector<NamedGraph> graphs = all_graphs();
  if (!options.graph.empty()) {
    std::erase_if(graphs, [&](const NamedGraph& graph) { return graph.name != options.graph; });
    if (graphs.empty()) {
      fmt::print("there is no graph '{}'; there are:\n", options.graph);
      for (const NamedGraph& graph : all_graphs()) fmt::print("  {}\n", graph.name);
      return 2;
    }
  }
  if (options.sass) {
    for (const std::string& architecture : options.architectures) print_sass(graphs.front(), architecture);
    return 0;
  }
  Compiler compiler;
  std::vector<ArchitectureFigures> all;
  for (const std::string& architecture : options.architectures) {
    ArchitectureFigures figures{architecture, {}};
    for (const NamedGraph& graph : graphs) figures.graphs.push_back(figures_of(graph, architecture, compiler));
    all.push_back(std::move(figures));
  }
  std::vector<Bar> bars = read_bars(options.bars);
  if (options.tighten) {
    for (std::size_t g = 0; g < graphs.size(); ++g) {
      std::vector<GraphFigures> of_graph;
      for (const ArchitectureFigures& figures : all) of_graph.push_back(figures.graphs[g]);
      tighten(graphs[g], of_graph, bars);
    }
    write_bars(options.bars, bars);
  }
  const bool whole_page = options.graph.empty() && (!options.update.empty() || !options.check.empty());
  const std::vector<StepCounts> counts = whole_page ? count_steps(CROTON_FAKE_CUDA_FOLDER) : std::vector<StepCounts>();
  cuda::set_toolkit(croton::base::config());  // the calls of steps used the libraries for tests
  if (!options.update.empty()) {
    const std::string text = page_of(graphs, all, bars, counts);
    croton::base::write_file(options.update, std::as_bytes(std::span(text)));
  } else if (options.check.empty()) {
    for (const ArchitectureFigures& figures : all) fmt::print("{}", section_of(graphs, figures));
  }
  compiler.print_times();
  return options.check.empty() || check(page, graphs, all, bars, counts, options.graph.empty()) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto options = parse({argv + 1, argv + argc});
    if (!options) {
      fmt::print(stderr, "{}", usage);
      return 2;
    }
    return run(*options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
