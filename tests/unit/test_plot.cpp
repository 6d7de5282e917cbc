// Plots as SVG text: their contents, and that all numbers and texts give a picture.
#include <croton/error.hpp>
#include <croton/plot.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string_view>

#include "catch.hpp"
#include "contains.hpp"

using croton::io::line_plot_svg;
using croton::io::Panel;
using croton::io::PlotOptions;
using croton::io::Series;

namespace {

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

/// Every tag is closed, in order, and no number has a form that SVG lacks.
void check_well_formed(std::string_view svg) {
  std::vector<std::string_view> open;
  for (std::size_t at = svg.find('<'); at != svg.npos; at = svg.find('<', at)) {
    const std::size_t end = svg.find('>', at);
    REQUIRE(end != svg.npos);
    const std::string_view tag = svg.substr(at + 1, end - at - 1);
    REQUIRE(count(tag, "\"") % 2 == 0);
    CHECK(count(tag, "nan") + count(tag, "inf") == 0);
    if (tag.starts_with('/')) {
      REQUIRE(!open.empty());
      REQUIRE(open.back() == tag.substr(1));
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    at = end;
  }
  CHECK(open.empty());
}

std::string labels(std::string_view svg) {
  std::string found;
  for (std::size_t at = svg.find("<text"); at != svg.npos; at = svg.find("<text", at + 1)) {
    const std::size_t begin = svg.find('>', at) + 1;
    found += std::string(svg.substr(begin, svg.find('<', begin) - begin)) + "|";
  }
  return found;
}

}  // namespace

TEST_CASE("a plot has its curves, axes and texts", "[plot]") {
  PlotOptions options;
  options.title = "Loss & <gain>";
  options.x_label = "epoch";
  options.y_label = "größe\x01";
  const std::string svg = line_plot_svg({{"a > b", {0, 1, 2}, {0, 0.5, 1}}, {"other", {0, 2}, {1, 0}}}, options);
  check_well_formed(svg);
  CHECK_THAT(svg, contains("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"480\" height=\"320\""));
  CHECK(labels(svg) == "Loss &amp; &lt;gain&gt;|a &gt; b|other|0|0.2|0.4|0.6|0.8|1|0|0.5|1|1.5|2|epoch|größe |");
  CHECK(count(svg, "#0072B2") == 2);  // the curve and its sample in the legend
  CHECK(count(svg, "#D55E00") == 2);
  CHECK(line_plot_svg({{"a > b", {0, 1, 2}, {0, 0.5, 1}}, {"other", {0, 2}, {1, 0}}}, options) == svg);
}

TEST_CASE("ticks are 1, 2 or 5 times a power of ten", "[plot]") {
  const auto ticks = [](double low, double high, bool logarithmic = false) {
    PlotOptions options;
    options.log_x = logarithmic;
    const std::string all = labels(line_plot_svg({{"", {low, high}, {0, 1}}}, options));
    return all.substr(std::string("0|0.2|0.4|0.6|0.8|1|").size());
  };
  CHECK(ticks(0, 100) == "0|20|40|60|80|100|");
  CHECK(ticks(-0.003, 0.004) == "-0.003|-0.002|-0.001|0|0.001|0.002|0.003|0.004|");
  CHECK(ticks(0, 59'000) == "0|10000|20000|30000|40000|50000|60000|");
  CHECK(ticks(1e-12, 4e-12) == "1e-12|1.5e-12|2e-12|2.5e-12|3e-12|3.5e-12|4e-12|");
  CHECK(ticks(1, 1000, true) == "1|10|100|1000|");
  CHECK(ticks(0.1, 5, true) == "0.1|0.2|0.5|1|2|5|");
  CHECK(ticks(2, 5, true) == "2|2.5|3|3.5|4|4.5|5|");
  CHECK(ticks(1e-9, 1e3, true) == "1e-08|1e-06|0.0001|0.01|1|100|");
}

TEST_CASE("values that cannot be shown leave a gap", "[plot]") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const std::string svg = line_plot_svg({{"", {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, nan, 2, infinity, 3, 4, 1e301}}});
  check_well_formed(svg);
  const std::size_t curve = svg.find("<path d=\"M", svg.find("<circle"));
  REQUIRE(curve != svg.npos);
  const std::string path = svg.substr(curve, svg.find('/', curve) - curve);
  CHECK(count(path, "M") == 3);
  CHECK(count(path, "L") == 2);
  CHECK(count(svg, "<circle") == 1);  // the point alone
  PlotOptions options;
  options.log_y = true;
  CHECK(count(line_plot_svg({{"", {0, 1, 2, 3}, {1, 0, -1, 2}}}, options), "<circle") == 2);
}

TEST_CASE("panels are side by side", "[plot]") {
  PlotOptions small;
  small.width = 200;
  small.height = 400;
  const std::string svg =
      line_plot_svg({Panel{{{"loss", {0, 1}, {1, 0}}}, {}}, Panel{{{"rate", {0, 1}, {0, 1}}}, small}});
  check_well_formed(svg);
  CHECK_THAT(svg, contains("width=\"680\" height=\"400\""));
  CHECK_THAT(svg, contains("translate(480 0)"));
  check_well_formed(line_plot_svg(std::vector<Panel>{}));
}

TEST_CASE("any numbers and many curves give a picture", "[plot]") {
  check_well_formed(line_plot_svg(std::vector<Series>{}));
  check_well_formed(line_plot_svg({{"nothing", {}, {}}}));
  for (const double value : {0.0, 1.0, -3e5, 1e300, -1e300, 5e-324, 1e-300}) {
    INFO(value);
    for (const bool logarithmic : {false, true}) {
      PlotOptions options;
      options.log_x = options.log_y = logarithmic;
      check_well_formed(line_plot_svg({{"", {value}, {value}}}, options));
      check_well_formed(line_plot_svg({{"", {value, std::nextafter(value, 1e308)}, {-value, value}}}, options));
    }
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    PlotOptions options;
    options.log_x = i % 2 == 1;
    options.log_y = i % 3 == 1;
    options.width = 160;
    options.height = 120;
    std::vector<Series> series(i % 40);
    for (Series& one : series) {
      one.name = "a curve";
      for (int k = 0; k < 4; ++k) {
        one.x.push_back(std::bit_cast<double>(random()));
        one.y.push_back(std::bit_cast<double>(random()));
      }
    }
    const std::string svg = line_plot_svg(series, options);
    check_well_formed(svg);
    CHECK(count(svg, "<text") < 60);
  }
}

TEST_CASE("mistakes about plots are named", "[plot]") {
  CHECK_THROWS_AS(line_plot_svg({{"a", {1, 2}, {1}}}), croton::ShapeError);
  CHECK_THROWS_WITH(line_plot_svg({{"a", {1, 2}, {1}}}), contains("the curve 'a' has 2 numbers in x, 1 in y"));
  PlotOptions options;
  options.width = 159;
  CHECK_THROWS_AS(line_plot_svg(std::vector<Series>{}, options), croton::ValueError);
}
