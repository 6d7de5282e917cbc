#include "fuse/guard.hpp"

#include <algorithm>
#include <map>

#include "base/config.hpp"
#include "base/find.hpp"
#include "base/index.hpp"

namespace croton::fuse {
namespace {

using expr::Arena;
using expr::Core;
using kernel::Kernel;

constexpr double too_big = 1e10;  // as in Theano

bool has_specials(DType dtype) { return is_float(dtype) || is_complex(dtype); }

/// Builds conditions for the values of a kernel's body that are allowed.
class Guard {
 public:
  explicit Guard(std::string_view kinds)
      : nan_(base::has_word(kinds, "nan")), inf_(base::has_word(kinds, "inf")), big_(base::has_word(kinds, "big")) {}

  NodeId passes(Arena& body, NodeId value) const {
    const DType dtype = body.type(value).dtype;
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

// The numbers of the checked values, which are the values of the checks: stores are 0, 1, ..., loaded operands are -1,
// -2, ...
std::int64_t number_of_store(std::size_t store) { return static_cast<std::int64_t>(store); }
std::int64_t number_of_operand(std::size_t operand) { return -1 - static_cast<std::int64_t>(operand); }

void add_check(Kernel& kernel, const Guard& guard, NodeId value, std::int64_t number) {
  const NodeId condition = guard.passes(kernel.body, value);
  kernel.checks.push_back({condition, kernel.body.integer(number), std::string(kernel::guard_message)});
}

void guard_stores(KernelCall& call, const Guard& guard) {
  Kernel kernel = *call.kernel;
  for (std::size_t s = 0; s < kernel.stores.size(); ++s) {
    const kernel::Store store = kernel.stores[s];
    if (has_specials(kernel.operands[store.operand].dtype)) add_check(kernel, guard, store.value, number_of_store(s));
  }
  kernel::verify(kernel);
  call.kernel = std::make_shared<const Kernel>(std::move(kernel));
}

/// Adds checks of the node's values to the kernel. False if the kernel does not load all elements unconditionally.
bool guard_loads(KernelCall& call, const Guard& guard, NodeId node) {
  const std::size_t operand = base::index_of(call.reads, node);
  if (operand == call.reads.size()) return false;
  Kernel kernel = *call.kernel;
  std::vector<NodeId> loads;
  for (NodeId id = 0; id < kernel.body.size(); ++id) {
    if (!kernel.body.op(id).is(Core::load) || kernel.body.attrs(id).index("operand") != operand) continue;
    loads.push_back(id);
    // The kernel only reads all elements if the indices are different axes.
    std::vector<NodeId> axes;
    for (const NodeId index : kernel.body.inputs(id)) {
      if (!kernel.body.op(index).is(Core::axis) || std::ranges::find(axes, index) != axes.end()) return false;
      axes.push_back(index);
    }
  }
  if (loads.empty()) return false;
  for (const NodeId load : loads) add_check(kernel, guard, load, number_of_operand(operand));
  kernel::verify(kernel);
  call.kernel = std::make_shared<const Kernel>(std::move(kernel));
  return true;
}

/// A kernel that only reads a node and checks its values.
Call checking_call(const Program& program, const Guard& guard, const Call& guarded, NodeId node) {
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
      const std::size_t k = base::index_of(call.extents, dim);
      if (k == call.extents.size()) call.extents.push_back(dim);
      extent = kernel.body.make_typed(Core::extent, {}, {{"k", k}}, index_type);
    }
    kernel.axes.push_back({extent});
    index.push_back(kernel.body.make_typed(Core::axis, {}, {{"k", axis}}, index_type));
  }
  kernel.extents = call.extents.size();
  kernel.operands.push_back({type.dtype, type.rank(), false});
  const NodeId load = kernel.body.make_typed(Core::load, index, {{"operand", std::int64_t{0}}},
                                             kernel.body.intern_type({type.dtype, {}}));
  add_check(kernel, guard, load, number_of_operand(0));
  kernel::verify(kernel);
  call.kernel = std::make_shared<const Kernel>(std::move(kernel));
  call.reads = {node};
  call.origins = {arena.origin(node)};
  Call result;
  result.work = std::move(call);
  result.place = guarded.place;
  result.segment = guarded.segment;
  return result;
}

}  // namespace

std::string_view guarded_kinds(const expr::Op& op, std::string_view kinds) {
  if (!op.gives_infinities) return kinds;
  return base::has_word(kinds, "nan") ? "nan" : "";
}

void guard_values(Program& program, std::string_view kinds) {
  const Guard guard(kinds);
  base::IdVector<CallId, Call> calls = std::move(program.calls);
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
  if (number < 0) return base::nth(call.reads, -1 - number);
  return call.writes[base::nth(call.kernel->stores, number).operand - call.reads.size()];
}

}  // namespace croton::fuse
