// Explanations as text and as JSON.
#include <croton/explain.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>
#include <string_view>

#include "base/bytes_text.hpp"
#include "base/counted.hpp"
#include "io/json_text.hpp"

namespace croton {
namespace {

using base::bytes_text;

std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", 1e3 * seconds);
  return fmt::format("{:.2f} us", 1e6 * seconds);
}

std::string figures_of(const ExplainedStep& step) {
  std::string text = fmt::format("{} moved, at least {}", bytes_text(step.bytes), bytes_text(step.least_bytes));
  if (step.operations > 0) text += fmt::format("; {:.3g} additions and multiplications", step.operations);
  if (step.instructions_per_element)
    text += fmt::format("; {:.1f} instructions an element", *step.instructions_per_element);
  if (step.instructions_per_byte) text += fmt::format(", {:.2f} a byte", *step.instructions_per_byte);
  if (step.blocks > 0) {
    text += fmt::format("; {} of {} of {} threads",
                        step.launches == 1 ? "1 launch" : fmt::format("{} launches", step.launches),
                        base::counted(step.blocks, "block"), step.threads);
  }
  if (step.registers > 0) {
    text += fmt::format("; {} registers, {:.0f} % of the warps resident (limited by {})", step.registers,
                        100 * step.occupancy, step.occupancy_limiter);
  }
  return text;
}

/// Writes the members of a JSON object.
class Json {
 public:
  void text(std::string_view name, const std::string& value) { raw(name, io::json_text(value)); }
  void number(std::string_view name, double value) { raw(name, fmt::format("{}", value)); }
  void number(std::string_view name, const std::optional<double>& value) {
    raw(name, value ? fmt::format("{}", *value) : "null");
  }
  void texts(std::string_view name, const std::vector<std::string>& values) {
    std::vector<std::string> quoted;
    for (const std::string& value : values) quoted.push_back(io::json_text(value));
    raw(name, fmt::format("[{}]", fmt::join(quoted, ",")));
  }
  void raw(std::string_view name, const std::string& value) {
    text_ += fmt::format("{}\"{}\":{}", text_.empty() ? "" : ",", name, value);
  }
  std::string object() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

std::string json_of(const ExplainedStep& step) {
  Json json;
  json.text("what", step.what);
  json.text("name", step.name);
  json.texts("lines", step.lines);
  json.raw("launches", fmt::format("{}", step.launches));
  json.raw("blocks", fmt::format("{}", step.blocks));
  json.raw("threads", fmt::format("{}", step.threads));
  json.raw("registers", fmt::format("{}", step.registers));
  json.number("occupancy", step.occupancy);
  json.text("occupancy_limiter", step.occupancy_limiter);
  json.number("bytes", step.bytes);
  json.number("least_bytes", step.least_bytes);
  json.number("operations", step.operations);
  json.number("instructions_per_element", step.instructions_per_element);
  json.number("instructions_per_byte", step.instructions_per_byte);
  json.number("seconds", step.seconds);
  json.number("floor_seconds", step.floor_seconds);
  json.number("measured_seconds", step.measured_seconds);
  json.number("share", step.share());
  json.text("limiter", step.limiter);
  json.texts("fusion", step.fusion);
  json.text("change", step.change);
  return json.object();
}

}  // namespace

std::string to_string(const Explanation& explanation) {
  constexpr double percent = 100;
  std::string text =
      fmt::format("{} on {}{}; rates from {}\n", explanation.function, explanation.machine,
                  explanation.architecture.empty() ? "" : " (" + explanation.architecture + ")", explanation.source);
  double bytes = 0;
  for (const ExplainedStep& step : explanation.steps) bytes += step.bytes;
  text += fmt::format("modelled {} in {}, the floor is {} ({:.0f} %); {} moved, at least {}\n",
                      time_text(explanation.seconds), base::counted(explanation.steps.size(), "step"),
                      time_text(explanation.floor_seconds),
                      explanation.seconds > 0 ? percent * explanation.floor_seconds / explanation.seconds : 0.0,
                      bytes_text(bytes), bytes_text(explanation.least_bytes));
  if (explanation.unknown > 0)
    text +=
        fmt::format("without the time of {}, which only a call knows\n", base::counted(explanation.unknown, "step"));
  if (!explanation.machine_code.empty())
    text += fmt::format("without figures of machine code, by bytes alone: {}\n", explanation.machine_code);
  if (!explanation.unmeasured.empty()) text += fmt::format("not measured: {}\n", explanation.unmeasured);
  if (const auto ratio = explanation.measured_by_modelled())
    text += fmt::format("measured: {:.2f} times the modelled time\n", *ratio);
  for (std::size_t i = 0; i < explanation.steps.size(); ++i) {
    const ExplainedStep& step = explanation.steps[i];
    text += fmt::format("\n{}. {}\n", i + 1, step.name);
    for (const std::string& line : step.lines) text += fmt::format("   {}\n", line);
    if (step.seconds) {
      text +=
          fmt::format("   {} ({:.0f} % of the whole), {:.0f} % of the limit; limited by {}", time_text(*step.seconds),
                      explanation.seconds > 0 ? percent * *step.seconds / explanation.seconds : 0.0,
                      percent * step.share(), step.limiter);
      if (step.measured_seconds) text += fmt::format("; measured {}", time_text(*step.measured_seconds));
      text += fmt::format("\n   {}\n", figures_of(step));
    } else if (step.measured_seconds) {
      text += fmt::format("   measured {}\n", time_text(*step.measured_seconds));
    }
    for (const std::string& line : step.fusion) text += fmt::format("   {}\n", line);
    text += fmt::format("   to make it faster: {}\n", step.change);
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const Explanation& explanation) { return out << to_string(explanation); }

std::string Explanation::to_json() const {
  Json json;
  json.text("function", function);
  json.text("machine", machine);
  json.text("architecture", architecture);
  json.text("source", source);
  json.text("unmeasured", unmeasured);
  json.text("machine_code", machine_code);
  json.number("seconds", seconds);
  json.number("least_bytes", least_bytes);
  json.number("floor_seconds", floor_seconds);
  json.number("measured_by_modelled", measured_by_modelled());
  json.raw("unknown", fmt::format("{}", unknown));
  std::vector<std::string> of_steps;
  for (const ExplainedStep& step : steps) of_steps.push_back(json_of(step));
  json.raw("steps", fmt::format("[{}]", fmt::join(of_steps, ",")));
  return json.object();
}

}  // namespace croton
