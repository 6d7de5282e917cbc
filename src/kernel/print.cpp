#include <fmt/format.h>

#include "expr/print.hpp"
#include "kernel/kernel.hpp"

namespace croton::kernel {
namespace {

using expr::Core;

/// Prints a kernel. The values that a stage, store or check needs are defined once, before their first use, in the
/// order of the nodes.
class Printer {
 public:
  explicit Printer(const Kernel& kernel)
      : kernel_(kernel), body_(kernel.body), names_(body_.size()), done_(body_.size(), false) {}

  std::string run() {
    header();
    for (std::size_t s = 0; s < kernel_.stages.size(); ++s) {
      define({kernel_.stages[s].value});
      line("r{} = {} {}", s, kernel_.stages[s].op->name, value(kernel_.stages[s].value));
    }
    for (const Store& store : kernel_.stores) {
      std::vector<NodeId> roots = store.index;
      roots.push_back(store.value);
      define(roots);
      line("p{}[{}] = {}", store.operand, index(store.index), value(store.value));
    }
    for (const Check& check : kernel_.checks) {
      define({check.condition, check.value});
      line("check {}, {}, {}", value(check.condition), value(check.value),
           expr::to_string(expr::AttrValue(check.message)));
    }
    return std::move(text_);
  }

 private:
  template <class... T>
  void line(fmt::format_string<T...> format, T&&... values) {
    text_ += "  " + fmt::format(format, std::forward<T>(values)...) + '\n';
  }

  void header() {
    std::string axes, reads, writes;
    const auto add = [](std::string& list, const std::string& item) { list += (list.empty() ? "" : ", ") + item; };
    for (std::size_t axis = 0; axis < kernel_.axes.size(); ++axis) {
      add(axes,
          fmt::format("i{}: {}{}", axis, index({kernel_.axes[axis].extent}), kernel_.axes[axis].inner ? " inner" : ""));
    }
    for (std::size_t e = 0; e < kernel_.extents; ++e) add(reads, fmt::format("e{}", e));
    for (std::size_t p = 0; p < kernel_.operands.size(); ++p) {
      const Operand& operand = kernel_.operands[p];
      add(operand.written ? writes : reads, fmt::format("p{}: {}[{}]", p, short_name_of(operand.dtype), operand.rank));
    }
    text_ = fmt::format("kernel {} [{}] ({}) -> ({})\n", name_of(kernel_.family), axes, reads, writes);
  }

  /// Prints the definitions of all nodes that the roots need and that are not printed yet.
  void define(const std::vector<NodeId>& roots) {
    std::vector<bool> needed(body_.size(), false);
    NodeId last = 0;
    for (const NodeId root : roots) {
      needed[root] = true;
      last = std::max(last, root);
    }
    for (NodeId id = last + 1; id-- > 0;) {
      if (!needed[id] || done_[id]) continue;
      for (const NodeId input : body_.inputs(id)) needed[input] = true;
    }
    for (NodeId id = 0; id <= last; ++id) {
      if (!needed[id] || done_[id]) continue;
      done_[id] = true;
      const bool plain = body_.op(id).kind == expr::Kind::Leaf && !body_.op(id).is(Core::load, Core::load_if);
      if (plain) continue;
      const std::string right = statement(id);
      names_[id] = fmt::format("v{}", count_++);
      line("{} = {}", names_[id], right);
    }
  }

  std::string statement(NodeId id) const {
    const auto inputs = body_.inputs(id);
    const expr::Op& op = body_.op(id);
    if (op.is(Core::load)) return fmt::format("p{}[{}]", body_.attrs(id).integer("operand"), index(inputs));
    if (op.is(Core::load_if)) {
      return fmt::format("if {}: p{}[{}]", value(inputs[0]), body_.attrs(id).integer("operand"),
                         index(inputs.subspan(1)));
    }
    std::string arguments;
    for (const NodeId input : inputs) arguments += (arguments.empty() ? "" : ", ") + value(input);
    for (const auto& [key, attr] : body_.attrs(id).items()) {
      arguments += fmt::format("{}{}={}", arguments.empty() ? "" : ", ", key, expr::to_string(attr));
    }
    return fmt::format("{}({})", op.name, arguments);
  }

  std::string value(NodeId id) const {
    const expr::Op& op = body_.op(id);
    if (const auto constant = body_.scalar_value(id)) return expr::literal(*constant);
    if (op.is(Core::axis)) return fmt::format("i{}", body_.attrs(id).integer("k"));
    if (op.is(Core::extent)) return fmt::format("e{}", body_.attrs(id).integer("k"));
    if (op.is(Core::result)) return fmt::format("r{}", body_.attrs(id).integer("stage"));
    return names_[id];
  }

  /// Indices and sizes are int64, so their constants are printed without a dtype.
  std::string index(std::span<const NodeId> nodes) const {
    std::string text;
    for (const NodeId id : nodes) {
      const auto constant = body_.scalar_value(id);
      text += (text.empty() ? "" : ", ") + (constant ? fmt::format("{}", constant->as_int()) : value(id));
    }
    return text;
  }
  std::string index(std::initializer_list<NodeId> nodes) const { return index(std::span(nodes.begin(), nodes.size())); }

  const Kernel& kernel_;
  const expr::Arena& body_;
  std::vector<std::string> names_;
  std::vector<bool> done_;
  std::size_t count_ = 0;
  std::string text_;
};

}  // namespace

std::string print(const Kernel& kernel) { return Printer(kernel).run(); }

}  // namespace croton::kernel
