#include "kernel/evaluate.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/index.hpp"
#include "base/shape.hpp"
#include "expr/evaluate.hpp"

namespace croton::kernel {
namespace {

using expr::Core;
using expr::Scalar;

/// Nodes in topological order.
using Nodes = std::vector<NodeId>;

class Evaluator {
 public:
  Evaluator(const Kernel& kernel, std::span<const Array> reads, std::span<const std::int64_t> extents,
            std::span<const Sizes> shapes)
      : kernel_(kernel),
        body_(kernel.body),
        extents_(extents),
        values_(body_.size()),
        index_(kernel.axes.size(), 0),
        results_(kernel.stages.size()),
        stage_of_(stage_of(kernel)),
        depends_on_inner_(depends_on_inner(kernel)) {
    check_arguments(reads, shapes);
    for (const Axis& axis : kernel.axes) sizes_.push_back(evaluate_node(axis.extent).as_int());
  }

  std::vector<Array> run() {
    loop(false, 0, [&] { point(); });
    std::vector<Array> written;
    for (std::size_t p = 0; p < operands_.size(); ++p) {
      if (kernel_.operands[p].written)
        written.push_back(expr::array_of(written_[p], kernel_.operands[p].dtype, operands_[p].shape));
    }
    return written;
  }

 private:
  struct Memory {
    Sizes shape;
    Array array;  // of read operands
  };

  void check_arguments(std::span<const Array> reads, std::span<const Sizes> shapes) {
    if (extents_.size() != kernel_.extents) {
      throw ValueError(fmt::format("the kernel takes {} size(s), but {} are given", kernel_.extents, extents_.size()));
    }
    std::size_t read = 0, write = 0;
    for (std::size_t p = 0; p < kernel_.operands.size(); ++p) {
      const Operand& operand = kernel_.operands[p];
      if (operand.written ? write >= shapes.size() : read >= reads.size())
        throw ValueError(fmt::format("operand p{} is not given", p));
      Memory memory;
      if (operand.written) {
        memory.shape = shapes[write++];
      } else {
        memory.array = reads[read++].contiguous();
        memory.shape = memory.array.shape();
        if (memory.array.dtype() != operand.dtype) {
          throw TypeError(fmt::format("p{} is {}, but an array of {} is given", p, name_of(operand.dtype),
                                      name_of(memory.array.dtype())));
        }
      }
      if (memory.shape.size() != operand.rank) {
        throw ShapeError(
            fmt::format("p{} has {} dimension(s), but {} are given", p, operand.rank, memory.shape.size()));
      }
      const std::int64_t count = operand.written ? base::element_count(memory.shape, operand.dtype) : 0;
      written_.emplace_back(base::to_size(count), Scalar::of_int(0, DType::int64).cast(operand.dtype));
      operands_.push_back(std::move(memory));
    }
  }

  /// Calls `f` for all indices along the inner (or the parallel) axes, in C order.
  template <class F>
  void loop(bool inner, std::size_t axis, const F& f) {
    while (axis < kernel_.axes.size() && kernel_.axes[axis].inner != inner) ++axis;
    if (axis == kernel_.axes.size()) return f();
    for (index_[axis] = 0; index_[axis] < sizes_[axis]; ++index_[axis]) loop(inner, axis + 1, f);
  }

  void point() {
    for (std::size_t s = 0; s < kernel_.stages.size(); ++s) {
      run_checks(s);
      results_[s] = reduce(kernel_.stages[s]);
    }
    run_checks(kernel_.stages.size());
    for (const Store& store : kernel_.stores) {
      const bool per_element = std::ranges::any_of(store.index, [&](NodeId i) { return depends_on_inner_[i]; });
      each(per_element, [&] { run_store(store); });
    }
  }

  template <class F>
  void each(bool inner, const F& f) {
    if (inner)
      loop(true, 0, f);
    else
      f();
  }

  /// Runs the checks that need exactly the first `stage` stages.
  void run_checks(std::size_t stage) {
    for (const Check& check : kernel_.checks) {
      if (std::max(stage_of_[check.condition], stage_of_[check.value]) != stage) continue;
      each(depends_on_inner_[check.condition] || depends_on_inner_[check.value], [&] {
        if (evaluate_node(check.condition).i == 0)
          throw IndexError(expr::fill_message(check.message, evaluate_node(check.value).i, extents_));
      });
    }
  }

  Scalar reduce(const Stage& stage) {
    std::vector<Scalar> values;
    loop(true, 0, [&] { values.push_back(evaluate_node(stage.value)); });
    const DType dtype = body_.type(stage.value).dtype;
    const Array all = expr::array_of(values, dtype, {std::ssize(values)});
    const expr::Attrs attrs{{"axes", expr::Ints{0}}};
    return expr::element_of(
        stage.op->evaluate({attrs, {all}, stage.op->reduce->yields_index ? DType::int64 : dtype, {}}), 0);
  }

  void run_store(const Store& store) {
    const std::int64_t at = position(store.operand, store.index);
    base::nth(written_[store.operand], at) = evaluate_node(store.value);
  }

  std::int64_t position(std::size_t p, std::span<const NodeId> index) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const std::int64_t i = evaluate_node(index[d]).i, size = operands_[p].shape[d];
      if (i < 0 || i >= size)
        throw IndexError(fmt::format("index {} of axis {} of p{}, which has size {}", i, d, p, size));
      at = at * size + i;
    }
    return at;
  }

  /// Computes the root, and all nodes that it needs, in topological order.
  Scalar evaluate_node(NodeId root) {
    auto [at, fresh] = needed_.try_emplace(root);
    if (fresh) at->second = needed_by(root);
    for (const NodeId id : at->second) values_[id] = compute(id);
    return values_[root];
  }

  Nodes needed_by(NodeId root) const {
    std::vector<bool> needed(body_.size(), false);
    needed[root] = true;
    Nodes nodes;
    for (NodeId id = root + 1; id-- > 0;) {
      if (!needed[id]) continue;
      nodes.push_back(id);
      for (const NodeId input : body_.inputs(id)) needed[input] = true;
    }
    std::ranges::reverse(nodes);
    return nodes;
  }

  Scalar compute(NodeId id) {
    const expr::Op& op = body_.op(id);
    const expr::Attrs& attrs = body_.attrs(id);
    if (const auto constant = body_.scalar_value(id)) return *constant;
    if (op.is(Core::axis)) return Scalar::of_int(index_[attrs.index("k")], DType::int64);
    if (op.is(Core::extent)) return Scalar::of_int(extents_[attrs.index("k")], DType::int64);
    if (op.is(Core::result)) return results_[attrs.index("stage")];
    const auto inputs = body_.inputs(id);
    if (op.is(Core::load, Core::load_if)) {
      const bool guarded = op.is(Core::load_if);
      if (guarded && values_[inputs[0]].i == 0) return Scalar::of_int(0, DType::int64).cast(body_.type(id).dtype);
      return load(attrs.index("operand"), inputs.subspan(guarded ? 1 : 0));
    }
    std::vector<Scalar> operands;
    for (const NodeId input : inputs) operands.push_back(values_[input]);
    return expr::apply_map(op, operands, body_.type(id).dtype);
  }

  Scalar load(std::size_t p, std::span<const NodeId> index) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const std::int64_t i = values_[index[d]].i, size = operands_[p].shape[d];
      if (i < 0 || i >= size)
        throw IndexError(fmt::format("index {} of axis {} of p{}, which has size {}", i, d, p, size));
      at = at * size + i;
    }
    return expr::element_of(operands_[p].array, at);
  }

  const Kernel& kernel_;
  const expr::Arena& body_;
  std::span<const std::int64_t> extents_;
  std::vector<Memory> operands_;
  std::vector<std::vector<Scalar>> written_;  // per operand
  std::vector<Scalar> values_;                // per node
  std::vector<std::int64_t> sizes_, index_;   // per axis
  std::vector<Scalar> results_;               // per stage
  std::vector<std::size_t> stage_of_;
  std::vector<bool> depends_on_inner_;
  std::unordered_map<NodeId, Nodes> needed_;
};

}  // namespace

std::vector<Array> evaluate(const Kernel& kernel, std::span<const Array> reads, std::span<const std::int64_t> extents,
                            std::span<const Sizes> shapes) {
  return Evaluator(kernel, reads, extents, shapes).run();
}

}  // namespace croton::kernel
