// Writes the functor of a kernel: its struct of parameters, and the struct Body that a template of its family runs.
// What all families share is in emitter.cpp; how each one walks its axes in emit_families.cpp and emit_contract.cpp.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/functor.hpp"
#include "kernel/guard.hpp"

namespace croton::codegen {

class Emitter {
 public:
  Emitter(const Analysis& analysis, const Variant& variant, Target target, bool in_grid = false);
  /// struct Params and struct Body.
  Functor functor();
  /// These and the entries; `comment` stands above them.
  Text run(const std::vector<std::string>& comment);

 private:
  // ---- text ----
  /// Code counts for the digest, comments do not: a line added to the user's program keeps the cache warm.
  void line(std::string_view code, std::string_view comment = "");
  std::string origin_of(NodeId id) const;
  /// What operations of the user bring along, each text once.
  std::string support_text() const;

  // ---- parameters ----
  void parameters();

  // ---- addresses and values ----
  /// A kernel axis as its index; it is alone in its merged axis, or it would not be asked for.
  std::string axis_name(std::size_t k) const;
  /// The first access that walks the same operand by the same strides, from another place perhaps: elements of one
  /// window do, and their addresses are found once.
  std::size_t stride_owner(std::size_t a) const;
  std::string address(std::size_t a);
  DType dtype_of(std::size_t a) const { return analysis_.operand_of(a).dtype; }
  bool is_staged(std::size_t a) const { return variant_.tiled() && variant_.staged[a]; }
  std::string read(std::size_t a);
  /// What stands for a node in an expression: its name, or a literal.
  std::string operand(NodeId id) const;
  std::string converted(NodeId id, DType to) const;
  std::string expression(NodeId id);

  // ---- statements ----
  /// Nodes that are the same for all elements of a point, and may be computed once in front of them.
  void find_point_level();
  bool has_name(NodeId id) const;
  /// What the targets need and is not declared yet.
  std::set<NodeId> needed_by(std::vector<NodeId> pending) const;
  /// Declares that. `only_point_level`: the part that may stand in front of the elements.
  void declare(const std::vector<NodeId>& targets, bool only_point_level);
  /// Names declared inside a block are forgotten at its end.
  template <class F>
  void block(F inside) {
    const auto outer = names_;
    indent_ += 2;
    inside();
    indent_ -= 2;
    names_ = outer;
  }
  void store(std::size_t s);
  std::vector<NodeId> store_targets(std::size_t s) const;
  static bool is_guard(const kernel::Check& c) { return c.message == kernel::guard_message; }
  bool guarded() const { return std::ranges::any_of(kernel_.checks, is_guard); }
  void check(std::size_t c);
  /// The stores and checks that run over the elements of a point, or (`by_element` false) once a point.
  bool by_element(const kernel::Store& store) const;
  bool by_element(const kernel::Check& c) const { return analysis_.inner[c.condition] || analysis_.inner[c.value]; }
  void stores_and_checks(bool elements);
  bool any_by_element(bool elements) const;
  std::vector<NodeId> targets_of(bool elements) const;

  // ---- index variables ----
  /// i{first} ... i{first + count - 1} from a C-order position.
  void split_index(const std::string& position, std::size_t first, std::size_t count);
  /// The same of some axes, declared as `start`M.
  void split_index(std::string position, const std::vector<std::size_t>& axes,
                   std::string_view start = "const ct::index i");
  std::string product(std::size_t first, std::size_t count) const;
  std::string combiner(const kernel::Stage& stage) const;
  void inner_index() { split_index("k", variant_.parallel.size(), variant_.inner.size()); }
  /// The size of a merged axis as a divisor of positions. Stated sizes of what is walked for every point are numbers:
  /// a processor divides by them far faster.
  std::string divisor(std::size_t m) const;

  // ---- families (emit_families.cpp) ----
  /// A value that the last stage computes and the elements need again, such as the exponentials of a softmax, waits
  /// where the result will be: on a CPU that is cheaper than to compute it twice. The result may lie where an operand
  /// lies, so nothing but this value may be read behind that stage. `value` is no_node where there is none.
  struct Kept {
    NodeId value = expr::no_node;
    std::size_t access = 0;  // of the store
  };
  static constexpr int worth_keeping = 8;  // cost of an op (MapInfo) from which it is cheaper to store its result
  Kept find_kept() const;
  /// The nodes that `root` is computed from, where `known` needs none.
  std::vector<bool> needed_for(NodeId root, NodeId known) const;
  /// On a CPU, conditions on the fast axis alone, such as those of the parts of a join, are the same for all elements
  /// up to the next one that turns: they are not asked of each element.
  std::vector<Turn> find_turns();
  /// [&](k) { ... return value; }
  void value_lambda(const std::string& head, const kernel::Stage& stage, const std::string& arguments,
                    const std::string& tail, const Kept& kept);
  void emit_pointwise();
  /// `fetch` copies what is staged into the place `at` of a tile, `element` uses it.
  void emit_tiles();
  void emit_row();
  void emit_column();
  /// Bytes of all stages' states, each in a slot of 16.
  std::size_t state_bytes() const { return split_state_bytes(analysis_); }
  std::string parts_of(std::size_t s) const;
  void emit_split();

  // ---- contractions (emit_contract.cpp) ----
  /// Moves on by `by` along the last axis, whose place has the name `fast` and of which so much is left, and to the
  /// next line at its end.
  void walk_on(const std::string& fast, std::string_view by, const std::vector<std::size_t>& axes);
  /// Loops over `outers` positions of some axes from `outer` on, and over `count` of others from `first` on in runs
  /// along the last one of these. Divisions stand in front of the loops only.
  template <class F>
  void by_runs(const std::vector<std::size_t>& outer, const std::vector<std::size_t>& along, const F& element);
  std::vector<std::size_t> inner_axes() const;
  void split_batch(const std::vector<std::size_t>& batch);
  /// On a CPU factors are brought together in pieces, and sums are taken over in lines; on a GPU one by one.
  void emit_contract();

  // ---- entries (emit.cpp) ----
  /// Runs `call`, in which {} is the body.
  std::string run_body(const std::string& space, std::string_view call) const;
  std::string entries(const std::string& name) const;

  const Analysis& analysis_;
  const kernel::Kernel& kernel_;
  const expr::Arena& body_;
  const Variant& variant_;
  Target target_;
  bool in_grid_;
  std::vector<const MergedAxis*> axes_;
  std::vector<bool> point_level_;
  std::vector<std::size_t> stage_ = kernel::stage_of(kernel_);
  std::vector<Parameter> parameters_;
  std::map<NodeId, std::string> names_;
  std::set<NodeId> turned_;  // comparisons that are made once for many elements
  std::string struct_, code_, shown_;
  std::size_t indent_ = 0;
  std::size_t next_value_ = 0;
  std::size_t available_stages_ = 0;
};

}  // namespace croton::codegen
