// Line plots as SVG text: self-contained, for browsers, papers and reports.
#pragma once

#include <string>
#include <vector>

namespace croton::io {

/// A curve: points in order, joined by lines. A point with NaN, an infinity, a number above 1e300 or, on a logarithmic
/// axis, one below 1e-300 leaves a gap.
struct Series {
  std::string name;  ///< for the legend, which omits empty names and entries beyond half of the panel
  std::vector<double> x, y;
};

/// Options of a plot. Texts are UTF-8 and are never interpreted as markup.
struct PlotOptions {
  std::string title, x_label, y_label;
  bool log_x = false, log_y = false;
  int width = 480, height = 320;  ///< of a panel, in pixels
};

/// One plot of several.
struct Panel {
  std::vector<Series> series;
  PlotOptions options;
};

/// A plot of the curves with axes, a grid and a legend, in colours that the colour-blind can tell apart (Okabe and Ito,
/// https://jfly.uni-koeln.de/color/). ShapeError if a curve has not as many x as y; ValueError if the panel is smaller
/// than 160 x 120.
std::string line_plot_svg(const std::vector<Series>& series, const PlotOptions& options = {});

/// Plots next to each other, for example loss and accuracy.
std::string line_plot_svg(const std::vector<Panel>& panels);

}  // namespace croton::io
