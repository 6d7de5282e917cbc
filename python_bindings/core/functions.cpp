// croton.function, and compiled functions as Python callables. Croton compiles and computes without the GIL.
#include <croton/explain.hpp>
#include <croton/function.hpp>
#include <croton/verification.hpp>

#include "core/arrays.hpp"
#include "core/bindings.hpp"
#include "core/callable.hpp"
#include "core/gil.hpp"
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "core/python_trace.hpp"
#include "core/where.hpp"

namespace croton::python {
namespace {

In to_input(nb::handle object) {
  if (nb::isinstance<In>(object)) return nb::cast<In>(object);
  if (nb::isinstance<Variable>(object)) return In(nb::cast<Variable>(object));
  throw TypeError("an input of a function is a variable or an In, not " +
                  nb::cast<std::string>(nb::str(object.type().attr("__name__"))));
}

/// Rejects values, though a constant could be made of them: they usually mean that a program assigned a function's
/// result to the name of a variable.
Out to_output(nb::handle object, std::size_t number, std::size_t count) {
  if (nb::isinstance<Out>(object)) return nb::cast<Out>(object);
  if (nb::isinstance<Variable>(object)) return Out(nb::cast<Variable>(object));
  const std::string type = nb::cast<std::string>(nb::str(object.type().attr("__name__")));
  const bool array = type == "ndarray";
  throw TypeError("function: output " + std::to_string(number) + " of " + std::to_string(count) + " is " +
                  (array ? "a NumPy array" : "of type " + type) + ", not a variable or an Out; " +
                  (array ? "was the symbolic variable of that name overwritten, by a result perhaps?"
                         : "make a constant by croton.constant"));
}

OutputList to_outputs(nb::handle object) {
  if (object.is_none()) return {};
  if (!is_list(object)) return to_output(object, 1, 1);
  std::vector<Out> outputs;
  const std::size_t count = nb::len(object);
  for (const nb::handle item : object) outputs.push_back(to_output(item, outputs.size() + 1, count));
  return outputs;
}

/// A copy of a list or mapping (as its pairs) that is an argument of `function`; other arguments unchanged.
nb::object snapshot(nb::handle argument) {
  if (nb::isinstance<nb::list>(argument)) return nb::list(argument);
  if (nb::hasattr(argument, "items")) return nb::list(argument.attr("items")());
  return nb::borrow(argument);
}

Callable compile(nb::handle inputs, nb::handle outputs, nb::handle updates, nb::handle givens,
                 std::optional<bool> allow_input_downcast, std::optional<std::string> name,
                 std::optional<std::string> on_unused_input, bool no_default_updates) {
  Callable result;
  result.arguments = nb::make_tuple(snapshot(inputs), snapshot(outputs), snapshot(updates), snapshot(givens),
                                    allow_input_downcast, name, on_unused_input, no_default_updates);
  if (!is_list(inputs)) throw TypeError("the inputs of a function are a list of variables");
  for (const nb::handle item : inputs) result.inputs.push_back(to_input(item));
  FunctionOptions options;
  options.updates = to_pairs(updates, "updates");
  options.givens = to_pairs(givens, "givens");
  options.name = std::move(name).value_or("");
  options.allow_input_downcast = allow_input_downcast;
  options.no_default_updates = no_default_updates;
  if (on_unused_input) {
    options.on_unused_input = choice<UnusedInput>(
        *on_unused_input, "on_unused_input",
        {{"raise", UnusedInput::raise}, {"warn", UnusedInput::warn}, {"ignore", UnusedInput::ignore}});
  }
  OutputList list = to_outputs(outputs);
  result.single = list.single;
  result.outputs = static_cast<Py_ssize_t>(list.outputs.size());
  const Where where = here();  // needs the GIL
  const ReleaseGil no_gil;
  result.function = function(result.inputs, std::move(list), std::move(options), where);
  return result;
}

std::string name_of_input(const In& in) { return in.name.empty() ? in.variable.name() : in.name; }

/// The input that a keyword names.
std::size_t named_input(const Callable& f, const std::string& name) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < f.inputs.size(); ++i) {
    if (name_of_input(f.inputs[i]) != name) continue;
    if (found) throw TypeError(f.function.name() + ": two inputs are called '" + name + "'; call with positions");
    found = i;
  }
  if (!found) throw TypeError(f.function.name() + ": there is no input called '" + name + "'");
  return *found;
}

/// Throws the error of a value that is not an array, with the input's name.
[[noreturn]] void throw_with_input(const Callable& f, std::size_t i, const TypeError& error) {
  const In& in = f.inputs[i];
  const std::string name = name_of_input(in);
  throw TypeError(f.function.name() + ": " + (name.empty() ? "input " + std::to_string(i) : name) + " is " +
                  in.variable.type().to_string() + ": " + error.what());
}

/// A value for input i.
Argument argument_of(const Callable& f, std::size_t i, nb::handle value) {
  const In& in = f.inputs[i];
  try {
    return to_call_argument(value, in.variable.type(), in.strict);
  } catch (const TypeError& error) {
    throw_with_input(f, i, error);
  }
}

/// The arguments in the order of the inputs, up to the first missing one; the function itself reports that.
std::vector<Argument> ordered(const Callable& f, nb::tuple args, nb::handle kwargs) {
  std::vector<std::optional<Argument>> given(std::max(f.inputs.size(), args.size()));
  const auto take = [&](std::size_t i, nb::handle value) {
    given[i] = i < f.inputs.size() ? argument_of(f, i, value) : Argument(to_array(value));
  };
  for (std::size_t i = 0; i < args.size(); ++i) take(i, args[i]);
  if (kwargs.is_valid()) {
    for (const auto [key, value] : nb::borrow<nb::dict>(kwargs)) {
      const auto name = nb::cast<std::string>(key);
      const std::size_t i = named_input(f, name);
      if (given[i]) throw TypeError(f.function.name() + ": the input '" + name + "' is given by position and by name");
      take(i, value);
    }
  }
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i] && f.inputs[i].value) given[i].emplace(*f.inputs[i].value);
    if (!given[i]) break;
    arguments.push_back(*std::move(given[i]));
  }
  return arguments;
}

/// The fast path of `ordered`: a positional value for each input.
std::vector<Argument> by_position(const Callable& f, nb::tuple args) {
  std::vector<Argument> arguments = std::move(f.spare);
  arguments.clear();
  arguments.reserve(f.inputs.size());
  try {
    for (const In& in : f.inputs)
      arguments.push_back(to_call_argument(args[arguments.size()], in.variable.type(), in.strict));
  } catch (const TypeError& error) {
    throw_with_input(f, arguments.size(), error);
  }
  return arguments;
}

/// A short call keeps the GIL: to release and acquire it again costs as much as a call of a few microseconds. It never
/// waits for other threads, which may need the GIL; invalid if it would have to, or if the call is not short.
nb::object call_briefly(const Callable& f, std::span<const Argument> arguments) {
  nb::object result;
  if (!f.single) result = nb::steal(PyList_New(f.outputs));  // before the call: a garbage collection may call f
  const bool done = f.function.call_briefly(arguments, [&](std::span<const Array> outputs) {
    if (f.single) {
      result = to_numpy(outputs[0], true);
      return;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i)
      PyList_SetItem(result.ptr(), static_cast<Py_ssize_t>(i), to_numpy(outputs[i], true).release().ptr());
  });
  return done ? result : nb::object();
}

nb::object call(const Callable& f, nb::tuple args, nb::handle kwargs) {
  if (f.outputs < 0) throw TypeError(f.function.name() + " is for inspection; the model or strategy calls it");
  const bool plain = !kwargs.is_valid() && args.size() == f.inputs.size();
  std::vector<Argument> arguments = plain ? by_position(f, args) : ordered(f, args, kwargs);
  if (nb::object result = call_briefly(f, arguments); result.is_valid()) {
    arguments.clear();
    f.spare = std::move(arguments);
    return result;
  }
  // The call gets a copy of the arguments, so that the last reference to a Python object is dropped here, with the GIL.
  const Outputs outputs = [&] {
    const ReleaseGil no_gil;
    return f.function.call(arguments);
  }();
  if (!outputs.is_list()) return to_numpy(outputs.only(), true);
  nb::list result;
  for (const Array& array : outputs) result.append(to_numpy(array, true));
  return result;
}

/// Replaces the error of a call by the result of a subclass's method `_explain(error, args, kwargs)`, if it has one.
void explain_error(nb::handle self, nb::handle args, nb::handle kwargs) {
  nb::python_error error;  // takes the current error, which the look-up of the method would clear
  try {
    if (!nb::hasattr(self, "_explain")) return error.restore();
    const nb::object explained = self.attr("_explain")(error.value(), args, kwargs);
    if (explained.is(error.value())) return error.restore();
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(explained.ptr())), explained.ptr());
  } catch (nb::python_error& other) {
    other.restore();
  }
}

/// f(...), as a slot of the type: to look up a method takes longer than a call of a small function.
PyObject* call_slot(PyObject* self, PyObject* args, PyObject* kwargs) noexcept {
  try {
    const Callable& f = *nb::inst_ptr<Callable>(nb::handle(self));
    const bool named = kwargs != nullptr && PyDict_Size(kwargs) > 0;
    return call(f, nb::borrow<nb::tuple>(args), named ? nb::handle(kwargs) : nb::handle()).release().ptr();
  } catch (...) {
    set_python_error(std::current_exception());
  }
  explain_error(self, args, kwargs != nullptr ? nb::handle(kwargs) : nb::none());
  return nullptr;
}

PyType_Slot function_slots[] = {{Py_tp_call, reinterpret_cast<void*>(&call_slot)}, {0, nullptr}};

/// A method that runs without the GIL, because it may wait for a call that needs the GIL.
template <auto Method>
auto unlocked() {
  return [](const Callable& f) {
    const ReleaseGil no_gil;
    return (f.function.*Method)();
  };
}

void bind_input_output(nb::module_& m) {
  nb::class_<In>(m, "In", "An input of a function, with options.")
      .def(
          "__init__",
          [](In* self, const Variable& variable, std::optional<std::string> name, nb::handle value, bool strict,
             std::optional<bool> allow_downcast) {
            In in(variable);
            in.name = std::move(name).value_or("");
            if (!value.is_none()) {
              // Copied and converted now: later changes of the caller's array have no effect.
              const Argument argument = to_argument(value, variable.type(), strict);
              const Array& array = argument.array();
              const bool converts = argument.is_number() && !strict && !is_discrete(variable.dtype()) &&
                                    (is_complex(variable.dtype()) || !is_complex(array.dtype()));
              in.value = converts ? array.astype(variable.dtype()) : array.copy();
            }
            in.strict = strict;
            in.allow_downcast = allow_downcast;
            new (self) In(std::move(in));
          },
          "variable"_a, "name"_a = nb::none(), "value"_a = nb::none(), "strict"_a = false,
          "allow_downcast"_a = nb::none(),
          "name: the keyword in calls (default: the variable's name); value: the default value; strict: no conversion "
          "at all; allow_downcast: as allow_input_downcast of function.")
      .def_prop_ro("variable", [](const In& in) { return in.variable; })
      .def_prop_ro("name", &name_of_input)
      .def_prop_ro(
          "rules",
          [](const In& in) {
            const nb::object value = in.value ? to_numpy(*in.value) : nb::none();
            return nb::make_tuple(in.name.empty() ? nb::none() : nb::cast(in.name), value, in.strict,
                                  in.allow_downcast);
          },
          "(name or None, value, strict, allow_downcast): In(variable, *rules) is an equal input.");
  nb::class_<Out>(m, "Out", "An output of a function, with options.")
      .def(nb::init<const Variable&, bool>(), "variable"_a, "borrow"_a = false,
           "borrow: the array may share memory with the function's own; it is valid until the next call.")
      .def_prop_ro("variable", [](const Out& out) { return out.variable; })
      .def_prop_ro(
          "rules", [](const Out& out) { return nb::make_tuple(out.borrow); },
          "(borrow,): Out(variable, *rules) is an equal output.");
}

void bind_kernel(nb::module_& m) {
  nb::class_<KernelFacts>(m, "KernelFacts", "The compiler's report on one entry of a CUDA kernel.")
      .def_ro("entry", &KernelFacts::entry, "The kernel's name; long reductions have a second one, NAME_finish.")
      .def_ro("registers", &KernelFacts::registers, "Registers per thread.")
      .def_ro("shared_bytes", &KernelFacts::shared_bytes, "Static shared memory per block.")
      .def_ro("stack_bytes", &KernelFacts::stack_bytes, "Local memory per thread.")
      .def_ro("spill_store_bytes", &KernelFacts::spill_store_bytes, "Registers written to local memory.")
      .def_ro("spill_load_bytes", &KernelFacts::spill_load_bytes, "Registers read back.")
      .def_ro("constant_bytes", &KernelFacts::constant_bytes, "Parameters and constants.")
      .def("__repr__", [](const KernelFacts& facts) { return to_string(facts); });
  nb::class_<KernelOperand>(m, "KernelOperand", "The memory of one operand of a launch.")
      .def_ro("bytes", &KernelOperand::bytes, "Bytes of the elements that the launch touches, each counted once.")
      .def_ro("point_bytes", &KernelOperand::point_bytes, "The part for one point, such as a row that is reduced.")
      .def_ro("passes", &KernelOperand::passes, "How often the kernel reads each of them.")
      .def_ro("written", &KernelOperand::written, "Whether the kernel writes it.");
  nb::class_<KernelSchedule>(m, "KernelSchedule", "The schedule of one kernel of a function, and why.")
      .def_ro("name", &KernelSchedule::name, "The name of its text; kernels of one launch may share a text.")
      .def_ro("family", &KernelSchedule::family,
              "'pointwise', 'row', 'column', 'split', 'contract', or 'routine' or 'loop'.")
      .def_ro("device", &KernelSchedule::device, "'cpu', 'cuda0'; or the target, if one was asked for.")
      .def_ro("schedule", &KernelSchedule::schedule, "Its numbers, as text; on the CPU the grain.")
      .def_ro("reasons", &KernelSchedule::reasons, "A sentence for each number.")
      .def_prop_ro(
          "sizes", [](const KernelSchedule& schedule) { return nb::tuple(nb::cast(schedule.sizes)); },
          "The sizes of its axes, where neighbours may be merged; empty for routines and loops.")
      .def_ro("blocks", &KernelSchedule::blocks, "Blocks of its launch on a GPU; 0 elsewhere, and if not known.")
      .def_ro("kernels", &KernelSchedule::kernels, "Kernels of its launch on a GPU.")
      .def("__str__", [](const KernelSchedule& schedule) { return to_string(schedule); })
      .def("__repr__", [](const KernelSchedule& schedule) {
        return "<croton.KernelSchedule " + schedule.name + " on " + schedule.device + ": " + schedule.schedule + ">";
      });
  nb::class_<KernelInfo>(m, "KernelInfo", "One generated kernel of a function.")
      .def_ro("name", &KernelInfo::name, "Family and hash of the code.")
      .def_ro("source", &KernelInfo::source, "The kernel's own text; CUDA C++, or C++ for the CPU.")
      .def_ro("unit", &KernelInfo::unit, "The compiler's input, byte for byte.")
      .def_ro("expression", &KernelInfo::expression, "The kernel in the graph's language.")
      .def_ro("lines", &KernelInfo::lines, "The user's lines that the kernel computes.")
      .def_ro("target", &KernelInfo::target, "The target: 'cpu', 'cuda:sm_90'.")
      .def_ro("schedule", &KernelInfo::schedule, "The schedule of a launch.")
      .def_ro("schedules", &KernelInfo::schedules, "The schedules of its kernels, with reasons.")
      .def_ro("launch", &KernelInfo::launch, "The launch for the given shapes, or for representative sizes.")
      .def_ro("items", &KernelInfo::items, "The items that the launch distributes.")
      .def_ro("points", &KernelInfo::points, "Independent results: elements, rows or columns.")
      .def_ro("length", &KernelInfo::length, "Elements that are walked for each point: 1 without reductions.")
      .def_ro("blocks", &KernelInfo::blocks, "Blocks of the launch; 0 if they are not known without a call.")
      .def_ro("threads", &KernelInfo::threads, "Threads of a block.")
      .def_ro("shared_bytes", &KernelInfo::shared_bytes, "Dynamic shared memory of a block.")
      .def_ro("launches", &KernelInfo::launches, "Launches of this text in a call.")
      .def_ro("operands", &KernelInfo::operands, "The memory of its operands, for given shapes.")
      .def("ptx", &KernelInfo::ptx, nb::call_guard<ReleaseGil>(),
           "PTX, for 'cuda:sm_XX' targets, by NVRTC; DeviceError if it cannot be found.")
      .def("facts", &KernelInfo::facts, nb::call_guard<ReleaseGil>(),
           "Registers and memory of each entry, for 'cuda:sm_XX' targets.")
      .def("sass", &KernelInfo::sass, nb::call_guard<ReleaseGil>(),
           "The GPU's instructions, by nvdisasm; DeviceError if it cannot be found.")
      .def("annotated_sass", &KernelInfo::annotated_sass, nb::call_guard<ReleaseGil>(),
           "The lines of the source, each with its instructions.")
      .def("assembly", &KernelInfo::assembly, nb::call_guard<ReleaseGil>(), "Assembly, for the target 'cpu', by LLVM.")
      .def(
          "cubin",
          [](const KernelInfo& kernel) {
            const std::vector<std::byte> bytes = [&] {
              const ReleaseGil no_gil;
              return kernel.cubin();
            }();
            return nb::bytes(bytes.data(), bytes.size());
          },
          "Machine code, for 'cuda:sm_XX' targets, as bytes.")
      .def("__repr__", [](const KernelInfo& kernel) {
        return "<croton.KernelInfo " + kernel.name + " for " + kernel.target + ">";
      });
  nb::class_<CallCounts>(m, "CallCounts", "Counts of the work that a function has done so far.")
      .def_ro("calls", &CallCounts::calls)
      .def_ro("kernels", &CallCounts::kernels, "Launches of compiled kernels.")
      .def_ro("products", &CallCounts::products, "Matrix products.")
      .def_ro("routines", &CallCounts::routines, "Running sums, sorts and the like, of several launches each.")
      .def_ro("callbacks", &CallCounts::callbacks, "Calls of the user's functions (HostOp).")
      .def_ro("convolutions", &CallCounts::convolutions, "Kernels whose sums a library computed.")
      .def_ro("reference_kernels", &CallCounts::reference_kernels, "Kernels run by the reference evaluator.")
      .def_ro("compiled", &CallCounts::compiled, "Kernels compiled.")
      .def_ro("cached", &CallCounts::cached, "Kernels taken from the cache on disk.")
      .def_ro("transfers", &CallCounts::transfers, "Copies from one device to another.")
      .def_ro("offered_parts", &CallCounts::offered_parts, "Parts of kernels that other threads were offered.")
      .def_ro("worker_parts", &CallCounts::worker_parts,
              "Those that other threads did; far fewer mean that the cores were busy.")
      .def_ro("transferred_bytes", &CallCounts::transferred_bytes)
      .def_ro("product_library", &CallCounts::product_library)
      .def_ro("compiler", &CallCounts::compiler);
}

void bind_verification(nb::module_& m) {
  nb::class_<OutputCheck>(m, "OutputCheck", "One result of a call under mode=verify, compared with double precision.")
      .def_ro("name", &OutputCheck::name)
      .def_prop_ro("dtype", [](const OutputCheck& check) { return std::string(name_of(check.dtype)); })
      .def_prop_ro("shape", [](const OutputCheck& check) { return nb::tuple(nb::cast(check.shape)); })
      .def_ro("fused_ulp", &OutputCheck::fused_ulp, "The largest error, in units in the last place.")
      .def_ro("unfused_ulp", &OutputCheck::unfused_ulp,
              "The same for the graph before rewriting, with one kernel for each op.")
      .def_ro("allowed_ulp", &OutputCheck::allowed_ulp,
              "The error that rounding may cause at the position of fused_ulp.")
      .def_prop_ro("index", [](const OutputCheck& check) { return nb::tuple(nb::cast(check.index)); })
      .def_ro("exact", &OutputCheck::exact)
      .def_ro("fused", &OutputCheck::fused)
      .def_ro("unfused", &OutputCheck::unfused);
  nb::class_<Verification>(m, "Verification", "The comparisons of a call under mode=verify.")
      .def_ro("outputs", &Verification::outputs, "Outputs, then updates.")
      .def("__str__", &Verification::to_string);
}

void bind_callable(nb::module_& m) {
  nb::class_<Callable>(
      m, "Function", nb::type_slots(function_slots), nb::is_weak_referenceable(),
      "A compiled function. Its arguments are arrays, numbers or lists, by position or name. Its outputs are NumPy "
      "arrays: one, or a list if it was compiled with a list. A call that raises changes nothing.")
      .def(
          "__init__",
          [](Callable* self, nb::handle inputs, nb::handle outputs, nb::handle updates, nb::handle givens,
             std::optional<bool> allow_input_downcast, std::optional<std::string> name,
             std::optional<std::string> on_unused_input, bool no_default_updates) {
            new (self) Callable(compile(inputs, outputs, updates, givens, allow_input_downcast, std::move(name),
                                        std::move(on_unused_input), no_default_updates));
          },
          "inputs"_a, "outputs"_a = nb::none(), "updates"_a = nb::none(), "givens"_a = nb::none(),
          "allow_input_downcast"_a = nb::none(), "name"_a = nb::none(), "on_unused_input"_a = nb::none(),
          "no_default_updates"_a = false)
      .def(
          "copy",
          [](const Callable& f) {
            const auto copied = [&] {  // waits for a call that may need the GIL
              const ReleaseGil no_gil;
              return f.function.copy();
            };
            return Callable{copied(), f.inputs, f.single, f.outputs, f.arguments};
          },
          "A function with the same code and its own working memory; shared variables stay shared.")
      .def("graph", unlocked<&Function::graph>(), "The graph after rewriting, as text; with the user's lines.")
      .def("rewrites", unlocked<&Function::rewrites>(), "The rewrite rules that fired, by group, with counts.")
      .def("plan", unlocked<&Function::plan>(), "Steps, buffers and lifetimes.")
      .def(
          "kernels",
          [](const Callable& f, const std::string& target, const std::string& schedule,
             const std::vector<Sizes>& shapes) {
            const ReleaseGil no_gil;
            return f.function.kernels(target, {.schedule = schedule, .shapes = shapes});
          },
          "target"_a = "", "schedule"_a = "", "shapes"_a = std::vector<Sizes>(),
          "The kernels for the function's devices (default) or for a target: 'cpu', 'cuda:sm_90'. No device is needed. "
          "Sizes are examples unless shapes are given; those of the last call are in schedule(). schedule: "
          "overrides, as in the flag of that name. shapes: those of the arguments of a call, whose kernels and "
          "launches "
          "are shown; else they are for example sizes.")
      .def(
          "schedule",
          [](const Callable& f, const std::string& target, const std::string& schedule,
             const std::vector<Sizes>& shapes) {
            const ReleaseGil no_gil;
            return f.function.schedule(target, {.schedule = schedule, .shapes = shapes});
          },
          "target"_a = "", "schedule"_a = "", "shapes"_a = std::vector<Sizes>(),
          "The schedule of each kernel, and why it was chosen: as the last call ran it. Before the first call, or with "
          "arguments, those of kernels(target, schedule, shapes).")
      .def(
          "explain",
          [](const Callable& f, const std::string& machine, const std::vector<Sizes>& shapes,
             const std::string& schedule, const PythonTrace* trace) {
            const Trace* const recorded = trace != nullptr ? &trace->get() : nullptr;
            const ReleaseGil no_gil;
            return f.function.explain({.machine = machine, .shapes = shapes, .schedule = schedule, .trace = recorded});
          },
          "machine"_a = "", "shapes"_a = std::vector<Sizes>(), "schedule"_a = "", "trace"_a = nb::none(),
          "How far each step of a call is from the limit of a machine, and why. machine: 'cpu', or a GPU by a part of "
          "its name ('H100'; croton.known_gpus()); '' for the function's device. shapes: those of the arguments. "
          "trace: a recording of calls on the host, to compare the model with; without one, a function that changes "
          "nothing is called to measure it. print() shows a table.")
      .def(
          "with_schedule",
          [](const Callable& f, const std::string& kernel, const std::string& schedule) {
            const auto changed = [&] {
              const ReleaseGil no_gil;
              return f.function.with_schedule(kernel, schedule);
            };
            return Callable{changed(), f.inputs, f.single, f.outputs, f.arguments};
          },
          "kernel"_a, "schedule"_a,
          "A function with the same code, whose schedules have more overrides: schedule, such as "
          "'threads=128+vector=2', for the kernel whose name begins with kernel ('row_1a2b3c'), for a family ('row') "
          "or "
          "for all (''). Shared variables stay shared, and results never change. ValueError for overrides of another "
          "form and for a kernel that is not one of the function's. A pickle of it has no overrides.")
      .def(
          "schedule_difference",
          [](const Callable& f, const std::string& target, const std::string& schedule) {
            const ReleaseGil no_gil;
            return f.function.schedule_difference(target, schedule);
          },
          "target"_a, "schedule"_a,
          "The changes that overrides of the schedule would make, kernel by kernel. Results never change.")
      .def(
          "source",
          [](const Callable& f, const std::string& target) {
            const ReleaseGil no_gil;
            return f.function.source(target);
          },
          "target"_a = "", "The compiler's input for all kernels.")
      .def("counts", unlocked<&Function::counts>(), "Counts of the work done so far.")
      .def("verification", unlocked<&Function::verification>(), "The comparisons of the last call under mode=verify.")
      .def("transfers", unlocked<&Function::transfers>(), "The copies between devices of the last call, in order.")
      .def("devices", unlocked<&Function::devices>(), "The devices that a call from this thread would run on now.")
      .def("placement", unlocked<&Function::placement>(),
           "The device of each op now, with the reason, in the order of the plan.")
      .def_prop_ro("product_count", unlocked<&Function::product_count>(), "The number of matrix products in one call.")
      .def_prop_ro("name", [](const Callable& f) { return f.function.name(); })
      .def_prop_ro(
          "arguments",
          [](const Callable& f) {
            if (f.outputs < 0) throw TypeError(f.function.name() + " was not made by croton.function");
            return f.arguments;
          },
          "The arguments of `function` that it was compiled with, by position.")
      .def_prop_ro(
          "inputs",
          [](const Callable& f) {
            nb::list inputs;
            for (const In& in : f.inputs) inputs.append(nb::cast(in.variable));
            return inputs;
          },
          "The input variables, in order.")
      .def("__repr__", [](const Callable& f) {
        std::string inputs;
        for (const In& in : f.inputs)
          inputs += (inputs.empty() ? "" : ", ") + (name_of_input(in).empty() ? "_" : name_of_input(in));
        return "<croton.Function " + f.function.name() + "(" + inputs + ")>";
      });
}

}  // namespace

void bind_functions(nb::module_& m) {
  bind_input_output(m);
  bind_kernel(m);
  bind_verification(m);
  bind_callable(m);
  m.def("function", &compile, "inputs"_a, "outputs"_a = nb::none(), "updates"_a = nb::none(), "givens"_a = nb::none(),
        "allow_input_downcast"_a = nb::none(), "name"_a = nb::none(), "on_unused_input"_a = nb::none(),
        "no_default_updates"_a = false,
        "Compiles a function from inputs to outputs (one, or a list). updates: new values of shared variables, "
        "{shared: expression} or pairs, all computed from the old values. givens: {variable: its replacement}. "
        "allow_input_downcast: with False or None, only conversions that lose nothing (None: also a float for a "
        "float32 scalar while floatX is float32); with True, any. on_unused_input: 'raise', 'warn' or 'ignore'.");
  m.def(
      "debugprint",
      [](nb::handle object) {
        return nb::isinstance<Callable>(object) ? debugprint(nb::cast<const Callable&>(object).function)
                                                : debugprint(to_variable(object));
      },
      "x"_a, "The graph of a variable or function as an indented tree.");
}

}  // namespace croton::python
