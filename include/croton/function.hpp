// Compiling symbolic expressions to functions, and inspecting the compiled code.
#pragma once

#include <croton/device.hpp>
#include <croton/shared.hpp>
#include <croton/variable.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace croton {

/// Treatment of an input on which no output or update depends. Absent: the flag on_unused_input.
enum class UnusedInput { raise, warn, ignore };

/// An input with its own rules; a plain Variable converts.
struct In {
  Variable variable;
  std::string name;                    ///< for named calls; empty: the variable's name
  std::optional<Array> value;          ///< default value
  bool strict = false;                 ///< no conversion at all
  std::optional<bool> allow_downcast;  ///< as FunctionOptions::allow_input_downcast, for this input
  In(const Variable& v) : variable(v) {}
};

/// An output with its own rules; a plain Variable converts.
struct Out {
  Variable variable;
  bool borrow = false;  ///< the array may share memory with the function's own; it is valid until the next call
  Out(const Variable& v) : variable(v) {}
  Out(const Variable& v, bool borrows) : variable(v), borrow(borrows) {}
};

/// One output (the call gives an Array) or a list (the call gives a list).
struct OutputList {
  std::vector<Out> outputs;
  bool single = false;
  OutputList() = default;
  OutputList(const Variable& v) : outputs{v}, single(true) {}
  OutputList(const Out& o) : outputs{o}, single(true) {}
  OutputList(std::initializer_list<Variable> list) : outputs(list.begin(), list.end()) {}
  OutputList(const std::vector<Variable>& list) : outputs(list.begin(), list.end()) {}
  OutputList(std::vector<Out> list) : outputs(std::move(list)) {}
};

struct FunctionOptions {
  std::vector<std::pair<Variable, Variable>> updates = {};  ///< (shared variable, new value); all see the old values
  std::vector<std::pair<Variable, Variable>> givens = {};   ///< (variable, its replacement); types must be equal
  std::string name = {};
  /// Permitted conversions of arguments. false or absent: only lossless ones (absent: also a C++ double for a float32
  /// scalar if floatX is float32); true: all.
  std::optional<bool> allow_input_downcast = {};
  std::optional<UnusedInput> on_unused_input = {};
  bool no_default_updates = false;
};

/// The results of a call: arrays in the order of the outputs.
class Outputs {
 public:
  Outputs() = default;
  Outputs(std::vector<Array> arrays, bool single) : arrays_(std::move(arrays)), single_(single) {}
  /// The only output; TypeError if there are several or none.
  operator const Array&() const { return only(); }
  const Array& only() const;
  template <class T>
  T item() const {
    return only().item<T>();
  }
  const Array& operator[](std::size_t i) const { return arrays_.at(i); }
  std::size_t size() const { return arrays_.size(); }
  bool is_list() const { return !single_; }
  auto begin() const { return arrays_.begin(); }
  auto end() const { return arrays_.end(); }
  const std::vector<Array>& arrays() const { return arrays_; }

 private:
  std::vector<Array> arrays_;
  bool single_ = false;
};
std::ostream& operator<<(std::ostream& out, const Outputs& outputs);

/// An argument of a call: an array, or a C++ number, converted by the rules for numbers. It refers to an lvalue array,
/// and owns a temporary one.
class Argument {
 public:
  Argument(const Array& a) : array_(&a) {}
  Argument(Array&& a) : own_(std::move(a)) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Argument(T value) : own_(Array(value)), number_(true) {}
  Argument(std::complex<double> value) : own_(Array(value)), number_(true) {}
  template <class T>
    requires(std::is_arithmetic_v<T> && !std::same_as<T, bool>)
  Argument(const std::vector<T>& values) : own_(Array(values)) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Argument(std::initializer_list<T> values) : own_(Array(values)) {}
  Argument(const Outputs& outputs) : array_(&outputs.only()) {}

  const Array& array() const { return array_ != nullptr ? *array_ : *own_; }
  bool is_number() const { return number_; }

 private:
  const Array* array_ = nullptr;
  std::optional<Array> own_;
  bool number_ = false;
};

/// The compiler's figures for one entry point of a CUDA kernel, for one architecture.
struct KernelFacts {
  std::string entry;                   ///< the kernel's name; long reductions have a second one, NAME_finish
  std::int64_t registers = 0;          ///< of a thread
  std::int64_t shared_bytes = 0;       ///< static shared memory of a block
  std::int64_t stack_bytes = 0;        ///< of a thread, in local memory: arrays that do not fit in registers
  std::int64_t spill_store_bytes = 0;  ///< registers written to local memory for lack of registers
  std::int64_t spill_load_bytes = 0;   ///< and read back
  std::int64_t constant_bytes = 0;     ///< the driver's reserved constants, the parameters, and constants of the code
};
/// One line: "row_1f0e: 40 registers, 0 bytes of static shared memory, ...".
std::string to_string(const KernelFacts& facts);

/// The schedule of one kernel of a function: how its work is distributed over a device, and why.
struct KernelSchedule {
  std::string name;      ///< that of its text, KernelInfo::name; kernels of one launch may share a text
  std::string family;    ///< "pointwise", "row", "column", "split", "contract"; or "routine", "loop"
  std::string device;    ///< "cpu", "cuda0"; a target such as "cuda:sm_90" if it was asked for
  std::string schedule;  ///< "threads=128 vector=4 items=1 across=128 index=narrow"; on the CPU "grain=32768"
  /// A sentence for each number: "vector=1: x (p0) begins 4 bytes after a multiple of 8".
  std::vector<std::string> reasons;
  Sizes sizes;              ///< of its axes, where neighbours may be merged; empty for routines and loops
  std::int64_t blocks = 0;  ///< of its launch on a GPU; 0 on the CPU, and for routines and loops
  int kernels = 1;          ///< of its launch on a GPU
};
/// A line with name, family, device and sizes, one with the schedule, and one for each reason.
std::string to_string(const KernelSchedule& schedule);

/// The memory of one operand of a launch.
struct KernelOperand {
  std::int64_t bytes = 0;        ///< of the elements that the launch touches, each counted once
  std::int64_t point_bytes = 0;  ///< the part for one point, such as a row that is reduced
  int passes = 1;                ///< how often each is read: once for each loop of the kernel, or launch of a routine
  bool written = false;
};

/// One generated kernel of a function.
struct KernelInfo {
  std::string name;                ///< family and hash of the code
  std::string source;              ///< the kernel's own text; CUDA C++ or C++ for the CPU
  std::string unit;                ///< the compiler's input, byte for byte: the prelude and `source`
  std::string expression;          ///< the kernel in the graph's language
  std::vector<std::string> lines;  ///< the user's lines that it computes: "train.cpp:12 loss"
  std::string ptx() const;         ///< for "cuda:sm_XX" targets, by NVRTC; DeviceError if NVRTC is not found
  std::vector<std::byte> cubin() const;
  /// Registers and memory of each entry, from the compiler's log; no device is needed. For "cuda:sm_XX" targets.
  std::vector<KernelFacts> facts() const;
  /// The instructions of the GPU, by nvdisasm; DeviceError, with the places searched, if nvdisasm is not found.
  std::string sass() const;
  /// The lines of `source`, each followed by its instructions.
  std::string annotated_sass() const;
  std::string assembly() const;  ///< for the cpu target, by LLVM
  std::string target;            ///< "cpu", "cuda:sm_90"
  std::string digest;            ///< hash of the text without comments
  std::string schedule;          ///< parameters of launches: "threads=256 blocks=2048"; for the CPU "grain=32768"
  /// The schedules of its kernels, with reasons: one, or several that are one launch.
  std::vector<KernelSchedule> schedules;
  /// For the sizes of KernelOptions::shapes, or for example sizes: "1009 x 1013: 127 blocks of 256 threads".
  std::string launch;
  // The same in numbers, of the main entry, and for a routine of its largest launch. 0: not known without a call, as
  // for loops.
  std::int64_t items = 0;         ///< that the launch distributes: elements, rows, tiles or parts of a reduction
  std::int64_t points = 0;        ///< independent results: elements, rows or columns
  std::int64_t length = 0;        ///< elements that are walked for each point, at most: 1 without reductions
  int cost = 0;                   ///< of an element, in additions; 0 for routines and loops
  std::int64_t grain = 0;         ///< of the CPU: the items that are worth another thread
  std::int64_t blocks = 0;        ///< of a CUDA target
  std::int64_t threads = 0;       ///< of a block
  std::int64_t shared_bytes = 0;  ///< dynamic shared memory of a block; static one is in `facts`
  std::int64_t launches = 0;      ///< of this text in a call: 2 for a long reduction with a second entry
  /// With KernelOptions::shapes, the operands in the order of the kernel; else empty. A routine's workspace comes last.
  std::vector<KernelOperand> operands;
};

/// Options for showing kernels.
struct KernelOptions {
  std::string schedule = {};  ///< overrides in the format of the flag schedule, in addition to the function's own
  /// The shapes of the arguments of a call, whose arrays are contiguous; inputs with a default value may be omitted at
  /// the end. Kernels are then those of that call, with its launches, of a GPU without cuDNN; only loops and the bodies
  /// of branches keep example sizes. The errors are those of a call, before it runs; ValueError if sizes depend on the
  /// value of an argument or on values that are computed. Empty: example sizes; for a function without inputs those of
  /// its call.
  std::vector<Sizes> shapes = {};
};

/// Counts over all calls of a function so far.
struct CallCounts {
  std::uint64_t calls = 0;
  std::uint64_t kernels = 0;            ///< launches of compiled kernels
  std::uint64_t products = 0;           ///< products by a library (or by Croton's own loop if there is none)
  std::uint64_t convolutions = 0;       ///< convolutions computed by a library (oneDNN, cuDNN)
  std::uint64_t routines = 0;           ///< running sums, sorts and similar ops, each of several launches
  std::uint64_t callbacks = 0;          ///< results of host callbacks (HostOp)
  std::uint64_t reference_kernels = 0;  ///< kernels run by the reference evaluator
  std::uint64_t compiled = 0;           ///< kernels compiled
  std::uint64_t cached = 0;             ///< kernels taken from the cache on disk
  std::uint64_t offered_parts = 0;      ///< parts of kernels on the host that other threads were offered
  /// Those of them that other threads did. Far fewer mean that the cores were busy: the calling thread does the parts
  /// that nobody has begun.
  std::uint64_t worker_parts = 0;
  std::uint64_t transfers = 0;  ///< copies from one device to another
  std::uint64_t transferred_bytes = 0;
  std::string product_library;
  std::string compiler;
};

namespace detail {
class Callable;
struct CompiledFunction;
}  // namespace detail

struct Verification;    // verification.hpp
struct Explanation;     // explain.hpp
struct ExplainOptions;  // explain.hpp

/// A compiled function. C++ copies refer to the same function; calls from several threads wait for each other (`copy()`
/// gives a function that does not wait).
class Function {
 public:
  Function() = default;

  /// Calls with the inputs in order. Raises errors of conversions, of sizes and of checks in the graph; a call that
  /// raises changes nothing.
  template <class... A>
  Outputs operator()(A&&... arguments) const {
    if constexpr (sizeof...(A) == 0) {
      return call({});
    } else {
      const Argument list[] = {Argument(std::forward<A>(arguments))...};
      return call(list);
    }
  }
  Outputs call(std::span<const Argument> arguments) const;
  /// The same for calls of microseconds, such as a repetition of a call of a few kernels and products over little
  /// memory on the host. Returns false and does nothing for other calls, or if it would have to wait for another call.
  /// `read` gets the results, in memory that the next such call overwrites, while the function is locked (so `read`
  /// must not call it).
  bool call_briefly(std::span<const Argument> arguments, const std::function<void(std::span<const Array>)>& read) const;
  /// Calls with inputs by name.
  Outputs call_named(const std::map<std::string, Argument>& arguments) const;

  /// Another function with the same code and its own working memory; shared variables stay shared.
  Function copy() const;
  /// The graph after rewriting, as text with the user's lines.
  std::string graph() const;
  /// The rewrite rules that fired, by group, with counts.
  std::string rewrites() const;
  /// Steps, buffers and lifetimes.
  std::string plan() const;
  /// The kernels for the function's devices (default) or for a target: "cpu", "cuda:sm_90". No device is needed. Sizes
  /// are examples unless the options have shapes; those of the last call are in `schedule`.
  std::vector<KernelInfo> kernels(const std::string& target = "", const KernelOptions& options = {}) const;
  /// The schedule of each kernel, and why it was chosen: as the last call ran it, with its sizes and on its devices;
  /// without the kernels of loops and branches that it did not run. Before the first call, or for a target or with
  /// options, those of `kernels` with the same arguments.
  std::vector<KernelSchedule> schedule(const std::string& target = "", const KernelOptions& options = {}) const;
  /// Another function with the same code, whose schedules have more overrides: `schedule`, such as
  /// "threads=128+vector=2", for one kernel, which `kernel` names as the flag schedule does ("row_1a2b3c", the
  /// beginning of its name), for a family ("row"), or for all (""). It has its own working memory, and shared variables
  /// stay shared; results never change. ValueError for overrides of another form, and for a kernel that this function
  /// has neither in its last call nor for example sizes. A loop that is one launch has the numbers of the family row.
  Function with_schedule(const std::string& kernel, const std::string& schedule) const;
  /// The distance of each step of a call to the limit of a machine, and why (explain.hpp). Without options: on the
  /// function's device, for a function without inputs.
  Explanation explain() const;
  Explanation explain(const ExplainOptions& options) const;
  /// The effect of overrides of the schedule (in the format of the flag schedule): for each kernel its schedule and
  /// launch before and after, and for a CUDA target its facts, if NVRTC is found. Results never change.
  std::string schedule_difference(const std::string& target, const std::string& schedule) const;
  /// The compiler's whole input, for all kernels.
  std::string source(const std::string& target = "") const;
  /// Number of matrix products in one call.
  std::size_t product_count() const;
  const std::string& name() const;
  CallCounts counts() const;
  /// The result of the last call under mode=verify; empty before the first.
  Verification verification() const;
  /// The transfers between devices of the last call, in order.
  std::vector<TransferInfo> transfers() const;
  /// The devices of a call from this thread, with the current flags.
  std::vector<std::string> devices() const;
  /// The device of each op, and the reason, for a call from this thread with the current flags; in the order of
  /// execution.
  std::string placement() const;
  bool defined() const { return impl_ != nullptr; }

  explicit Function(std::shared_ptr<detail::Callable> impl) : impl_(std::move(impl)) {}
  /// Plans the function for the current flags, and raises the errors of this.
  explicit Function(std::shared_ptr<const detail::CompiledFunction> compiled);

 private:
  detail::Callable& impl() const;  // TypeError for an empty function

  std::shared_ptr<detail::Callable> impl_;
};

/// Compiles a function from inputs to outputs, with updates of shared variables. Code is generated for the sizes,
/// strides and alignment classes of calls, when a call first needs it; 50 different batch sizes need one compilation.
Function function(std::vector<In> inputs, OutputList outputs, FunctionOptions options = {},
                  Where where = std::source_location::current());

/// The function of a graph that is given as text, in the format of `Function::graph`, without shared variables; its
/// inputs are in the order of the text. It is for graphs in files, such as the programs that mode=verify writes.
/// ValueError, with line and column, for a text that is not a graph; TypeError for a graph with shared variables.
Function function_of_graph(const std::string& text, Where where = std::source_location::current());

/// The user's graph as an indented tree, like Theano's debugprint.
std::string debugprint(const Variable& variable);
std::string debugprint(const Function& function);

}  // namespace croton
