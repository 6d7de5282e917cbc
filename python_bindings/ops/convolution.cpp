// The functions of <croton/convolution.hpp>.
#include <croton/convolution.hpp>

#include "core/bindings.hpp"
#include "core/lists.hpp"
#include "core/operands.hpp"

namespace croton::python {
namespace {

/// A border by name ("valid"), a width for all axes, or for each axis a width or a pair (before, after).
nnet::Border to_border(nb::handle object) {
  if (nb::isinstance<nb::str>(object)) return nb::cast<std::string>(object).c_str();
  if (!is_list(object)) return to_operand(object);
  std::vector<std::pair<Operand, Operand>> sides;
  for (const nb::handle entry : object) {
    const std::vector<Operand> widths = to_sizes(entry);
    if (widths.empty() || widths.size() > 2) throw TypeError("a border of an axis is a width, or a pair of them");
    sides.emplace_back(widths.front(), widths.back());
  }
  return sides;
}

nnet::ConvOptions to_options(nb::handle border, nb::handle strides, nb::handle dilations, std::int64_t groups,
                             bool flip, const std::string& layout) {
  return {.border = to_border(border),
          .strides = to_numbers(strides, "a stride"),
          .dilations = to_numbers(dilations, "a dilation"),
          .groups = groups,
          .flip = flip,
          .layout = to_layout(layout)};
}

/// Binds `f`, whose parameters are the operands and then the options that all convolutions have.
template <class F, class... Arguments>
void bind_with_options(nb::module_& m, const char* name, const F& f, const char* doc, const Arguments&... arguments) {
  m.def(name, f, arguments..., nb::kw_only(), "border"_a = "valid", "strides"_a = 1, "dilations"_a = 1, "groups"_a = 1,
        "flip"_a = true, "layout"_a = "channels_first", doc);
}

struct Row {
  const char* name;
  Variable (*f)(Operand, Operand, const nnet::ConvOptions&);
  const char* doc;
};

constexpr Row rows[] = {
    {"conv", &nnet::conv,
     "The convolution of x with filters over all its axes except batch and channels.\n\n"
     "result[b, o, i] = sum over c, k of x[b, c, stride i + dilation k - before] filters[o, c, flip ? window - 1 - k : "
     "k], x being 0 outside.\n\n"
     "layout 'channels_first': x (batch, channels, sizes...) with filters (results, channels / groups, window...); "
     "'channels_last': x (batch, sizes..., channels) with filters (window..., channels / groups, results).\n"
     "border: 'valid' (none), 'full' (window - 1 on both sides), 'half' (window / 2), 'same' (ceil(size / stride) "
     "windows), 'causal' (window - 1 before), or widths: one for all axes, or for each axis one or a pair (before, "
     "after); they may be symbolic.\n"
     "strides, dilations: one number, or one for each axis. groups: the channels are divided into this many groups, "
     "each with its part of the filters. flip=False is cross-correlation.\n"
     "Dtypes are promoted; float16 and bfloat16 are summed in float32, integers wrap. TypeError for bool, complex "
     "numbers and other numbers of axes; ShapeError if a window is larger than the image with its borders, or if "
     "channels do not match; ValueError for invalid options."},
    {"conv1d", &nnet::conv1d,
     "The 1-D convolution: conv of (batch, channels, length); TypeError for another number of axes."},
    {"conv2d", &nnet::conv2d,
     "The 2-D convolution: conv of (batch, channels, rows, columns); TypeError for another number of axes."},
    {"conv3d", &nnet::conv3d,
     "The 3-D convolution: conv of (batch, channels, depth, rows, columns); TypeError for another number of axes."},
};

void bind_convolutions(nb::module_& m) {
  for (const Row& row : rows) {
    bind_with_options(
        m, row.name,
        [f = row.f](nb::handle x, nb::handle filters, nb::handle border, nb::handle strides, nb::handle dilations,
                    std::int64_t groups, bool flip, const std::string& layout) {
          return f(to_operand(x), to_operand(filters), to_options(border, strides, dilations, groups, flip, layout));
        },
        row.doc, "x"_a, "filters"_a);
  }
  bind_with_options(
      m, "conv_transpose",
      [](nb::handle g, nb::handle filters, nb::handle sizes, nb::handle border, nb::handle strides,
         nb::handle dilations, std::int64_t groups, bool flip, const std::string& layout) {
        return nnet::conv_transpose(to_operand(g), to_operand(filters),
                                    to_options(border, strides, dilations, groups, flip, layout),
                                    sizes.is_none() ? std::vector<Operand>{} : to_sizes(sizes));
      },
      "The transposed convolution: the gradient of sum(g * conv(x, filters, ...)) by x, with the options of that "
      "convolution; g has its result channels. sizes: those of x, one for each axis; None: the smallest from which the "
      "convolution gives g (with border 'same': stride times g's). Dtypes and errors as for conv; ShapeError for sizes "
      "whose number of windows is not that of g.",
      "g"_a, "filters"_a, "sizes"_a = nb::none());
  bind_with_options(
      m, "conv_filter_gradient",
      [](nb::handle x, nb::handle g, nb::handle window, nb::handle border, nb::handle strides, nb::handle dilations,
         std::int64_t groups, bool flip, const std::string& layout) {
        return nnet::conv_filter_gradient(to_operand(x), to_operand(g), to_sizes(window),
                                          to_options(border, strides, dilations, groups, flip, layout));
      },
      "The gradient of sum(g * conv(x, filters, ...)) by the filters, with the options of that convolution. window: "
      "the sizes of the filters' windows, one for each axis. Dtypes and errors as for conv.",
      "x"_a, "g"_a, "window"_a);
}

void bind_pooling(nb::module_& m) {
  m.def(
      "pool",
      [](nb::handle x, nb::handle window, nb::handle strides, nb::handle border, const std::string& mode,
         bool ignore_border, const std::string& layout, const std::string& ties) {
        using nnet::PoolMode;
        return nnet::pool(
            to_operand(x), to_numbers(window, "a size of the window"),
            {.strides = strides.is_none() ? std::vector<std::int64_t>{} : to_numbers(strides, "a stride"),
             .border = to_border(border),
             .mode = choice<PoolMode>(mode, "mode",
                                      {{"max", PoolMode::max},
                                       {"sum", PoolMode::sum},
                                       {"average_inc_pad", PoolMode::average_inc_pad},
                                       {"average_exc_pad", PoolMode::average_exc_pad}}),
             .ignore_border = ignore_border,
             .layout = to_layout(layout),
             .ties = choice<nnet::Ties>(ties, "ties", {{"all", nnet::Ties::all}, {"first", nnet::Ties::first}})});
      },
      "x"_a, "window"_a, nb::kw_only(), "strides"_a = nb::none(), "border"_a = "valid", "mode"_a = "max",
      "ignore_border"_a = true, "layout"_a = "channels_first", "ties"_a = "all",
      "The maxima, sums or means of windows over the last axes (channels_last: the axes before the last), with any "
      "number of axes before them.\n\n"
      "window: the sizes of a window, one for each axis. mode 'max': nan if the window has one; 'sum': borders are 0; "
      "'average_inc_pad': borders count as elements that are 0; 'average_exc_pad': means of the elements in x only. "
      "strides: the window's sizes if None. border as for conv. ignore_border=False: a last window that extends beyond "
      "the end counts, with its elements in x. ties: if several elements are largest, each of them gets the whole "
      "gradient ('all'), or only the 'first' in row-major order. The result has the dtype of x, but means of integers "
      "and bool are floatX; sums of integers wrap. ShapeError if a window is larger than x with its borders; "
      "ValueError for sizes or strides below 1, and for borders with ignore_border=False; TypeError for complex "
      "numbers.");
}

}  // namespace

void bind_convolution(nb::module_& m) {
  bind_convolutions(m);
  bind_pooling(m);
}

}  // namespace croton::python
