#include "fuse/guard.hpp"

#include <algorithm>
#include <map>

#include "base/config.hpp"

namespace croton::fuse {
namespace {

using expr::Arena;
using expr::Core;
using kernel::Kernel;

constexpr double too_big = 1e10;  // as in Theano

bool has_specials(DType dtype) { return is_float(dtype) || is_complex(dtype); }

/// Whether a value of a kernel's body may pass.
class Guard {
 public:
  explicit Guard(std::string_view kinds)
      : nan_(base::has_word(kinds, "nan")), inf_(base::has_word(kinds, "inf")), big_(base::has_word(kinds, "big")) {}

  NodeId passes(Arena& body, NodeId value) const {
    const DType dtype = body.type(value).dtype;
    // What is stored in 16 bits is rounded then, and may become infinite only then.
    if (compute_dtype(dtype) != dtype) value = body.make(Core::cast, {value}, {{"dtype", dtype}});
    if (big_) {
      const NodeId small = body.make(Core::le, {body.make(Core::abs, {value}), limit(body, dtype)});  // false for nan
      return nan_ ? small : body.make(Core::or_, {small, body.make(Core::isnan, {value})});
    }
    if (nan_ && inf_) return body.make(Core::isfinite, {value});
    return body.make(Core::invert, {body.make(nan_ ? Core::isnan : Core::isinf, {value})});
  }

 private:
  static NodeId limit(Arena& body, DType dtype) {
    const bool wide = dtype == DType::float64 || dtype == DType::complex128;
    return body.scalar(expr::Scalar::of_double(too_big, wide ? DType::float64 : DType::float32));
  }
  bool nan_, inf_, big_;
};

/// The values of a kernel that a guard looks at: what it stores (numbered from 0), and loads (-1 is operand 0).
void add_check(Kernel& kernel, const Guard& guard, NodeId value, std::int64_t number) {
  const NodeId condition = guard.passes(kernel.body, value);
  kernel.checks.push_back({condition, kernel.body.integer(number), std::string(kernel::guard_message)});
}

void guard_stores(KernelCall& call, const Guard& guard) {
  Kernel kernel = *call.kernel;
  for (std::size_t s = 0; s < kernel.stores.size(); ++s) {
    const kernel::Store store = kernel.stores[s];
    if (has_specials(kernel.operands[static_cast<std::size_t>(store.operand)].dtype))
      add_check(kernel, guard, store.value, static_cast<std::int64_t>(s));
  }
  kernel::verify(kernel);
  call.kernel = std::make_shared<const Kernel>(std::move(kernel));
}

/// Checks what the kernel reads of the node, if it reads it wherever it is.
bool guard_loads(KernelCall& call, const Guard& guard, NodeId node) {
  const auto operand = std::ranges::find(call.reads, node) - call.reads.begin();
  if (static_cast<std::size_t>(operand) == call.reads.size()) return false;
  Kernel kernel = *call.kernel;
  std::vector<NodeId> loads;
  for (NodeId id = 0; id < kernel.body.size(); ++id) {
    if (!kernel.body.op(id).is(Core::load) || kernel.body.attrs(id).integer("operand") != operand) continue;
    loads.push_back(id);
    // All elements only where each axis has an index of its own.
    std::vector<NodeId> axes;
    for (const NodeId index : kernel.body.inputs(id)) {
      if (!kernel.body.op(index).is(Core::axis) || std::ranges::find(axes, index) != axes.end()) return false;
      axes.push_back(index);
    }
  }
  if (loads.empty()) return false;
  for (const NodeId load : loads) add_check(kernel, guard, load, -1 - operand);
  kernel::verify(kernel);
  call.kernel = std::make_shared<const Kernel>(std::move(kernel));
  return true;
}

/// A kernel that reads a node and checks it.
Call checking_call(const Program& program, const Guard& guard, const Call& of, NodeId node) {
  const Arena& arena = program.graph.arena;
  const expr::TensorType& type = arena.type(node);
  Kernel kernel;
  KernelCall call;
  const expr::TypeId index_type = kernel.body.intern_type({DType::int64, {}});
  std::vector<NodeId> index;
  for (std::size_t axis = 0; axis < type.rank(); ++axis) {
    const NodeId dim = arena.representative(type.shape[axis]);
    NodeId extent = expr::no_node;
    if (const auto number = arena.known(dim)) {
      extent = kernel.body.integer(*number);
    } else {
      const auto k = std::ranges::find(call.extents, dim) - call.extents.begin();
      if (static_cast<std::size_t>(k) == call.extents.size()) call.extents.push_back(dim);
      extent = kernel.body.make_typed(Core::extent, {}, {{"k", static_cast<std::int64_t>(k)}}, index_type);
    }
    kernel.axes.push_back({extent});
    index.push_back(kernel.body.make_typed(Core::axis, {}, {{"k", static_cast<std::int64_t>(axis)}}, index_type));
  }
  kernel.extents = static_cast<int>(call.extents.size());
  kernel.operands.push_back({type.dtype, static_cast<int>(type.rank()), false});
  const NodeId load = kernel.body.make_typed(Core::load, index, {{"operand", std::int64_t{0}}},
                                             kernel.body.intern_type({type.dtype, {}}));
  add_check(kernel, guard, load, -1);
  kernel::verify(kernel);
  call.kernel = std::make_shared<const Kernel>(std::move(kernel));
  call.reads = {node};
  call.origins = {arena.origin(node)};
  Call result;
  result.work = std::move(call);
  result.place = of.place;
  result.segment = of.segment;
  return result;
}

}  // namespace

std::string_view guarded_kinds(const expr::Op& op, std::string_view kinds) {
  if (!op.gives_infinities) return kinds;
  return base::has_word(kinds, "nan") ? "nan" : "";
}

void guard_values(Program& program, std::string_view kinds) {
  const Guard guard(kinds);
  std::vector<Call> calls = std::move(program.calls);
  const std::vector<NodeId> roots = program.graph.roots();
  program.calls.clear();
  for (Call& call : calls) {
    if (auto* kernel = std::get_if<KernelCall>(&call.work)) guard_stores(*kernel, guard);
  }
  for (Call& call : calls) {
    std::vector<NodeId> nodes;
    if (!call.is<KernelCall>() && !call.is<TransferCall>()) nodes = call.members;
    const Call added = program.calls.emplace_back(std::move(call));
    for (const NodeId node : nodes) {
      if (!has_specials(program.graph.arena.type(node).dtype)) continue;
      const std::string_view own_kinds = guarded_kinds(program.graph.arena.op(node), kinds);
      if (own_kinds.empty()) continue;
      const Guard own(own_kinds);
      bool read = false;
      for (Call& reader : calls) {
        auto* kernel = std::get_if<KernelCall>(&reader.work);
        if (kernel != nullptr && reader.segment == added.segment && !read) read = guard_loads(*kernel, own, node);
      }
      if (!read) program.calls.push_back(checking_call(program, own, added, node));
    }
  }
}

NodeId guarded_node(const KernelCall& call, std::size_t check) {
  const kernel::Check& found = call.kernel->checks[check];
  if (found.message != kernel::guard_message) return expr::no_node;
  const std::int64_t number = call.kernel->body.scalar_value(found.value)->as_int();
  if (number < 0) return call.reads[static_cast<std::size_t>(-1 - number)];
  const int first = static_cast<int>(call.reads.size());
  return call.writes[static_cast<std::size_t>(call.kernel->stores[static_cast<std::size_t>(number)].operand - first)];
}

}  // namespace croton::fuse
