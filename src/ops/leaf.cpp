// Leaves: of graphs (inputs, constants, sizes) and of kernel bodies (axes, sizes, loads, results of stages).
#include "ops/registry.hpp"

namespace croton::ops {

void register_leaf(Registry& registry) {
  const auto leaf = [](std::string_view name, int arity, std::string_view doc) {
    expr::Op op;
    op.name = name;
    op.kind = expr::Kind::Leaf;
    op.arity = arity;
    op.doc = doc;
    return op;
  };
  static const expr::Op ops[] = {
      leaf("input", 0, "an argument or shared variable of a graph"),
      leaf("shared", 0, "a shared variable, in the user's graph"),
      leaf("const", 0, "a scalar constant, by value"),
      leaf("constant", 0, "an array constant, by identity"),
      leaf("size", 0, "the size of one axis of an input"),
      leaf("axis", 0, "kernel body: the index along one axis of the kernel"),
      leaf("extent", 0, "kernel body: a size that the launch passes"),
      leaf("load", -1, "kernel body: the element of an operand at an index"),
      leaf("load_if", -1, "kernel body: as load, but 0 and no access where the first input is false"),
      leaf("result", 0, "kernel body: the result of a reduction stage"),
  };
  for (const expr::Op& op : ops) registry.add(op);
}

}  // namespace croton::ops
