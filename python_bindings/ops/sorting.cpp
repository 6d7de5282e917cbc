// The functions of <croton/sorting.hpp>.
#include <croton/sorting.hpp>

#include <nanobind/stl/optional.h>

#include "core/arrays.hpp"
#include "core/bindings.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"

namespace croton::python {
namespace {

/// Checks the name of a sorting algorithm of NumPy; all of them are stable here.
void check_kind(const std::optional<std::string>& kind) {
  if (!kind) return;
  for (const std::string_view known : {"quicksort", "mergesort", "heapsort", "stable"}) {
    if (*kind == known) return;
  }
  throw ValueError("kind='" + *kind + "': quicksort, mergesort, heapsort and stable are accepted, and all sort stably");
}

using Axis = std::optional<int>;

void bind_sums_and_sorting(nb::module_& m) {
  m.def(
      "cumsum",
      [](nb::handle x, Axis axis, nb::handle dtype, nb::handle acc_dtype) {
        return cumsum(to_operand(x), axis, to_optional_dtype(dtype), to_optional_dtype(acc_dtype));
      },
      "x"_a, "axis"_a = nb::none(), "dtype"_a = nb::none(), "acc_dtype"_a = nb::none(),
      "The cumulative sums along an axis, or of the flattened x. The dtype is x's by default; bool is counted in "
      "int64. Summed in acc_dtype, or in the dtype that holds x's and the result's.");
  m.def(
      "cumprod",
      [](nb::handle x, Axis axis, nb::handle dtype, nb::handle acc_dtype) {
        return cumprod(to_operand(x), axis, to_optional_dtype(dtype), to_optional_dtype(acc_dtype));
      },
      "x"_a, "axis"_a = nb::none(), "dtype"_a = nb::none(), "acc_dtype"_a = nb::none(),
      "The cumulative products along an axis, or of the flattened x, with dtypes as in cumsum; the gradient is exact "
      "with zeros.");
  m.def(
      "sort",
      [](nb::handle x, Axis axis, const std::optional<std::string>& kind) {
        check_kind(kind);
        return sort(to_operand(x), axis);
      },
      "x"_a, "axis"_a = -1, "kind"_a = nb::none(),
      "The elements in ascending order along an axis (flattened if None), nan last.");
  m.def(
      "argsort",
      [](nb::handle x, Axis axis, const std::optional<std::string>& kind) {
        check_kind(kind);
        return argsort(to_operand(x), axis);
      },
      "x"_a, "axis"_a = -1, "kind"_a = nb::none(), "The positions (int64) that sort x; equal ones keep their order.");
  m.def(
      "topk", [](nb::handle x, nb::handle kth, Axis axis, bool) { return topk(to_operand(x), to_operand(kth), axis); },
      "x"_a, "kth"_a, "axis"_a = -1, "sorted"_a = true,
      "The kth largest elements, the largest first; for kth < 0 the -kth smallest, the smallest first.");
  m.def(
      "argtopk",
      [](nb::handle x, nb::handle kth, Axis axis, bool, nb::handle idx_dtype) {
        return argtopk(to_operand(x), to_operand(kth), axis, to_optional_dtype(idx_dtype));
      },
      "x"_a, "kth"_a, "axis"_a = -1, "sorted"_a = true, "idx_dtype"_a = "int64",
      "The positions of the elements of topk.");
  m.def(
      "topk_and_argtopk",
      [](nb::handle x, nb::handle kth, Axis axis, bool, nb::handle idx_dtype) {
        const auto [values, positions] =
            topk_and_argtopk(to_operand(x), to_operand(kth), axis, to_optional_dtype(idx_dtype));
        return nb::make_tuple(values, positions);
      },
      "x"_a, "kth"_a, "axis"_a = -1, "sorted"_a = true, "idx_dtype"_a = "int64", "(topk, argtopk).");
  m.def(
      "searchsorted",
      [](nb::handle x, nb::handle v, const std::string& side, nb::handle sorter) {
        if (side != "left" && side != "right") throw ValueError("side='" + side + "': left and right are accepted");
        return searchsorted(to_operand(x), to_operand(v), side == "left" ? Side::left : Side::right,
                            sorter.is_none() ? std::nullopt : std::optional(to_operand(sorter)));
      },
      "x"_a, "v"_a, "side"_a = "left", "sorter"_a = nb::none(),
      "The insertion position of each v in the sorted vector x: before equal elements (left) or after them (right).");
}

void bind_computed_sizes(nb::module_& m) {
  m.def(
      "nonzero",
      [](nb::handle a, bool return_matrix) -> nb::object {
        if (return_matrix) return nb::cast(nonzero_matrix(to_operand(a)));
        nb::list indices;
        for (const Variable& index : nonzero(to_operand(a))) indices.append(nb::cast(index));
        return nb::tuple(indices);
      },
      "a"_a, "return_matrix"_a = false,
      "The indices of the elements that are not 0: a vector for each axis, or a matrix with a row for each axis.");
  m.def(
      "flatnonzero", [](nb::handle a) { return flatnonzero(to_operand(a)); }, "a"_a,
      "The positions, in the flattened a, of the elements that are not 0.");
  m.def(
      "nonzero_values", [](nb::handle a) { return nonzero_values(to_operand(a)); }, "a"_a,
      "The elements that are not 0, in C order.");
  m.def(
      "compress",
      [](nb::handle condition, nb::handle x, Axis axis) {
        return compress(to_operand(condition), to_operand(x), axis);
      },
      "condition"_a, "x"_a, "axis"_a = nb::none(), "The slices of x along the axis where the condition is not 0.");
  m.def(
      "extract", [](nb::handle condition, nb::handle x) { return extract(to_operand(condition), to_operand(x)); },
      "condition"_a, "x"_a, "The elements of the flattened x where the condition is not 0.");
  m.def(
      "repeat",
      [](nb::handle x, nb::handle repeats, Axis axis) { return repeat(to_operand(x), to_operand(repeats), axis); },
      "x"_a, "repeats"_a, "axis"_a = nb::none(),
      "x with each slice along the axis (each element if None) repeated; repeats is a number, or a vector with one for "
      "each slice.");
  m.def(
      "unique",
      [](nb::handle x, bool index, bool inverse, bool counts, std::optional<int> axis) -> nb::object {
        const Unique found = unique(to_operand(x), axis);
        if (!index && !inverse && !counts) return nb::cast(found.values);
        nb::list all;
        all.append(nb::cast(found.values));
        if (index) all.append(nb::cast(found.index));
        if (inverse) all.append(nb::cast(found.inverse));
        if (counts) all.append(nb::cast(found.counts));
        return nb::tuple(all);
      },
      "x"_a, "return_index"_a = false, "return_inverse"_a = false, "return_counts"_a = false, "axis"_a = nb::none(),
      "The distinct elements of the flattened x in ascending order, or the distinct slices along the axis; on request "
      "also the first position of each, the position in them of each of x's elements, and their counts.");
  m.def(
      "bincount",
      [](nb::handle x, nb::handle weights, std::optional<std::int64_t> minlength, bool) {
        return bincount(to_operand(x), weights.is_none() ? std::nullopt : std::optional(to_operand(weights)),
                        minlength.value_or(0));
      },
      "x"_a, "weights"_a = nb::none(), "minlength"_a = nb::none(), "assert_nonneg"_a = false,
      "The counts of 0, 1, ..., max(x) in x (int64), or the sums of their weights. Negative numbers always raise.");
}

}  // namespace

void bind_sorting(nb::module_& m) {
  bind_sums_and_sorting(m);
  bind_computed_sizes(m);
}

}  // namespace croton::python
