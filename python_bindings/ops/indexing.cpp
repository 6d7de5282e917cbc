// The functions of <croton/indexing.hpp>.
#include <croton/indexing.hpp>
#include <croton/views.hpp>

#include "core/arrays.hpp"
#include "core/bindings.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"

namespace croton::python {
namespace {

IndexMode to_mode(const std::string& name) {
  if (name == "raise") return IndexMode::raise;
  if (name == "wrap") return IndexMode::wrap;
  if (name == "clip") return IndexMode::clip;
  throw ValueError("mode '" + name + "' is not one of raise, wrap, clip");
}

}  // namespace

void bind_indexing(nb::module_& m) {
  m.def(
      "take",
      [](nb::handle x, nb::handle indices, nb::handle axis, const std::string& mode) {
        const Operand from = to_operand(x), at = to_operand(indices);
        return axis.is_none() ? take(from, at, to_mode(mode)) : take(from, at, to_axis(axis), to_mode(mode));
      },
      "x"_a, "indices"_a, "axis"_a = nb::none(), "mode"_a = "raise",
      "The elements at integer positions along one axis (None: of the flattened variable).");
  m.def(
      "take_along_axis",
      [](nb::handle x, nb::handle indices, int axis) {
        return take_along_axis(to_operand(x), to_operand(indices), axis);
      },
      "x"_a, "indices"_a, "axis"_a,
      "The elements of x at indices[i, j, ...] along the axis and at i, j, ... along the others.");
  m.def(
      "choose",
      [](nb::handle a, nb::handle choices, const std::string& mode) {
        return choose(to_operand(a), to_variables(choices), to_mode(mode));
      },
      "a"_a, "choices"_a, "mode"_a = "raise", "Element i of the result is choices[a[i]][i].");
  m.def(
      "set_subtensor", [](nb::handle x, nb::handle y) { return set_subtensor(to_operand(x), to_operand(y)); }, "x"_a,
      "y"_a,
      "The variable v of which x is a part, such as v[1:3], with that part replaced by y; v itself does not change.");
  m.def(
      "inc_subtensor", [](nb::handle x, nb::handle y) { return inc_subtensor(to_operand(x), to_operand(y)); }, "x"_a,
      "y"_a,
      "The variable v of which x is a part, such as v[1:3], with y added to that part; values for repeated positions "
      "accumulate.");
  m.def(
      "ravel_multi_index",
      [](nb::handle multi_index, nb::handle dims, const std::string& mode) {
        return ravel_multi_index(to_variables(multi_index), to_each_size(dims), to_mode(mode), here());
      },
      "multi_index"_a, "dims"_a, "mode"_a = "raise",
      "The positions, in C order, of multi-indices into an array of shape dims.");
  m.def(
      "unravel_index",
      [](nb::handle indices, nb::handle dims) { return unravel_index(to_operand(indices), to_each_size(dims)); },
      "indices"_a, "dims"_a, "The multi-indices of positions, in C order, in an array of shape dims.");
  m.def(
      "inverse_permutation", [](nb::handle p) { return inverse_permutation(to_operand(p)); }, "p"_a,
      "The permutation q with q[p[i]] = i.");
}

}  // namespace croton::python
