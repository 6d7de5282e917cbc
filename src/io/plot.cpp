#include <croton/error.hpp>
#include <croton/plot.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string_view>

#include "base/characters.hpp"

namespace croton::io {
namespace {

constexpr std::string_view colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"};
constexpr std::string_view dashes[] = {"", " stroke-dasharray=\"7 4\"", " stroke-dasharray=\"2 4\""};
constexpr double character_width = 6.6;  // approximate, at 12 pixels: the font is not available here
constexpr double line_height = 17;

/// The text escaped for XML, without control characters, which XML does not allow.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else {
      result += base::code_of(c) < ' ' ? ' ' : c;
    }
  }
  return result;
}

double text_width(std::string_view text) {
  const auto is_start = [](char c) { return (base::code_of(c) & 0xC0) != 0x80; };  // of a character
  return character_width * static_cast<double>(std::count_if(text.begin(), text.end(), is_start));
}

/// The smallest step of 1, 2 or 5 times a power of ten for which `most` steps cover the range.
double nice_step(double range, int most) {
  const double least = range / most;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1, 2, 5}) {
    if (factor * power >= least) return factor * power;
  }
  return 10 * power;
}

/// The multiples of the step from low to high.
std::vector<double> multiples(double step, double low, double high) {
  std::vector<double> result;
  for (double i = std::ceil(low / step); i <= std::floor(high / step); ++i) result.push_back(i * step + 0.0);
  return result;
}

/// The range of an axis; `low_` and `high_` are logarithms if it is logarithmic.
class Axis {
 public:
  explicit Axis(bool logarithmic) : logarithmic_(logarithmic) {}

  bool can_show(double value) const {
    return std::abs(value) <= 1e300 && (!logarithmic_ || value >= 1e-300);  // NaN compares false
  }

  void include(double value) {
    low_ = std::min(low_, scaled(value));
    high_ = std::max(high_, scaled(value));
  }

  /// Adds margins at both ends; to be called after all points are included.
  void finish() {
    if (low_ > high_) low_ = 0, high_ = 1;  // no point at all
    const double size = std::max({std::abs(low_), std::abs(high_), logarithmic_ ? 1.0 : 0.0});
    const bool one_value = size < 1e-290 || high_ - low_ <= 1e-9 * size;
    const double room = !one_value ? (high_ - low_) * 0.04 : size < 1e-290 ? 1 : size * 0.1;
    low_ -= room;
    high_ += room;
  }

  /// The position along the axis, from 0 to 1.
  double position(double value) const { return (scaled(value) - low_) / (high_ - low_); }

  std::vector<double> ticks(int most) const {
    if (!logarithmic_) return multiples(nice_step(high_ - low_, most), low_, high_);
    const double decades = high_ - low_;
    if (decades < 1) {
      const double low = std::pow(10, low_), high = std::pow(10, high_);
      return multiples(nice_step(high - low, most), low, high);
    }
    std::vector<double> result;
    if (decades < 3) {
      for (double power = std::floor(low_); power <= high_; ++power) {
        for (const double factor : {1, 2, 5}) {
          const double value = factor * std::pow(10, power);
          if (scaled(value) >= low_ && scaled(value) <= high_) result.push_back(value);
        }
      }
      return result;
    }
    for (const double power : multiples(std::max(1.0, nice_step(decades, most)), low_, high_)) {
      if (const double value = std::pow(10, power); can_show(value)) result.push_back(value);
    }
    return result;
  }

 private:
  double scaled(double value) const { return logarithmic_ ? std::log10(value) : value; }

  bool logarithmic_;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

std::string tick_label(double value) { return fmt::format("{:.10g}", value); }

/// One panel, drawn from the outside in: title, legend and labels get their space first.
class Drawing {
 public:
  explicit Drawing(const Panel& panel)
      : panel_(panel), options_(panel.options), x_(options_.log_x), y_(options_.log_y) {
    if (options_.width < 160 || options_.height < 120) {
      throw ValueError(
          fmt::format("a plot of {} x {} pixels is too small: 160 x 120 at least", options_.width, options_.height));
    }
    include_points();
    right_ = options_.width - 16;
    bottom_ = options_.height - (options_.x_label.empty() ? 28 : 46);
  }

  std::string draw() {
    title_and_legend();
    axes();
    for (std::size_t i = 0; i < panel_.series.size(); ++i) curve(i);
    return std::move(text_);
  }

 private:
  template <class... T>
  void put(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<T>(values)...);
  }

  bool can_show(const Series& series, std::size_t i) const {
    return x_.can_show(series.x[i]) && y_.can_show(series.y[i]);
  }

  void include_points() {
    for (const Series& series : panel_.series) {
      if (series.x.size() != series.y.size()) {
        throw ShapeError(
            fmt::format("the curve '{}' has {} numbers in x, {} in y", series.name, series.x.size(), series.y.size()));
      }
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        if (!can_show(series, i)) continue;
        x_.include(series.x[i]);
        y_.include(series.y[i]);
      }
    }
    x_.finish();
    y_.finish();
  }

  static std::string_view colour(std::size_t series) { return colours[series % std::size(colours)]; }

  static std::string stroke(std::size_t series) {
    return fmt::format(
        "fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-linecap=\"round\" stroke-linejoin=\"round\"{}",
        colour(series), dashes[series / std::size(colours) % std::size(dashes)]);
  }

  void title_and_legend() {
    if (!options_.title.empty()) {
      put("<text x=\"{:.1f}\" y=\"20\" font-size=\"14\" text-anchor=\"middle\">{}</text>\n", options_.width / 2.0,
          escaped(options_.title));
      top_ += line_height;
    }
    constexpr double first = 16, sample = 22, gap = 14;
    double x = first;
    bool any = false;
    for (std::size_t i = 0; i < panel_.series.size(); ++i) {
      const std::string& name = panel_.series[i].name;
      if (name.empty() || top_ > options_.height / 2.0) continue;
      const double width = sample + 5 + text_width(name);
      if (x > first && x + width > right_) x = first, top_ += line_height;
      put("<path d=\"M{:.1f} {:.1f}h{}\" {}/><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x, top_ + 2, sample,
          stroke(i), x + sample + 5, top_ + 6, escaped(name));
      x += width + gap;
      any = true;
    }
    if (any) top_ += line_height;
  }

  double to_x(double value) const { return left_ + x_.position(value) * (right_ - left_); }
  double to_y(double value) const { return bottom_ - y_.position(value) * (bottom_ - top_); }

  void axes() {
    const std::vector<double> y_ticks = y_.ticks(std::max(2, static_cast<int>((bottom_ - top_) / 32)));
    double widest = 0;
    for (const double tick : y_ticks) widest = std::max(widest, text_width(tick_label(tick)));
    left_ = (options_.y_label.empty() ? 16 : 32) + widest;
    for (const double tick : y_ticks) {
      put("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#ddd\"/>", left_, to_y(tick), right_);
      put("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left_ - 6, to_y(tick) + 4,
          tick_label(tick));
    }
    for (const double tick : x_.ticks(std::max(2, static_cast<int>((right_ - left_) / 50)))) {
      put("<path d=\"M{:.1f} {:.1f}V{:.1f}\" stroke=\"#ddd\"/>", to_x(tick), top_, bottom_);
      put("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", to_x(tick), bottom_ + 16,
          tick_label(tick));
    }
    put("<path d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\" fill=\"none\" stroke=\"#444\"/>\n", left_, top_, bottom_, right_);
    if (!options_.x_label.empty()) {
      put("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", (left_ + right_) / 2, options_.height - 10,
          escaped(options_.x_label));
    }
    if (!options_.y_label.empty()) {
      put("<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
          (top_ + bottom_) / 2, escaped(options_.y_label));
    }
  }

  void curve(std::size_t index) {
    const Series& series = panel_.series[index];
    const auto shown = [&](std::size_t i) { return i < series.x.size() && can_show(series, i); };
    std::string path;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!shown(i)) continue;
      const double x = to_x(series.x[i]), y = to_y(series.y[i]);
      const bool joined = i > 0 && shown(i - 1);
      path += fmt::format("{}{:.2f} {:.2f}", joined ? "L" : "M", x, y);
      if (!joined && !shown(i + 1))  // a line needs two points
        put("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"3\" fill=\"{}\"/>\n", x, y, colour(index));
    }
    if (!path.empty()) put("<path d=\"{}\" {}/>\n", path, stroke(index));
  }

  const Panel& panel_;
  const PlotOptions& options_;
  Axis x_, y_;
  double left_ = 0, right_ = 0, top_ = 14, bottom_ = 0;
  std::string text_;
};

}  // namespace

std::string line_plot_svg(const std::vector<Panel>& panels) {
  int width = 0, height = 0;
  std::string drawings;
  for (const Panel& panel : panels) {
    drawings += fmt::format("<g transform=\"translate({} 0)\">\n{}</g>\n", width, Drawing(panel).draw());
    width += panel.options.width;
    height = std::max(height, panel.options.height);
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n"
      "{2}</svg>\n",
      width, height, drawings);
}

std::string line_plot_svg(const std::vector<Series>& series, const PlotOptions& options) {
  return line_plot_svg(std::vector<Panel>{{series, options}});
}

}  // namespace croton::io
