#include "fuse/lower.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/find.hpp"
#include "base/index.hpp"
#include "fuse/contraction.hpp"
#include "fuse/node_work.hpp"
#include "kernel/contraction.hpp"

namespace croton::fuse {
namespace {

using expr::Arena;
using expr::Core;
using expr::Kind;
using kernel::Kernel;

class Lowering {
 public:
  Lowering(const expr::Graph& graph, const Regions& regions, const Region& region, const HostValues& host)
      : graph_(graph), arena_(graph.arena), regions_(regions), region_(region), host_(host) {
    for (const NodeId member : region.members) members_[member] = true;
  }

  KernelCall run() {
    for (std::size_t axis = 0; axis < region_.space.size(); ++axis) {
      const bool inner = std::ranges::binary_search(region_.inner, axis);
      kernel_.axes.push_back({extent(region_.space[axis]), inner});
      axes_.push_back(body().make_typed(Core::axis, {}, {{"k", axis}}, index_type()));
    }
    std::vector<std::pair<NodeId, NodeId>> values;  // member, value
    for (const NodeId member : region_.members) {
      if (regions_.is_stored(member)) values.emplace_back(member, element(member, index_of_member(member)));
      note_origin(member);
    }
    // Written operands come after the read ones, and all read ones are known now.
    for (const auto& [member, value] : values) {
      const expr::TensorType& type = arena_.type(member);
      kernel_.stores.push_back({kernel_.operands.size(), index_of_member(member), value});
      kernel_.operands.push_back({type.dtype, type.rank(), true});
      call_.writes.push_back(member);
    }
    kernel_.extents = call_.extents.size();
    kernel_.family = family();
    kernel::verify(kernel_);
    call_.kernel = std::make_shared<const Kernel>(std::move(kernel_));
    return std::move(call_);
  }

 private:
  Arena& body() { return kernel_.body; }
  expr::TypeId index_type() { return body().intern_type({DType::int64, {}}); }

  kernel::Family family() const {
    if (region_.inner.empty()) return kernel::Family::pointwise;
    if (is_contraction(arena_, region_.members.front()) && kernel::as_contraction(kernel_))
      return kernel::Family::contract;
    if (region_.inner.size() == region_.space.size()) return kernel::Family::split;
    return region_.inner.back() == region_.space.size() - 1 ? kernel::Family::row : kernel::Family::column;
  }

  void note_origin(NodeId node) {
    const expr::Origin& origin = arena_.origin(node);
    if (!origin.where.known()) return;
    for (const expr::Origin& known : call_.origins) {
      if (known.where == origin.where && known.name == origin.name) return;
    }
    call_.origins.push_back(origin);
  }

  /// A size as a node of the body: a constant, or a parameter of the launch.
  NodeId extent(NodeId dim) {
    dim = arena_.representative(dim);
    if (const auto number = arena_.known(dim)) return body().integer(*number);
    return parameter(dim);
  }
  NodeId parameter(NodeId node) {
    const std::size_t k = base::index_of(call_.extents, node);
    if (k == call_.extents.size()) call_.extents.push_back(node);
    return body().make_typed(Core::extent, {}, {{"k", k}}, index_type());
  }

  /// The index of a member in its own shape.
  std::vector<NodeId> index_of_member(NodeId member) {
    const auto& shape = arena_.type(member).shape;
    const bool reduced = reduces(arena_, member);
    std::size_t rank = 0;
    for (const NodeId dim : shape) rank += arena_.known(dim) == 1 ? 0 : 1;
    std::vector<NodeId> free;
    const bool whole_space = !reduced && rank == region_.space.size();
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      if (whole_space || !kernel_.axes[axis].inner) free.push_back(axes_[axis]);
    }
    std::vector<NodeId> index;
    std::size_t next = 0;
    for (const NodeId dim : shape) index.push_back(arena_.known(dim) == 1 ? body().integer(0) : free.at(next++));
    return index;
  }

  /// The interface of this lowering for views, generators and checks.
  class Elements final : public expr::ElementContext {
   public:
    Elements(Lowering& lowering, NodeId node, std::vector<NodeId> at)
        : ElementContext(lowering.body(), lowering.arena_.attrs(node), lowering.arena_.type(node).dtype),
          lowering_(lowering),
          node_(node) {
      index = std::move(at);
      for (const NodeId dim : lowering.arena_.type(node).shape) shape.push_back(lowering.extent(dim));
      for (const NodeId input : lowering.arena_.inputs(node)) {
        auto& sizes = input_shapes.emplace_back();
        for (const NodeId dim : lowering.arena_.type(input).shape) sizes.push_back(lowering.extent(dim));
      }
    }
    NodeId read(std::size_t input, std::vector<NodeId> at) override {
      const NodeId node = lowering_.arena_.input(node_, input);
      // Bounds and starts are computed on the host, so that index arithmetic on them needs no loads. Values can change
      // with every call, so they are loaded.
      const int values = std::max(1, lowering_.arena_.op(node_).values);
      if (std::cmp_greater_equal(input, values) && at.empty() && lowering_.host_.known[node] &&
          !lowering_.arena_.scalar_value(node)) {
        return lowering_.parameter(node);
      }
      return lowering_.element(node, at);
    }
    NodeId read_if(NodeId guard, std::size_t input, std::vector<NodeId> at) override {
      const NodeId outer = lowering_.guard_;
      lowering_.guard_ = outer == expr::no_node ? guard : body.make(Core::and_, {outer, guard});
      const NodeId value = lowering_.element(lowering_.arena_.input(node_, input), std::move(at));
      lowering_.guard_ = outer;
      const NodeId zero = body.scalar(expr::Scalar::of_int(0, DType::int64).cast(body.type(value).dtype));
      return body.make(Core::where, {guard, value, zero});
    }
    void check(NodeId condition, NodeId value, std::string message) override {
      // The condition only has to hold where the value is read.
      if (const NodeId guard = lowering_.guard_; guard != expr::no_node)
        condition = body.make(Core::or_, {body.make(Core::invert, {guard}), condition});
      for (const kernel::Check& known : lowering_.kernel_.checks) {
        if (known.condition == condition) return;
      }
      lowering_.kernel_.checks.push_back({condition, value, std::move(message)});
    }

    bool same_product(std::span<const std::size_t> axes, std::span<const std::size_t> input_axes) const override {
      const Arena& arena = lowering_.arena_;
      return factors(arena, arena.type(node_).shape, axes) ==
             factors(arena, arena.type(arena.input(node_, 0)).shape, input_axes);
    }

   private:
    /// The numbers in a product of sizes, multiplied, and its other factors in order.
    struct Factors {
      std::int64_t number = 1;
      std::vector<NodeId> others;
      bool operator==(const Factors&) const = default;
    };
    static Factors factors(const Arena& arena, std::span<const NodeId> shape, std::span<const std::size_t> axes) {
      Factors all;
      std::vector<NodeId> pending;
      for (const std::size_t axis : axes) pending.push_back(arena.representative(shape[axis]));
      while (!pending.empty()) {
        const NodeId size = pending.back();
        pending.pop_back();
        if (const auto number = arena.known(size)) {
          // A product that no index can reach is equal to none.
          if (__builtin_mul_overflow(all.number, *number, &all.number)) return {-1, {size}};
        } else if (arena.op(size).is(Core::mul)) {
          for (const NodeId input : arena.inputs(size)) pending.push_back(arena.representative(input));
        } else {
          all.others.push_back(size);
        }
      }
      std::ranges::sort(all.others);
      return all;
    }

    Lowering& lowering_;
    NodeId node_;
  };

  /// The element of a graph node at an index, as a node of the body.
  NodeId element(NodeId node, const std::vector<NodeId>& at) {
    const auto key = std::make_pair(node, std::make_pair(guard_, at));
    if (const auto known = elements_.find(key); known != elements_.end()) return known->second;
    // The elements of the inputs are made inside `compute`, with their own origins.
    const expr::OriginId outer = body().current_origin();
    body().set_origin(body().add_origin(arena_.origin(node)));
    const NodeId value = compute(node, at);
    body().set_origin(outer);
    elements_[key] = value;
    return value;
  }

  NodeId compute(NodeId node, const std::vector<NodeId>& at) {
    if (const auto value = arena_.scalar_value(node)) return body().scalar(*value);
    const expr::Op& op = arena_.op(node);
    const bool here = members_.contains(node);
    if (op.is(Core::size)) return extent(node);
    // A number that the host knows from the start is computed again, even if another kernel stores it as a result.
    const bool elsewhere =
        regions_.is_stored(node) && !here && (!host_.known_at_once(node) || regions_.stored[node] == Stored::depth);
    if (op.kind == Kind::Leaf || is_call(op) || elsewhere) return load(node, at);
    switch (op.kind) {
      case Kind::Map: {
        std::vector<NodeId> inputs;
        for (const NodeId input : arena_.inputs(node)) {
          const auto& shape = arena_.type(input).shape;
          const std::size_t missing = at.size() - shape.size();
          std::vector<NodeId> inner;
          for (std::size_t d = 0; d < shape.size(); ++d) {
            inner.push_back(arena_.known(shape[d]) == 1 ? body().integer(0) : at[missing + d]);
          }
          inputs.push_back(element(input, inner));
        }
        return body().make(op, inputs, expr::Attrs(arena_.attrs(node)));
      }
      case Kind::Reduce:
        return reduces(arena_, node) ? result(node) : unrolled_reduction(node, at);
      case Kind::View:
      case Kind::Generate:
      case Kind::Join:
      case Kind::Window:
      case Kind::Gather:
      case Kind::Check: {
        Elements context(*this, node, at);
        return op.element(context);
      }
      default:
        throw InternalError(fmt::format("{} cannot be part of a kernel", op.name));
    }
  }

  NodeId load(NodeId node, const std::vector<NodeId>& at) {
    const std::size_t operand = base::index_of(call_.reads, node);
    const expr::TensorType& type = arena_.type(node);
    if (operand == call_.reads.size()) {
      call_.reads.push_back(node);
      kernel_.operands.push_back({type.dtype, type.rank(), false});
    }
    const expr::Attrs attrs{{"operand", operand}};
    const expr::TypeId scalar = body().intern_type({type.dtype, {}});
    if (guard_ == expr::no_node) return body().make_typed(Core::load, at, attrs, scalar);
    std::vector<NodeId> inputs{guard_};
    inputs.insert(inputs.end(), at.begin(), at.end());
    return body().make_typed(Core::load_if, inputs, attrs, scalar);
  }

  /// A reduction over stated sizes, unrolled. For one element it is the element itself, and its position is 0.
  NodeId unrolled_reduction(NodeId node, const std::vector<NodeId>& at) {
    const NodeId input = arena_.input(node, 0);
    const expr::Ints& axes = arena_.attrs(node).ints("axes");
    const expr::ReduceInfo& info = *arena_.op(node).reduce;
    const std::int64_t count = std::max<std::int64_t>(unrolled_count(arena_, node), 1);
    if (count == 1 && info.yields_index) return body().integer(0);
    NodeId total = expr::no_node, position = body().integer(0);
    // Floats of 16 bits accumulate in float32, as those of a stage do.
    const DType dtype = arena_.type(input).dtype, wide = compute_dtype(dtype);
    for (std::int64_t k = 0; k < count; ++k) {
      const NodeId value = body().cast(element(input, index_of_element(input, axes, at, k)), wide);
      if (k == 0) {
        total = value;
      } else if (info.yields_index) {
        // The first best element; nan is better than all numbers.
        const Core better = info.combiner == "ArgMax" ? Core::gt : Core::lt;
        NodeId chosen = body().make(better, {value, total});
        if (is_float(body().type(value).dtype)) {
          const NodeId number = body().make(Core::invert, {body().make(Core::isnan, {total})});
          chosen =
              body().make(Core::and_, {number, body().make(Core::or_, {chosen, body().make(Core::isnan, {value})})});
        }
        position = body().make(Core::where, {chosen, body().integer(k), position});
        total = body().make(Core::where, {chosen, value, total});
      } else {
        total = combined(info, total, value);
      }
    }
    return info.yields_index ? position : body().cast(total, dtype);
  }

  /// The index in the input of element k, in C order, of those that the reduction at `at` combines.
  std::vector<NodeId> index_of_element(NodeId input, const expr::Ints& axes, const std::vector<NodeId>& at,
                                       std::int64_t k) {
    const auto& shape = arena_.type(input).shape;
    std::vector<NodeId> index(shape.size(), expr::no_node);
    for (std::size_t i = axes.size(); i-- > 0;) {
      const std::int64_t size = *arena_.known(base::nth(shape, axes[i]));
      base::nth(index, axes[i]) = body().integer(k % size);
      k /= size;
    }
    std::size_t next = 0;
    for (NodeId& i : index) {
      if (i == expr::no_node) i = at.at(next++);
    }
    return index;
  }

  NodeId combined(const expr::ReduceInfo& info, NodeId a, NodeId b) {
    static constexpr std::pair<std::string_view, Core> maps[] = {{"Sum", Core::add},     {"Product", Core::mul},
                                                                 {"Max", Core::maximum}, {"Min", Core::minimum},
                                                                 {"All", Core::and_},    {"Any", Core::or_}};
    const auto* map = std::ranges::find(maps, info.combiner, &std::pair<std::string_view, Core>::first);
    if (map == std::end(maps)) throw InternalError(fmt::format("{} is not known as a map", info.combiner));
    if (info.combiner == "Sum" && body().op(b).is(Core::mul) && is_float(body().type(b).dtype))
      return body().make(Core::fma, {body().input(b, 0), body().input(b, 1), a});
    return body().make(map->second, {a, b});
  }

  /// The result of a reduction of this region. Its stage is made at the first use.
  NodeId result(NodeId node) {
    const auto known = stages_.find(node);
    std::size_t stage = 0;
    if (known != stages_.end()) {
      stage = known->second;
    } else {
      const NodeId input = arena_.input(node, 0);
      std::vector<NodeId> at;
      std::size_t next = 0;
      for (const NodeId dim : arena_.type(input).shape)
        at.push_back(arena_.known(dim) == 1 ? body().integer(0) : axes_.at(next++));
      const NodeId value = element(input, at);  // may add stages that it needs; these come first
      stage = kernel_.stages.size();
      kernel_.stages.push_back({&arena_.op(node), value});
      stages_[node] = stage;
    }
    return body().make_typed(Core::result, {}, {{"stage", stage}}, body().intern_type({arena_.type(node).dtype, {}}));
  }

  const expr::Graph& graph_;
  const Arena& arena_;
  const Regions& regions_;
  const Region& region_;
  const HostValues& host_;
  Kernel kernel_;
  KernelCall call_;
  std::vector<NodeId> axes_;
  std::map<NodeId, bool> members_;
  std::map<NodeId, std::size_t> stages_;
  std::map<std::pair<NodeId, std::pair<NodeId, std::vector<NodeId>>>, NodeId> elements_;
  NodeId guard_ = expr::no_node;
};

}  // namespace

KernelCall lower(const expr::Graph& graph, const Regions& regions, const Region& region, const HostValues& host) {
  return Lowering(graph, regions, region, host).run();
}

}  // namespace croton::fuse
