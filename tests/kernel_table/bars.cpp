#include "bars.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "base/output.hpp"

namespace croton::kernel_table {
namespace {

constexpr double kibibyte = 1024, percent = 100;

bool is_finish(const EntryFigures& entry) { return entry.name.ends_with("finish"); }

/// The largest value of the entries that matter; nothing if there are none.
template <class Value>
std::optional<double> largest(const GraphFigures& figures, const Value& value) {
  std::optional<double> most;
  for (const EntryFigures& entry : figures.entries) {
    if (entry.matters) most = std::max(most.value_or(value(entry)), value(entry));
  }
  return most;
}
/// The smallest one of main entries.
template <class Value>
std::optional<double> smallest(const GraphFigures& figures, const Value& value) {
  std::optional<double> least;
  for (const EntryFigures& entry : figures.entries) {
    if (entry.matters && !is_finish(entry)) least = std::min(least.value_or(value(entry)), value(entry));
  }
  return least;
}

double number(std::int64_t value) { return static_cast<double>(value); }

constexpr std::array<Figure, 11> figures_of_table{{
    {"instructions", "instructions an element", false,
     [](const NamedGraph&, const GraphFigures& f) {
       return largest(
           f, [](const EntryFigures& e) { return is_finish(e) ? 0.0 : e.code.code.instructions_per_element(); });
     }},
    {"narrow", "hot accesses under 16 bytes", false,
     [](const NamedGraph&, const GraphFigures& f) {
       return largest(f,
                      [](const EntryFigures& e) { return is_finish(e) ? 0.0 : number(e.code.code.narrow_accesses()); });
     }},
    {"calls", "calls in hot loops", false,
     [](const NamedGraph&, const GraphFigures& f) {
       return largest(f, [](const EntryFigures& e) { return number(e.code.code.calls_in_hot_loops()); });
     }},
    {"in flight", "KiB in flight an SM", true,
     [](const NamedGraph&, const GraphFigures& f) {
       return smallest(f, [](const EntryFigures& e) { return number(e.in_flight) / kibibyte; });
     }},
    {"local", "stack bytes, and accesses of local memory", false,
     [](const NamedGraph&, const GraphFigures& f) {
       return largest(f, [](const EntryFigures& e) {
         const runtime::cuda::EntryCode& c = e.code;
         return number(c.facts.stack_bytes + c.code.local_loads + c.code.local_stores);
       });
     }},
    {"code", "KiB of code", false,
     [](const NamedGraph&, const GraphFigures& f) {
       return largest(f, [](const EntryFigures& e) { return number(e.code.code.code_bytes) / kibibyte; });
     }},
    {"occupancy", "occupancy, %", true,
     [](const NamedGraph&, const GraphFigures& f) {
       return smallest(f, [](const EntryFigures& e) { return percent * e.occupancy.share; });
     }},
    {"blocks", "blocks", true,
     [](const NamedGraph&, const GraphFigures& f) {
       return smallest(f, [](const EntryFigures& e) { return number(e.launch.blocks); });
     }},
    {"joins", "joins in a row", false,
     [](const NamedGraph&, const GraphFigures& f) -> std::optional<double> {
       const auto most = largest(f, [](const EntryFigures& e) { return number(e.serial_joins); });
       return most.value_or(0) > 0 ? most : std::nullopt;
     }},
    {"bytes", "bytes / least", false,
     [](const NamedGraph& g, const GraphFigures& f) -> std::optional<double> {
       if (g.least_bytes == 0) return std::nullopt;
       return f.bytes / g.least_bytes;
     }},
    {"time", "time / floor", false,
     [](const NamedGraph&, const GraphFigures& f) -> std::optional<double> {
       if (f.floor_seconds == 0) return std::nullopt;
       return f.seconds / f.floor_seconds;
     }},
}};

/// A value as a bar, rounded to the worse side, so that the value itself reaches it.
double rounded(const Figure& figure, double value) {
  constexpr double hundred = 100, slack = 1e-9;
  const double whole = figure.at_least ? std::floor(value * hundred + slack) : std::ceil(value * hundred - slack);
  return (whole + 0.0) / hundred;  // 0 instead of -0
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == text.npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

std::optional<double> parse_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

const Bar* find_bar(std::span<const Bar> bars, const std::string& graph, std::string_view figure) {
  const auto at =
      std::ranges::find_if(bars, [&](const Bar& bar) { return bar.graph == graph && bar.figure == figure; });
  return at == bars.end() ? nullptr : &*at;
}

}  // namespace

std::span<const Figure> all_figures() { return figures_of_table; }

bool reaches(const Figure& figure, double value, double limit) {
  constexpr double slack = 1e-9;
  return figure.at_least ? value >= limit - slack : value <= limit + slack;
}

std::vector<Bar> read_bars(const std::filesystem::path& file) {
  std::ifstream input(file);
  if (!input) throw FileError(file.string() + " cannot be read");
  std::vector<Bar> bars;
  int number = 0;
  for (std::string line; std::getline(input, line);) {
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    std::vector<std::string> parts(1);
    for (const char c : line) {
      if (c == '|')
        parts.emplace_back();
      else
        parts.back() += c;
    }
    for (std::string& part : parts) part = trimmed(part);
    const bool known =
        parts.size() == 4 && std::ranges::find(figures_of_table, parts[1], &Figure::name) != figures_of_table.end();
    const auto now = known ? parse_number(parts[2]) : std::nullopt;
    const auto goal = known ? parse_number(parts[3]) : std::nullopt;
    if (!now || (!goal && parts[3] != "-")) {
      throw FileError(fmt::format("{}:{}: '{}' is no bar; write 'graph | figure | now | goal', with '-' for no goal",
                                  file.string(), number, line));
    }
    bars.push_back({parts[0], parts[1], *now, goal});
  }
  return bars;
}

void write_bars(const std::filesystem::path& file, std::span<const Bar> bars) {
  std::string text =
      "# The bars of the kernel table: graph | figure | bar now, on every architecture | goal (- none). The figures "
      "are in\n"
      "# bars.cpp. croton_kernel_table --tighten moves the bars to better values; goals are written by hand.\n";
  for (const Bar& bar : bars) {
    if (&bar == bars.data() || bar.graph != (&bar - 1)->graph) text += "\n";
    text += fmt::format("{} | {} | {} | {}\n", bar.graph, bar.figure, bar.now,
                        bar.goal ? fmt::format("{}", *bar.goal) : "-");
  }
  base::write_file(file, std::as_bytes(std::span(text)));
}

std::vector<std::string> missed_bars(const NamedGraph& graph, const GraphFigures& figures,
                                     const std::string& architecture, std::span<const Bar> bars) {
  std::vector<std::string> faults;
  if (graph.kind != Kind::memory_bound) return faults;
  for (const Figure& figure : figures_of_table) {
    const auto value = figure.value(graph, figures);
    if (!value) continue;
    const Bar* bar = find_bar(bars, graph.name, figure.name);
    if (bar == nullptr) {
      faults.push_back(fmt::format("{} has no bar for '{}', which is {:.2f}", graph.name, figure.name, *value));
    } else if (!reaches(figure, *value, bar->now)) {
      faults.push_back(fmt::format("{} on {}: {} is {:.2f}; it must be at {} {}", graph.name, architecture,
                                   figure.title, *value, figure.at_least ? "least" : "most", bar->now));
    }
  }
  return faults;
}

void tighten(const NamedGraph& graph, std::span<const GraphFigures> architectures, std::vector<Bar>& bars) {
  if (graph.kind != Kind::memory_bound) return;
  for (const Figure& figure : figures_of_table) {
    std::optional<double> worst;
    for (const GraphFigures& figures : architectures) {
      const auto value = figure.value(graph, figures);
      if (value && (!worst || reaches(figure, *worst, *value))) worst = value;
    }
    if (!worst) continue;
    const double now = rounded(figure, *worst);
    const Bar* known = find_bar(bars, graph.name, figure.name);
    if (known == nullptr) {
      const auto after = std::ranges::find(bars.rbegin(), bars.rend(), graph.name, &Bar::graph).base();
      bars.insert(after == bars.begin() ? bars.end() : after, {graph.name, std::string(figure.name), now, {}});
    } else if (reaches(figure, now, known->now)) {
      bars[static_cast<std::size_t>(known - bars.data())].now = now;
    }
  }
}

}  // namespace croton::kernel_table
