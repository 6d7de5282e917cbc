#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <ostream>

#include "known_faults.hpp"

namespace differential {
namespace {

std::string json_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      result += std::string("\\") + c;
    else if (c == '\n')
      result += "\\n";
    else if (static_cast<unsigned char>(c) < 32)
      result += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      result += c;
  }
  return result + "\"";
}

template <class Value>
std::string object(const std::map<std::string, Value>& values) {
  std::string text = "{";
  for (const auto& [name, value] : values)
    text += fmt::format("{}{}: {}", text.size() > 1 ? ", " : "", json_text(name), value);
  return text + "}";
}

/// "exp 212, log 230, ...", in lines.
std::string counts(const std::map<std::string, std::uint64_t>& values) {
  std::string text, line = "  ";
  for (const auto& [name, count] : values) {
    const std::string item = fmt::format("{} {}", name, count);
    if (line.size() + item.size() > 118) {
      text += line + "\n";
      line = "  ";
    }
    line += item + ", ";
  }
  if (line.size() > 2) text += line.substr(0, line.size() - 2) + "\n";
  return text;
}

double ambiguous_share(const Report& report) {
  const Compared& c = report.tally.compared;
  return c.elements == 0 ? 0 : static_cast<double>(c.ambiguous) / static_cast<double>(c.elements);
}

}  // namespace

void Report::merge(const Report& other) {
  coverage.merge(other.coverage);
  for (const auto& [name, seconds] : other.tally.seconds) tally.seconds[name] += seconds;
  for (const auto& [name, graphs] : other.tally.graphs) tally.graphs[name] += graphs;
  tally.compared.elements += other.tally.compared.elements;
  tally.compared.ambiguous += other.tally.compared.ambiguous;
  tally.kernels += other.tally.kernels;
  tally.products += other.tally.products;
  tally.probes += other.tally.probes;
  tally.gradients += other.tally.gradients;
  found.insert(found.end(), other.found.begin(), other.found.end());
}

std::vector<std::string> shortfalls(const Report& report, std::uint64_t share, bool every_rule) {
  std::vector<std::string> missing;
  const std::uint64_t graphs = report.coverage.nodes.size();
  if (report.coverage.median() < 12)
    missing.push_back(fmt::format("the median graph has {} nodes, not 12", report.coverage.median()));
  // Half of the dealt ops suffice, because not everything that is dealt fits.
  const std::uint64_t least = std::min<std::uint64_t>(200, graphs / (2 * share));
  for (const std::string& rare : report.coverage.rare_ops(least)) missing.push_back(rare);
  if (every_rule) {
    for (const std::string& rule : report.coverage.silent_rules())
      missing.push_back("the rule " + rule + " never fired");
  }
  if (graphs >= 1000) {
    for (const std::string& kernel : report.coverage.missing_kernels())
      missing.push_back(fmt::format("no {} among the kernels", kernel));
  }
  if (ambiguous_share(report) > 0.1)
    missing.push_back(fmt::format("{:.1f} % of all elements say nothing", 100 * ambiguous_share(report)));
  return missing;
}

std::string summary(const Report& report) {
  const Coverage& c = report.coverage;
  std::string text = fmt::format("{} graphs: median {} nodes, most {}\n", c.nodes.size(), c.median(), c.most());
  text += "ops, with the number of graphs\n" + counts(c.ops);
  text += "rules, with the number of graphs\n" + counts(c.rules);
  const auto silent = c.silent_rules();
  if (!silent.empty()) text += fmt::format("rules that never fired\n  {}\n", fmt::join(silent, ", "));
  text += "kernels and steps, with the number of graphs\n" + counts(c.kernels);
  text += "variants by strides and sizes, with the number of texts\n" + counts(c.variants);
  text +=
      fmt::format("{} launches of kernels, {} products by a library\n", report.tally.kernels, report.tally.products);
  text += "milliseconds of the processor for a graph\n";
  for (const auto& [name, seconds] : report.tally.seconds) {
    const auto at = report.tally.graphs.find(name);
    const std::uint64_t graphs = at == report.tally.graphs.end() ? c.nodes.size() : at->second;
    text += fmt::format("  {} {:.1f}", name, 1000 * seconds / static_cast<double>(std::max<std::uint64_t>(1, graphs)));
    text += at == report.tally.graphs.end() ? "\n" : fmt::format(" ({} graphs)\n", graphs);
  }
  text += fmt::format(
      "{} elements compared, {:.2f} % of them say nothing; {} calls with wrong sizes, {} gradients against "
      "differences\n",
      report.tally.compared.elements, 100 * ambiguous_share(report), report.tally.probes, report.tally.gradients);
  for (const KnownFault& fault : known_faults()) text += fmt::format("known and stepped around: {}\n", fault.what);
  text += fmt::format("{} failures\n", report.found.size());
  return text;
}

std::string json(const Report& report) {
  std::string failures;
  for (const Found& found : report.found) {
    failures += fmt::format("{}{{\"setting\": {}, \"seed\": {}, \"what\": {}, \"nodes\": {}, \"program\": {}}}",
                            failures.empty() ? "" : ", ", json_text(found.setting), found.seed, json_text(found.what),
                            found.nodes, json_text(found.program));
  }
  return fmt::format(
      "{{\"graphs\": {}, \"median_nodes\": {}, \"most_nodes\": {}, \"ops\": {}, \"rules\": {}, \"kernels\": {}, "
      "\"variants\": {}, \"seconds\": {}, "
      "\"elements\": {}, \"ambiguous\": {}, \"probes\": {}, \"gradients\": {}, \"failures\": [{}]}}\n",
      report.coverage.nodes.size(), report.coverage.median(), report.coverage.most(), object(report.coverage.ops),
      object(report.coverage.rules), object(report.coverage.kernels), object(report.coverage.variants),
      object(report.tally.seconds), report.tally.compared.elements, report.tally.compared.ambiguous,
      report.tally.probes, report.tally.gradients, failures);
}

void write(const Report& report, std::ostream& to) {
  const auto counted = [&](std::string_view kind, const std::map<std::string, std::uint64_t>& values) {
    for (const auto& [name, count] : values) to << kind << ' ' << count << ' ' << name << '\n';
  };
  counted("op", report.coverage.ops);
  counted("rule", report.coverage.rules);
  counted("kernel", report.coverage.kernels);
  counted("variant", report.coverage.variants);
  counted("graphs", report.tally.graphs);
  for (const auto& [name, seconds] : report.tally.seconds) to << "seconds " << seconds << ' ' << name << '\n';
  for (const std::size_t nodes : report.coverage.nodes) to << "nodes " << nodes << " -\n";
  to << "elements " << report.tally.compared.elements << " -\nambiguous " << report.tally.compared.ambiguous << " -\n";
  to << "launches " << report.tally.kernels << " -\nproducts " << report.tally.products << " -\n";
  to << "probes " << report.tally.probes << " -\ngradients " << report.tally.gradients << " -\n";
  for (const Found& found : report.found) {
    to << "failure " << found.seed << ' ' << found.setting << '\n'
       << found.nodes << '\n'
       << found.what.size() << ' ' << found.program.size() << '\n'
       << found.what << found.program << '\n';
  }
}

Report read(std::istream& from) {
  Report report;
  std::string kind, number, name;
  while (from >> kind >> number && std::getline(from >> std::ws, name)) {
    const std::uint64_t count = kind == "seconds" ? 0 : std::stoull(number);
    if (kind == "op") report.coverage.ops[name] = count;
    if (kind == "rule") report.coverage.rules[name] = count;
    if (kind == "kernel") report.coverage.kernels[name] = count;
    if (kind == "variant") report.coverage.variants[name] = count;
    if (kind == "graphs") report.tally.graphs[name] = count;
    if (kind == "seconds") report.tally.seconds[name] = std::stod(number);
    if (kind == "nodes") report.coverage.nodes.push_back(count);
    if (kind == "elements") report.tally.compared.elements = count;
    if (kind == "ambiguous") report.tally.compared.ambiguous = count;
    if (kind == "launches") report.tally.kernels = count;
    if (kind == "products") report.tally.products = count;
    if (kind == "probes") report.tally.probes = count;
    if (kind == "gradients") report.tally.gradients = count;
    if (kind != "failure") continue;
    Found found;
    std::size_t what = 0, program = 0;
    from >> found.nodes >> what >> program;
    from.ignore(1);
    found.seed = count;
    found.setting = name;
    found.what.resize(what);
    found.program.resize(program);
    from.read(found.what.data(), static_cast<std::streamsize>(what));
    from.read(found.program.data(), static_cast<std::streamsize>(program));
    report.found.push_back(std::move(found));
  }
  return report;
}

}  // namespace differential
