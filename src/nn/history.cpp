#include <croton/error.hpp>
#include <croton/nn/callbacks.hpp>
#include <croton/plot.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <span>

#include "base/index.hpp"
#include "base/output.hpp"

namespace croton::nn {
namespace {

[[noreturn]] void no_such_number(std::string_view name, const std::vector<std::string>& names) {
  const bool validated = std::any_of(names.begin(), names.end(), [](const auto& n) { return n.starts_with("val_"); });
  throw ValueError(
      fmt::format("there is no number '{}'; there are: {}{}", name,
                  names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")),
                  name.starts_with("val_") && !validated ? " (names with val_ need validation data)" : ""));
}

std::string_view without_val(std::string_view name) { return name.starts_with("val_") ? name.substr(4) : name; }

}  // namespace

std::optional<double> Logs::find(std::string_view name) const {
  for (const auto& [known, value] : values_) {
    if (known == name) return value;
  }
  return std::nullopt;
}

double Logs::operator[](std::string_view name) const {
  if (const std::optional<double> value = find(name)) return *value;
  std::vector<std::string> names;
  names.reserve(values_.size());
  for (const auto& [known, value] : values_) names.push_back(known);
  no_such_number(name, names);
}

void Logs::set(const std::string& name, double value) {
  for (auto& [known, old] : values_) {
    if (known != name) continue;
    old = value;
    return;
  }
  values_.emplace_back(name, value);
}

std::string to_string(const Logs& logs) {
  std::string text;
  for (const auto& [name, value] : logs) {
    // Four digits after the point do not show a rate of 1e-5.
    const bool small = value != 0 && std::abs(value) < 1e-3;
    const std::string number = small ? fmt::format("{:.4e}", value) : fmt::format("{:.4f}", value);
    text += fmt::format("{}{}: {}", text.empty() ? "" : " - ", name, number);
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const Logs& logs) { return out << to_string(logs); }

std::vector<std::string> History::names() const {
  std::vector<std::string> names;
  for (const Logs& epoch : logs) {
    for (const auto& [name, value] : epoch) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::vector<double> History::operator[](std::string_view name) const {
  std::vector<double> values;
  bool found = false;
  for (const Logs& epoch : logs) {
    const std::optional<double> value = epoch.find(name);
    values.push_back(value.value_or(std::numeric_limits<double>::quiet_NaN()));
    found = found || value;
  }
  if (!found) no_such_number(name, names());
  return values;
}

std::string History::svg() const {
  std::vector<io::Panel> panels;
  std::vector<std::string> bases;  // the number that each panel shows
  const std::vector<std::string> all = names();
  const std::vector<double> x(epochs.begin(), epochs.end());
  for (const std::string& name : all) {
    const std::string base(without_val(name));
    auto at = std::find(bases.begin(), bases.end(), base);
    if (at == bases.end()) {
      at = bases.insert(at, base);
      panels.emplace_back().options.x_label = "epoch";
    }
    base::nth(panels, at - bases.begin()).series.push_back({name, x, (*this)[name]});
  }
  return io::line_plot_svg(panels);
}

void History::plot(const std::filesystem::path& file) const {
  const std::string text = svg();
  base::make_folders(file.parent_path());
  base::write_file(file, std::as_bytes(std::span(text)));
}

}  // namespace croton::nn
