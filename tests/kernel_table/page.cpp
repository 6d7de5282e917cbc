#include "page.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/cuda/inspect/nvdisasm.hpp"
#include "runtime/cuda/inspect/program.hpp"
#include "runtime/cuda/libraries/nvrtc.hpp"

namespace croton::kernel_table {
namespace {

namespace cuda = runtime::cuda;

constexpr std::string_view tools_mark = "Tools: ", section_mark = "## sm_";
constexpr double kibibyte = 1024, microseconds = 1e6;

constexpr std::string_view introduction =
    R"(# The kernel table

Figures of the kernels of named graphs, at the sizes of a reference call: from their machine code, by NVRTC and nvdisasm,
and from their launches, without a GPU. They tell what limits a kernel, not how fast it is; measurements are in
[bench/results](../../bench/results). The page is written, and its bars are moved to better values, by

```
build/release/bin/croton_kernel_table --update docs/internals/kernel_table.md --tighten
```

with the versions of the tools that [requirements-nvrtc.txt](../../scripts/requirements-nvrtc.txt) and
[requirements-test.txt](../../scripts/requirements-test.txt) fix. The tests `kernel_table` (sm_90) and
`kernel_table_architectures` compare the page with the kernels, and the figures with the bars; with other tools they do
not run.

)";

constexpr std::string_view explanation =
    R"(
## How to read it

- **Hot paths.** The code of an entry is cut into blocks; loops are found from its branches. A hot path is one iteration
  of a loop that accesses global memory and has no loop inside that does, or the kernel from its entry to its end, if that
  accesses at least four times as much as its loops do: these are then the tails of a tile. Of several ways it is the one
  that accesses most, and among these the shortest: the path of full tiles, without the slow ways of divisions and denormal
  numbers. No way contradicts itself: a predicate at a branch or a guarded access, and the bounds of the numbers
  that it compares, hold for later ones ([path_facts.hpp](../../src/runtime/cuda/inspect/path_facts.hpp)), so that a thread
  which loads a full pack computes with all of it. Instructions whose guard is false count, since they take their turn;
  loops inside without accesses of global memory count once, if no shorter way avoids them.
- **Passes.** Loops whose accesses come from the same lines of the kernel's text, called from the same lines, are one pass
  over memory, of which the path with most accesses counts: the others are its remainders. Lines after the test of `is_last`
  in the text are no pass: the last block does them once, for states of parts that are in the cache.
- **Instructions an element** are those of the path, with the subroutines that it calls, divided by the elements that it
  advances: the accesses of one operand, by the parameter of which the address is computed and by the line; the passes are
  added up. Work for each row around the loops of a pass is not counted.
- **Hot accesses under 16 bytes** are the loads and stores of hot paths, without loads of one element by all threads of a
  block: its address depends neither on the thread nor on a loop ([origins.hpp](../../src/runtime/cuda/inspect/origins.hpp)).
  Such a load, as of the rate of a step by each tile of an update, does not advance with the elements, and is one from the
  cache. Among the loads of hot paths below it is listed.
- **Calls** are the calls of subroutines, which are divisions, inside hot loops, remainders included; not the slow way of
  shuffles for lanes that are apart, which whole warps do not take. A kernel
  whose hot path has no loop has none.
- **In flight**: the bytes of global loads that a thread has requested before it needs the first of them, in the pass
  with the fewest, times the threads that a multiprocessor has in this launch.
- **Stack**: bytes of local memory that each thread has, and how many of them are spilled registers' stores and loads (in
  bytes of code, by ptxas). **Local accesses**: loads and stores of local memory on hot paths, and in the whole code; the
  bar is for the stack and the whole code.
- **Occupancy** is by registers, shared memory, threads and blocks of the architecture, however small the launch is.
- **Joins**: partial results that a thread joins one after the other, or a warp 32 at a time: blocks of 1024 elements of a
  row or of a part; chunks of a thread and parts of a column; parts of a long reduction; groups of eight parts (`matrix`).
  Of a running sum, what one thread walks: the elements of a part, or all parts of a line.
- **The model** ([launch_model.hpp](../../src/runtime/cuda/inspect/launch_model.hpp)) takes for each launch the longest of
  three times: its bytes at 92 % of the rate of a copy; its instructions at the rate of the multiprocessors that have
  blocks; the accesses that a thread makes one after the other. A launch takes 1.3 microseconds more. Its constants are
  those of one measured machine ([machine_constants.hpp](../../src/codegen/machine_constants.hpp)), for all
  architectures. Bytes are those of the elements that an operand has in use, counted again for each loop that reads them
  if the rows that run at the same time do not fit in the cache. The *floor* is one launch that moves the least bytes.
  Of contractions and loops only the time for bytes is modelled.
- Products and convolutions by libraries are in no figure. The kernel of a convolution is the one without cuDNN.
- Entries that move less than a tenth of the bytes of their graph and take less than a tenth of its time have no bars;
  they are in italics.

## Compared with measurements

Before this page the figures of sm_90 were counted by hand: add 43 instructions an element, momentum 56, transposition 60,
axpy chain 162, softmax 69 and 52 KB of code. For the same kernels (commit 743ce23e) the program gives 37.8, 46.8, 61.5, 151
and 63.9, and 46.6 KiB. Those of elementwise kernels counted the loop of one element, which the compiler keeps next to one
that is unrolled by four (and, for the chain, a slow way); those of the others counted more of the work for each block.

The profiler of an H200 ([report](../../bench/results/2026-11-28-gpu-check-nvidia-h200.md)) counted these kernels as a whole,
with their work for each row or tile:

| kernel | instructions an element, measured | here | MB moved, measured | here |
|---|---|---|---|---|
| axpy chain of 1e8 | 151.0 | 151.0 | 781 | 800 |
| transposition of 8192 x 8192 | 84.4 | 61.5 | 517 | 537 |
| softmax of 4096 x 32768 | 73.0 | 63.9 | 2160 | 2147 |
| layer norm backward, rows | 108.7 | 85.6 | 1330 | 1342 |
| layer norm backward, columns | 12.8 | 10.5 | 271 | 268 |
| sum over axis 0 | 6.4 | 5.2 | 540 | 537 |

The modelled times are lower bounds, but for sums, which read faster than a copy: of the chain 453 microseconds (measured
576), of the transposition 139 (286), of that softmax 633 (932), of layer norm backward 2273 (2500), of the sum over axis 0
1926 (1910).
)";

std::string counts_table(std::span<const StepCounts> counts) {
  std::string text =
      "\n## Recorded without a bar\n\nA call after the first ones, with its arguments and results on the host, by the "
      "driver "
      "for tests:\n\n| step | launches of kernels | of graphs | products and convolutions by libraries | copies and "
      "fills | "
      "waits of the host | calls of the driver, with these |\n|---|---|---|---|---|---|---|\n";
  for (const StepCounts& step : counts) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", step.name, step.kernels, step.graphs, step.products,
                        step.copies, step.waits, step.calls);
  }
  return text + "\nThe times of NVRTC are printed by the program: they depend on the machine.\n";
}

std::string widths_text(const cuda::Widths& widths) {
  std::string text;
  for (const auto& [width, count] : widths) text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, width);
  return text.empty() ? "-" : text;
}

std::string name_of(const EntryFigures& entry) { return entry.matters ? entry.name : "*" + entry.name + "*"; }

/// A table row for each entry, the graph's name in the first one of each.
template <class Cells>
std::string rows_of(std::span<const NamedGraph> graphs, const ArchitectureFigures& all, const Cells& cells) {
  std::string text;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    bool first = true;
    for (const EntryFigures& entry : all.graphs[g].entries) {
      text += fmt::format("| {} | {} | {} |\n", first ? graphs[g].name : "", name_of(entry), cells(entry));
      first = false;
    }
  }
  return text;
}

std::string code_table(std::span<const NamedGraph> graphs, const ArchitectureFigures& all) {
  return "| graph | entry | loads of hot paths: count x bytes | stores | instructions an element | calls | in flight, "
         "KiB an SM | stack, spills | local accesses: hot, all | code, KiB | registers | static shared, bytes |\n"
         "|---|---|---|---|---|---|---|---|---|---|---|---|\n" +
         rows_of(graphs, all, [](const EntryFigures& entry) {
           const cuda::MachineCode& code = entry.code.code;
           cuda::Widths loads, stores;
           std::int64_t hot_local = 0;
           for (const cuda::Pass& pass : code.passes) {
             hot_local += pass.local;
             for (const auto& [width, count] : pass.loads) loads[width] += count;
             for (const auto& [width, count] : pass.stores) stores[width] += count;
           }
           return fmt::format("{} | {} | {:.1f} | {} | {:.1f} | {}, {} | {}, {} | {:.1f} | {} | {}", widths_text(loads),
                              widths_text(stores), code.instructions_per_element(), code.calls_in_hot_loops(),
                              static_cast<double>(entry.in_flight) / kibibyte, entry.code.facts.stack_bytes,
                              entry.code.facts.spill_store_bytes + entry.code.facts.spill_load_bytes, hot_local,
                              code.local_loads + code.local_stores, static_cast<double>(code.code_bytes) / kibibyte,
                              entry.code.facts.registers, entry.code.facts.shared_bytes);
         });
}

std::string launch_table(std::span<const NamedGraph> graphs, const ArchitectureFigures& all) {
  return "| graph | entry | launches | blocks x threads | occupancy | limited by | joins | bytes, MB | memory, us | "
         "instructions, us | chain, us | limited by |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n" +
         rows_of(graphs, all, [](const EntryFigures& entry) {
           const bool known = entry.launch.blocks > 0;
           const std::string launch = known ? fmt::format("{} x {}", entry.launch.blocks, entry.launch.threads) : "-";
           return fmt::format("{} | {} | {:.0f} % | {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {}", entry.launches,
                              launch, 100 * entry.occupancy.share, entry.occupancy.limiter, entry.serial_joins,
                              entry.bytes * 1e-6, entry.time.memory * microseconds, entry.time.issue * microseconds,
                              entry.time.chain * microseconds, entry.time.limiter());
         });
}

std::string model_table(std::span<const NamedGraph> graphs, const ArchitectureFigures& all) {
  std::string text =
      "| graph | launches | products by a library | least, MB | modelled / least | floor, us | modelled, us | share of "
      "the "
      "floor |\n|---|---|---|---|---|---|---|---|\n";
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    const GraphFigures& figures = all.graphs[g];
    const double least = graphs[g].least_bytes;
    text += fmt::format("| {} | {} | {} | ", graphs[g].name, figures.launches, figures.products);
    text += least > 0 ? fmt::format("{:.1f} | {:.2f} | {:.1f} | {:.1f} | {:.0f} % |\n", least * 1e-6,
                                    figures.bytes / least, figures.floor_seconds * microseconds,
                                    figures.seconds * microseconds, 100 * figures.floor_seconds / figures.seconds)
                      : fmt::format("- | - | - | {:.1f} | - |\n", figures.seconds * microseconds);
  }
  return text;
}

std::string graphs_table(std::span<const NamedGraph> graphs) {
  std::string text = "| graph | work | bars |\n|---|---|---|\n";
  for (const NamedGraph& graph : graphs)
    text += fmt::format("| {} | {} | {} |\n", graph.name, graph.work,
                        graph.kind == Kind::memory_bound ? "yes" : "recorded only");
  return text;
}

/// A row for each graph with bars, a column for each figure: "bar / goal", in bold where the bar has not reached the
/// goal.
std::string bars_table(std::span<const NamedGraph> graphs, std::span<const Bar> bars) {
  std::string text = "| graph |", line = "\n|---|";
  for (const Figure& figure : all_figures()) {
    text += fmt::format(" {} ({}) |", figure.title, figure.at_least ? "at least" : "at most");
    line += "---|";
  }
  text += line + "\n";
  for (const NamedGraph& graph : graphs) {
    if (graph.kind != Kind::memory_bound) continue;
    text += fmt::format("| {} |", graph.name);
    for (const Figure& figure : all_figures()) {
      const auto bar =
          std::ranges::find_if(bars, [&](const Bar& b) { return b.graph == graph.name && b.figure == figure.name; });
      if (bar == bars.end())
        text += " |";
      else if (!bar->goal)
        text += fmt::format(" {} |", bar->now);
      else if (reaches(figure, bar->now, *bar->goal))
        text += fmt::format(" {} / {} |", bar->now, *bar->goal);
      else
        text += fmt::format(" **{}** / {} |", bar->now, *bar->goal);
    }
    text += "\n";
  }
  return text;
}

/// Why bars have not reached their goals.
constexpr std::string_view misses =
    R"(
Bold values have not reached their goal, for these reasons:

- An elementwise thread has one pack of 16 bytes, so that the instructions for its index, its guard and its addresses are
  divided among 4 elements: *instructions* of momentum, which has five operands. Two packs would need 7 to 8, but were
  slower where they were measured
  ([variants](../../bench/results/2026-11-28-gpu-variants-nvidia-h200.md), 3).
- The chain of `tanh`, sigmoid and `exp` is limited by its instructions: *time*.
- The repeated matrix (tile) is read at positions that each element computes by divisions of 64 bits: *time*.
- The blocks of few long rows (softmax 4x1000000) wait for each other twice, 1.8 us each time: *time*. Their registers hold
  the rows, so that few warps are resident: *occupancy*.
- The gradients of layer normalisation are one kernel with the states of all columns in shared memory. That and its
  registers leave room for four blocks of 128 threads, on sm_80 shared memory for three: *occupancy*. Its rows are a loop
  around text without loops (16 loads of 16 bytes are under way at its head), so that *calls* counts the slow ways of
  divisions and *in flight* later loads.

`build/release/bin/croton_kernel_table --graph momentum --sass sm_90` shows the machine code of a graph by the lines of its
text.

Goals for the code of softmax are those of its threads: 12 KiB for 16 elements a thread (rows of 512), 24 KiB for 32 (rows of
1024 and of 32,768, which lanes of the tree share alike).

)";

}  // namespace

std::string tool_versions() {
  return fmt::format("{}, nvdisasm {}", cuda::Nvrtc::instance().identity(),
                     cuda::version_of_program(cuda::require_program(cuda::ToolkitPart::nvdisasm).path));
}

std::string tool_versions_of(std::string_view page) {
  const std::size_t at = page.find(tools_mark);
  if (at == page.npos) return "";
  const std::size_t begin = at + tools_mark.size();
  return std::string(page.substr(begin, page.find(".\n", begin) - begin));
}

std::string section_of(std::span<const NamedGraph> graphs, const ArchitectureFigures& figures) {
  return fmt::format(
      "## {}\n\nCode:\n\n{}\nLaunches (the largest of an entry), and their modelled times together:\n\n{}\nModelled "
      "times of calls:\n\n{}",
      figures.architecture, code_table(graphs, figures), launch_table(graphs, figures), model_table(graphs, figures));
}

std::string section_of(std::string_view page, std::string_view architecture) {
  const std::size_t at = page.find(fmt::format("## {}\n", architecture));
  if (at == page.npos) return "";
  const std::size_t end = page.find("\n## ", at);  // an empty line is before it
  return std::string(page.substr(at, end == page.npos ? end : end - at));
}

std::string head_of(std::string_view page) { return std::string(page.substr(0, page.find(section_mark))); }

std::string page_of(std::span<const NamedGraph> graphs, std::span<const ArchitectureFigures> architectures,
                    std::span<const Bar> bars, std::span<const StepCounts> counts) {
  std::string page = fmt::format(
      "{}{}{}.\n\n## Graphs\n\n{}\n## Bars\n\nThe bar, and after it the goal. A bar holds on all "
      "architectures.\n\n{}{}",
      introduction, tools_mark, tool_versions(), graphs_table(graphs), bars_table(graphs, bars),
      misses.substr(0, misses.size() - 1));
  page += explanation;
  page += counts_table(counts);
  for (const ArchitectureFigures& figures : architectures) page += "\n" + section_of(graphs, figures);
  return page;
}

}  // namespace croton::kernel_table
