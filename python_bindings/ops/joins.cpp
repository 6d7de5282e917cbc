// The functions of <croton/views.hpp>: joins, splits, repetition and padding; axes; ranges; diagonals.
#include <croton/views.hpp>

#include "core/arrays.hpp"
#include "core/bindings.hpp"
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"

namespace croton::python {
namespace {

// Larger numbers are mistakes whose results would fill the memory.
constexpr int max_axes = 64;
constexpr int max_parts = 1 << 16;
constexpr int max_differences = 1 << 12;

std::optional<int> to_optional_axis(nb::handle object) {
  if (object.is_none()) return std::nullopt;
  return to_axis(object);
}

void bind_joining(nb::module_& m) {
  m.def(
      "concatenate", [](nb::handle parts, int axis) { return concatenate(to_variables(parts), axis, here()); },
      "parts"_a, "axis"_a = 0,
      "The variables joined along an existing axis; their other sizes must be equal, dtypes are promoted.");
  m.def(
      "join", [](int axis, nb::args parts) { return join(axis, to_variables(parts), here()); }, "axis"_a, "parts"_a,
      "The variables joined along an existing axis: join(0, x, y). As concatenate, with the axis first.");
  m.def(
      "stack",
      [](nb::args parts, nb::kwargs options) {
        const bool nested = parts.size() == 1 || (parts.size() == 2 && PyLong_Check(parts[1].ptr()));
        int axis = nested && parts.size() == 2 ? to_axis(parts[1]) : 0;
        for (const auto [name, value] : options) {
          if (nb::cast<std::string>(name) != "axis")
            throw TypeError("stack takes axis=, not " + nb::cast<std::string>(name) + "=");
          axis = to_axis(value);
        }
        return stack(to_variables(nested ? nb::handle(parts[0]) : nb::handle(parts)), axis, here());
      },
      "Variables of one shape joined along a new axis: stack([x, y], axis=0), or stack(x, y).");
  m.def(
      "split",
      [](nb::handle x, nb::handle splits_size, nb::handle n_splits, int axis) {
        if (nb::isinstance<Variable>(splits_size) && nb::cast<Variable>(splits_size).rank() == 1) {
          if (n_splits.is_none())
            throw TypeError("split: n_splits is needed, the number of sizes in a symbolic vector");
          return split(to_operand(x), nb::cast<Variable>(splits_size), to_count(n_splits, "n_splits", max_parts), axis);
        }
        const bool parts = PyLong_Check(splits_size.ptr()) && n_splits.is_none();
        if (parts) return split_evenly(to_operand(x), to_count(splits_size, "a number of parts", max_parts), axis);
        const std::vector<Operand> sizes = to_each_size(splits_size);
        if (!n_splits.is_none() && to_int(n_splits, "n_splits") != static_cast<int>(sizes.size()))
          throw ValueError("split: n_splits is not the number of the sizes");
        return split(to_operand(x), sizes, axis);
      },
      "x"_a, "splits_size"_a, "n_splits"_a = nb::none(), "axis"_a = 0,
      "The parts of x along an axis: parts of the given sizes (a list, or a symbolic vector of n_splits sizes), whose "
      "sum must be the whole, or a number of parts of equal size.");
  m.def(
      "tile",
      [](nb::handle x, nb::handle reps, nb::handle ndim) {
        std::vector<Operand> repeats = to_each_size(reps);
        if (!ndim.is_none()) {
          const auto rank = static_cast<std::size_t>(to_count(ndim, "ndim", max_axes));
          if (rank < repeats.size()) throw ValueError("tile: ndim is less than the number of repetitions");
          repeats.insert(repeats.begin(), rank - repeats.size(), Operand(1, here()));
        }
        return tile(to_operand(x), repeats);
      },
      "x"_a, "reps"_a, "ndim"_a = nb::none(), "x repeated as a whole, reps[i] times along axis i.");
  m.def(
      "roll",
      [](nb::handle x, nb::handle shift, nb::handle axis) {
        if (!is_list(shift) && !is_list(axis)) return roll(to_operand(x), to_operand(shift), to_optional_axis(axis));
        if (!axis.is_none()) return roll(to_operand(x), to_sizes(shift), to_axes(axis));
        const Operand whole = to_operand(x);
        std::vector<Operand> shape;
        for (const Variable& size : whole.variable.shape(here())) shape.emplace_back(size, here());
        const Operand flat(flatten(whole), whole.where);
        return reshape(Operand(roll(flat, to_sizes(shift), std::vector<int>{0}), whole.where), shape);
      },
      "x"_a, "shift"_a, "axis"_a = nb::none(),
      "x with its elements shifted cyclically along the axis; None: those of the flattened x. With several shifts or "
      "axes, a single one of either is used for all of the other; an axis that is listed twice is shifted twice.");
  m.def(
      "flip",
      [](nb::handle x, nb::handle axis) {
        return axis.is_none() ? flip(to_operand(x)) : flip(to_operand(x), to_axes(axis));
      },
      "x"_a, "axis"_a = nb::none(), "x with its elements in reverse order along these axes (all if None).");
  m.def(
      "pad",
      [](nb::handle x, nb::handle pad_width, const std::string& mode, nb::handle constant_values) {
        const std::pair<const char*, PadMode> modes[] = {{"constant", PadMode::constant},
                                                         {"edge", PadMode::edge},
                                                         {"reflect", PadMode::reflect},
                                                         {"symmetric", PadMode::symmetric},
                                                         {"wrap", PadMode::wrap}};
        const Operand operand = to_operand(x);
        std::vector<std::pair<Operand, Operand>> widths;
        const auto add = [&](nb::handle entry) {
          const std::vector<Operand> ends = to_each_size(entry);
          if (ends.empty() || ends.size() > 2) throw ValueError("pad: a width is one number or (before, after)");
          widths.emplace_back(ends.front(), ends.back());
        };
        if (is_list(pad_width) && nb::len(pad_width) > 0 && is_list(pad_width[0])) {
          for (const nb::handle entry : pad_width) add(entry);
        } else {
          add(pad_width);
        }
        const auto rank = static_cast<std::size_t>(operand.variable.rank());
        if (widths.size() == 1) widths.resize(rank, widths[0]);
        if (widths.size() != rank) throw ValueError("pad: a width for each axis, or one for all, is needed");
        for (const auto& [name, value] : modes) {
          if (mode == name) return pad(operand, widths, value, to_operand(constant_values));
        }
        throw ValueError("pad: mode '" + mode + "' is not one of constant, edge, reflect, symmetric, wrap");
      },
      "x"_a, "pad_width"_a, "mode"_a = "constant", "constant_values"_a = 0,
      "x with pad_width[i] = (before, after) elements added to axis i: a constant, the edge, mirrored (reflect, "
      "symmetric) or from the other end (wrap).");
}

void bind_axes(nb::module_& m) {
  m.def("atleast_1d", [](nb::handle x) { return atleast_1d(to_operand(x)); }, "x"_a, "x with at least 1 axis.");
  m.def(
      "atleast_2d", [](nb::handle x) { return atleast_2d(to_operand(x)); }, "x"_a,
      "x with at least 2 axes; new ones are the first.");
  m.def(
      "atleast_3d", [](nb::handle x) { return atleast_3d(to_operand(x)); }, "x"_a,
      "x with at least 3 axes; new ones are the first.");
  m.def(
      "atleast_Nd",
      [](nb::handle x, nb::handle n, bool left) { return atleast_Nd(to_operand(x), to_count(n, "n", max_axes), left); },
      "x"_a, "n"_a, "left"_a = true, "x with at least n axes; new ones are on the left, or on the right.");
  m.def(
      "moveaxis",
      [](nb::handle x, nb::handle source, nb::handle destination) {
        return moveaxis(to_operand(x), to_axes(source), to_axes(destination));
      },
      "x"_a, "source"_a, "destination"_a, "x with axes moved to other positions; the other axes keep their order.");
  m.def(
      "swapaxes", [](nb::handle x, int axis1, int axis2) { return swapaxes(to_operand(x), axis1, axis2); }, "x"_a,
      "axis1"_a, "axis2"_a, "x with two axes exchanged.");
  m.def(
      "shape_padleft",
      [](nb::handle x, nb::handle n_ones) {
        return shape_padleft(to_operand(x), to_count(n_ones, "n_ones", max_axes));
      },
      "x"_a, "n_ones"_a = 1, "x with new axes of size 1 on the left.");
  m.def(
      "shape_padright",
      [](nb::handle x, nb::handle n_ones) {
        return shape_padright(to_operand(x), to_count(n_ones, "n_ones", max_axes));
      },
      "x"_a, "n_ones"_a = 1, "x with new axes of size 1 on the right.");
  m.def(
      "shape_padaxis", [](nb::handle x, int axis) { return shape_padaxis(to_operand(x), axis); }, "x"_a, "axis"_a,
      "x with a new axis of size 1 at the given position.");
  m.def(
      "broadcast_to", [](nb::handle x, nb::handle shape) { return broadcast_to(to_operand(x), to_sizes(shape)); },
      "x"_a, "shape"_a, "x broadcast to the shape; sizes that are not stated as 1 must be equal.");
  m.def(
      "specify_shape",
      [](nb::handle x, nb::handle shape) {
        std::vector<std::optional<Operand>> sizes;
        for (const nb::handle size : shape) sizes.push_back(to_optional_operand(size));
        return specify_shape(to_operand(x), sizes);
      },
      "x"_a, "shape"_a, "x with stated sizes (None: any); a call with other sizes raises.");
  m.def(
      "addbroadcast", [](nb::handle x, nb::args axes) { return addbroadcast(to_operand(x), to_axes(axes)); }, "x"_a,
      "axes"_a, "x with these axes stated to have size 1, so that they broadcast.");
  m.def(
      "unbroadcast", [](nb::handle x, nb::args axes) { return unbroadcast(to_operand(x), to_axes(axes)); }, "x"_a,
      "axes"_a, "x with these axes no longer stated to have size 1, so that they do not broadcast.");
  m.def(
      "patternbroadcast",
      [](nb::handle x, const std::vector<bool>& broadcastable) {
        return patternbroadcast(to_operand(x), broadcastable);
      },
      "x"_a, "broadcastable"_a, "x with the axes that are True stated to have size 1, and the others not.");
}

void bind_filled(nb::module_& m) {
  m.def(
      "full",
      [](nb::handle shape, nb::handle fill_value, nb::handle dtype) {
        return full(to_sizes(shape), to_operand(fill_value), to_optional_dtype(dtype));
      },
      "shape"_a, "fill_value"_a, "dtype"_a = nb::none(), "An array of the shape, filled with the value.");
  m.def(
      "full_like",
      [](nb::handle x, nb::handle fill_value, nb::handle dtype) {
        return full_like(to_operand(x), to_operand(fill_value), to_optional_dtype(dtype));
      },
      "x"_a, "fill_value"_a, "dtype"_a = nb::none(), "An array of the shape and dtype of x, filled with the value.");
  m.def(
      "empty",
      [](nb::handle shape, nb::handle dtype) { return empty(to_sizes(shape), to_optional_dtype(dtype), here()); },
      "shape"_a, "dtype"_a = nb::none(), "An array of the shape, filled with zeros.");
  m.def(
      "empty_like", [](nb::handle x) { return empty_like(to_operand(x)); }, "x"_a,
      "An array of the shape and dtype of x, filled with zeros.");
}

void bind_ranges(nb::module_& m) {
  m.def(
      "linspace",
      [](nb::handle start, nb::handle stop, nb::handle num, bool endpoint, nb::handle dtype) {
        return linspace(to_operand(start), to_operand(stop), to_operand(num), endpoint, to_optional_dtype(dtype));
      },
      "start"_a, "stop"_a, "num"_a = 50, "endpoint"_a = true, "dtype"_a = nb::none(),
      "num evenly spaced numbers from start to stop, which is the last one (or, without endpoint, the next one after "
      "it).");
  m.def(
      "logspace",
      [](nb::handle start, nb::handle stop, nb::handle num, bool endpoint, nb::handle base) {
        return logspace(to_operand(start), to_operand(stop), to_operand(num), endpoint, to_operand(base));
      },
      "start"_a, "stop"_a, "num"_a = 50, "endpoint"_a = true, "base"_a = 10.0,
      "num numbers, evenly spaced on a logarithmic scale: base to the power of linspace.");
  m.def(
      "geomspace",
      [](nb::handle start, nb::handle stop, nb::handle num, bool endpoint) {
        return geomspace(to_operand(start), to_operand(stop), to_operand(num), endpoint);
      },
      "start"_a, "stop"_a, "num"_a = 50, "endpoint"_a = true,
      "The geometric sequence of num numbers from start to stop.");
  m.def(
      "meshgrid",
      [](nb::args vectors, const std::string& indexing) {
        if (indexing != "xy" && indexing != "ij") throw ValueError("meshgrid: indexing is 'xy' or 'ij'");
        return meshgrid(to_variables(vectors), indexing == "ij");
      },
      "vectors"_a, "indexing"_a = "xy", "The coordinate arrays of the grid that the vectors span.");
}

void bind_diagonals(nb::module_& m) {
  const auto matrix_of_ones = [&](const char* name, auto f, const char* doc) {
    m.def(
        name,
        [f](nb::handle n, nb::handle columns, nb::handle k, nb::handle dtype) {
          return f(to_operand(n), to_optional_operand(columns), to_operand(k), to_optional_dtype(dtype));
        },
        "n"_a, "m"_a = nb::none(), "k"_a = 0, "dtype"_a = nb::none(), doc);
  };
  matrix_of_ones("eye", &eye, "The n x m matrix (n x n if m is None) with ones where column - row = k.");
  matrix_of_ones("tri", &tri, "The n x m matrix (n x n if m is None) with ones where column - row <= k.");
  m.def(
      "identity", [](nb::handle n, nb::handle dtype) { return identity(to_operand(n), to_optional_dtype(dtype)); },
      "n"_a, "dtype"_a = nb::none(), "The n x n identity matrix.");
  const auto of_diagonal = [&](const char* name, Variable (*f)(Operand, Operand), const char* doc) {
    m.def(name, [f](nb::handle x, nb::handle k) { return f(to_operand(x), to_operand(k)); }, "x"_a, "k"_a = 0, doc);
  };
  of_diagonal("tril", &tril, "x with zeros above diagonal k of the matrices of its last two axes.");
  of_diagonal("triu", &triu, "x with zeros below diagonal k of the matrices of its last two axes.");
  of_diagonal("diag", &diag, "Of a vector: the matrix with it on diagonal k. Of a matrix: its diagonal k.");
  const auto along = [&](const char* name, Variable (*f)(Operand, Operand, int, int), const char* doc) {
    m.def(
        name,
        [f](nb::handle x, nb::handle offset, int axis1, int axis2) {
          return f(to_operand(x), to_operand(offset), axis1, axis2);
        },
        "x"_a, "offset"_a = 0, "axis1"_a = 0, "axis2"_a = 1, doc);
  };
  along("diagonal", &diagonal, "The elements with index along axis2 - index along axis1 = offset, as the last axis.");
  along("trace", &trace, "The sum of a diagonal.");
  m.def(
      "fill_diagonal", [](nb::handle a, nb::handle val) { return fill_diagonal(to_operand(a), to_operand(val)); },
      "a"_a, "val"_a, "a with the value at elements whose indices are all equal.");
  m.def(
      "fill_diagonal_offset",
      [](nb::handle a, nb::handle val, nb::handle offset) {
        return fill_diagonal_offset(to_operand(a), to_operand(val), to_operand(offset));
      },
      "a"_a, "val"_a, "offset"_a, "The matrix a with the value where column - row = offset.");
  const auto hot = [](nb::handle y, nb::handle count, nb::handle dtype) {
    return one_hot(to_operand(y), to_operand(count), to_optional_dtype(dtype));
  };
  const char* doc =
      "One-hot vectors along a new last axis: 1 at the position that an integer gives (negative: from the end), 0 "
      "elsewhere; IndexError outside.";
  m.def("one_hot", hot, "y"_a, "nb_class"_a, "dtype"_a = nb::none(), doc);
  m.def("to_one_hot", hot, "y"_a, "nb_class"_a, "dtype"_a = nb::none(), doc);
  m.def(
      "diff",
      [](nb::handle x, nb::handle n, int axis) {
        return diff(to_operand(x), to_count(n, "a number of differences", max_differences), axis);
      },
      "x"_a, "n"_a = 1, "axis"_a = -1, "The differences x[i + 1] - x[i] along the axis, taken n times.");
}

}  // namespace

void bind_joins(nb::module_& m) {
  bind_joining(m);
  bind_axes(m);
  bind_filled(m);
  bind_ranges(m);
  bind_diagonals(m);
}

}  // namespace croton::python
