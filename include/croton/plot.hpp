// Line plots as SVG text: self-contained, for browsers, papers and reports.
#pragma once

#include <string>
#include <vector>

namespace croton::io {

/// A curve: points in order, joined by lines. A point with NaN, an infinity, a number beyond 1e300 or, on a logarithmic
/// axis, one below 1e-300 leaves a gap.
struct Series {
  std::string name;  ///< for the legend, which leaves out empty ones and what half of the panel cannot hold
  std::vector<double> x, y;
};

/// Texts are UTF-8 and mean themselves: nothing in them is taken for markup.
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

/// Plots side by side, loss and accuracy, say.
std::string line_plot_svg(const std::vector<Panel>& panels);

}  // namespace croton::io
