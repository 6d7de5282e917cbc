// Emitter: writes the functor of a kernel, which is its struct of parameters and the struct Body that the template
// of its family runs. The code for all families is in emitter.cpp, the loops of each family are in
// emit_families.cpp and emit_contract.cpp, those in packs on a GPU in emit_packs.cpp, emit_tiles.cpp,
// emit_row_packs.cpp and emit_column_packs.cpp, those of row and column kernels in one launch in emit_inner_outer.cpp.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/functor.hpp"
#include "kernel/guard.hpp"

namespace croton::codegen {

using kernel::Family;

class Emitter {
 public:
  Emitter(const Analysis& analysis, const Variant& variant, const Schedule& schedule, Target target,
          bool in_loop = false);
  /// Makes it the functor of one of two kernels in one launch.
  void share(const SharedOperands& shared) { shared_ = &shared; }
  /// The text of struct Params and struct Body.
  Functor functor();
  /// The functor and the entries, after the lines of `comment`.
  Text run(const std::vector<std::string>& comment);

 private:
  // ---- text ----
  /// Writes a line. The comment is not part of the digest, so that a new line in the user's program does not invalidate
  /// the cache.
  void line(std::string_view code, std::string_view comment = "");
  std::string origin_of(NodeId id) const;
  /// The support code of user-defined operations, each text once.
  std::string support_text() const;

  // ---- parameters ----
  void parameters();
  /// Those that the template divides by, on a GPU.
  void add_template_divisors();
  void add_parameter(Parameter parameter, const std::string& declaration);
  void add_divisor(Parameter::Kind kind, std::size_t index, const std::string& name);

  // ---- addresses and values ----
  /// The index variable of a kernel axis, which is not merged with others because it is used as a number.
  std::string axis_name(std::size_t k) const;
  /// The first access to the same operand with the same strides, possibly with another offset. The accesses to elements
  /// of one window have this form, and share the computation of their addresses.
  std::size_t stride_owner(std::size_t a) const;
  std::string address(std::size_t a);
  /// An element from an address on, which may be a sum.
  static std::string element_of(const std::string& address, const std::string& at);
  DType dtype_of(std::size_t a) const { return analysis_.operand_of(a).dtype; }
  bool is_staged(std::size_t a) const { return variant_.tiled() && variant_.staged[a]; }
  std::string read(std::size_t a);
  /// A stored value of the access's operand, as the type in which it is computed.
  std::string as_value(std::size_t a, const std::string& stored) const;
  /// A node as an operand of an expression: its name, or a literal.
  std::string operand(NodeId id) const;
  std::string converted(NodeId id, DType to) const;
  /// The expression of a node, rounded if the node is (kernel::rounded_where_computed).
  std::string rounded(NodeId id, const std::string& text) const;
  std::string expression(NodeId id);

  // ---- statements ----
  /// Finds nodes that are the same for all elements of a point and can be computed once, before the elements.
  void find_point_level();
  bool has_name(NodeId id) const;
  /// The nodes that the targets need and that are not declared yet.
  std::set<NodeId> needed_by(std::vector<NodeId> pending) const;
  /// Declares these nodes. `only_point_level`: only those that can be computed before the elements.
  void declare(const std::vector<NodeId>& targets, bool only_point_level);
  /// Writes an indented block. Names declared inside are not visible after it.
  template <class F>
  void block(F inside) {
    const auto outer = names_;
    indent_ += 2;
    inside();
    indent_ -= 2;
    names_ = outer;
  }
  void store(std::size_t s);
  NodeId stored(const kernel::Store& store) const;
  std::vector<NodeId> store_targets(std::size_t s) const;
  static bool is_guard(const kernel::Check& c) { return c.message == kernel::guard_message; }
  bool guarded() const { return std::ranges::any_of(kernel_.checks, is_guard); }
  void check(std::size_t c);
  /// Whether a store or check runs once per element of a point; else it runs once per point.
  bool by_element(const kernel::Store& store) const;
  bool by_element(const kernel::Check& c) const { return analysis_.inner[c.condition] || analysis_.inner[c.value]; }
  void stores_and_checks(bool elements);
  bool any_by_element(bool elements) const;
  bool overwrites_shared_reads() const;
  std::vector<NodeId> targets_of(bool elements) const;

  // ---- index variables ----
  /// Declares i{first} ... i{first + count - 1}, computed from a C-order position.
  void split_index(const std::string& position, std::size_t first, std::size_t count);
  /// The same for the given axes, declared as `start`M on a CPU.
  void split_index(std::string position, const std::vector<std::size_t>& axes,
                   std::string_view start = "const ct::index i");
  std::string product(std::size_t first, std::size_t count) const;
  std::string combiner(const kernel::Stage& stage) const;
  void inner_index() {
    split_index(target_ == Target::cpu ? "k" : "Base(k)", variant_.parallel.size(), variant_.inner.size());
  }
  /// The stated size of an inner axis, because a processor divides by constants much faster.
  std::optional<std::int64_t> constant_size(std::size_t m) const;
  /// The size of a merged axis as a divisor of positions.
  std::string divisor(std::size_t m) const;
  /// The type of positions.
  std::string_view base_type() const {
    return target_ == Target::cuda && schedule_.index == IndexWidth::narrow ? "int" : "ct::index";
  }
  std::string_view position_type() const { return target_ == Target::cuda ? "Base" : "ct::index"; }
  /// Whether it runs on a GPU without packs.
  bool is_by_element() const { return target_ == Target::cuda && !is_in_packs(); }
  /// Declares the indices of these axes that are used as numbers.
  void declare_numbers(const std::vector<std::size_t>& axes);
  /// On a GPU: the function that gives the line of a point, for templates that do without a tile for each block.
  void row_of_point();

  // ---- families (emit_families.cpp) ----
  /// A value that the last stage computes and that the elements need again, such as the exponentials of a softmax.
  /// It is cached in the memory of the result, which on a CPU is cheaper than to compute it twice. The result may
  /// share the memory of an operand, so only this value may be read after that stage. `value` is no_node if there is
  /// no such value.
  struct CachedValue {
    NodeId value = expr::no_node;
    std::size_t access = 0;  // the access of the store
  };
  /// The least cost of an op (MapInfo) at which it is cheaper to store its result.
  static constexpr int min_cached_cost = 8;
  CachedValue find_cached() const;
  std::vector<bool> needed_for(NodeId root, NodeId known = expr::no_node) const {
    return kernel::needed_for(body_, std::span(&root, 1), known);
  }
  /// The conditions on the fast axis alone, such as those of the parts of a join, on a CPU. They are constant for all
  /// elements up to the next switch, so they are not evaluated for each element.
  std::vector<ConditionSwitch> find_switches();
  /// Writes [&](k) { ... return value; }.
  void value_lambda(const std::string& head, const kernel::Stage& stage, const std::string& arguments,
                    const std::string& tail, const CachedValue& cached);
  void emit_pointwise();
  // ---- pointwise kernels with tiles (emit_tiles.cpp) ----
  /// On a CPU: writes `fetch`, which copies staged operands into element `at` of a tile, and `element`, which uses
  /// them.
  void emit_tiles();
  /// On a GPU: the same in packs; the elements of a tile are used as those of other pointwise kernels.
  void emit_pack_tiles();
  void tile_constants();
  void tile_staging();

  // ---- reductions in one pass (stage_groups.cpp) ----
  using StageGroup = kernel::StageGroup;
  /// The variable that has the group's results.
  static std::string group_name(const StageGroup& group);
  std::string combiner(const StageGroup& group) const;
  /// Declares what is the same for all elements, and names the results.
  void begin_group(const StageGroup& group);
  void declare_values(const StageGroup& group);
  std::string values(const StageGroup& group) const;

  // ---- pointwise kernels of a GPU (emit_packs.cpp) ----
  void emit_packs();
  void pack_constants();
  void pack_line();
  /// The types of positions, by the width of indices.
  void position_types(std::string_view base, std::string_view offset);
  /// Declares the indices of the line that are used as numbers.
  void line_positions();
  std::vector<std::size_t> fetched() const;
  /// The struct of what is loaded of these accesses: a pack of each, or a value.
  void pack_struct(std::string_view type, const std::vector<std::size_t>& accesses);
  /// That struct, and the function that loads it.
  void pack_inputs(std::string_view type, std::string_view function, const std::vector<std::size_t>& accesses);
  /// Declares the indices of a line: `row` is its position, or its index along the tile axis.
  void line_index();
  void pack_use();
  /// Whether the access reads lines along the fast axis, by positions that are computed once for a pack.
  bool is_gathered(std::size_t a) const {
    return is_in_packs() && !variant_.tiled() && variant_.reads_lines(analysis_.accesses[a], a);
  }
  /// Declares the packs of these accesses, and makes the checks of their positions.
  void gathered_packs();
  /// The loop over the elements of a pack that computes and stores them. `elements`: as in stores_and_checks().
  void pack_elements(bool elements);
  /// Whether values of an access are rounded when they are stored: of 16 bits.
  bool is_rounded(std::size_t a) const { return compute_dtype(dtype_of(a)) != dtype_of(a); }
  /// Whether pack_elements() stores the access's elements as packs.
  bool is_stored_in_packs(std::size_t a) const {
    return is_in_packs() && has_line(a) && along_line(a) == StrideClass::unit && (!is_folded() || schedule_.whole);
  }
  /// The pack that a store of pack_elements() stores: rounded, if it has 16 bits.
  std::string stored_pack(std::size_t a) const;
  // ---- row kernels of a GPU in packs (emit_row_packs.cpp) ----
  /// The nodes whose values a reduction computes and that a later one, or the results, need: they stay in registers.
  std::vector<std::vector<NodeId>> kept_by_group(const std::vector<StageGroup>& groups) const;
  void emit_row_packs();
  void emit_parts();
  /// The offset of an access by its strides along these axes: " + i0 * Base(p.s0_0)"; empty if it has none.
  std::string offset_along(std::size_t a, const std::vector<std::size_t>& axes) const;
  void folded_line();
  /// Declares the indices along the inner axes of a pack, or of its element `e` if packs may reach over a line's end.
  void folded_position();
  void folded_inputs(std::string_view type, std::string_view function, const std::vector<std::size_t>& accesses);
  std::string folded_load(std::size_t a, const std::string& from) const;
  void row_pack_constants();
  void row_pack_stage(const StageGroup& group, const std::vector<NodeId>& kept);
  /// Whether a row's elements of the access stay in registers between the reductions.
  bool is_held(std::size_t a) const { return std::ranges::find(held_, a) != held_.end(); }
  /// The same in shared memory.
  bool is_staged_row(std::size_t a) const { return std::ranges::find(staged_, a) != staged_.end(); }
  bool is_in_packs() const {
    if (target_ != Target::cuda) return false;
    return kernel_.family == Family::pointwise || is_row_of_packs() || is_column_of_packs();
  }
  /// Also of a split kernel, whose parts are rows.
  bool is_row_of_packs() const {
    const bool has_rows = kernel_.family == Family::row || (kernel_.family == Family::split && !in_loop_);
    return target_ == Target::cuda && has_rows && schedule_.packs > 0;
  }
  /// Whether the reduction is cut into parts, which the last block joins.
  bool in_parts() const { return (is_row_of_packs() || is_column_of_packs()) && schedule_.part > 0; }
  /// Whether the parts of a point meet after each reduction, so that all blocks run at the same time.
  bool meets() const { return is_row_of_packs() && schedule_.meets > 0; }
  /// The number that a reduction of a row in packs gets: of its first stage, or of the place of its states.
  std::size_t number_of(const StageGroup& group) const;
  /// The same for several points, each of which has its parts.
  bool has_parts_of_points() const { return in_parts() && kernel_.family != Family::split && schedule_.rows == 0; }
  bool is_split_of_packs() const { return kernel_.family == Family::split && is_row_of_packs(); }
  /// A row, or everything, whose elements are on several axes: positions are divided to get their indices.
  bool is_folded() const { return is_row_of_packs() && variant_.inner.size() > 1; }
  bool is_column_of_packs() const {
    return target_ == Target::cuda && kernel_.family == Family::column && schedule_.run > 0;
  }
  /// The axis of the elements of a pack.
  std::size_t fast_axis() const {
    const std::size_t count = kernel_.family == Family::column ? variant_.parallel.size() : axes_.size();
    return count == 0 ? 0 : count - 1;
  }
  /// The axes whose index is a remainder of a position, of sizes that are no constants: all but the outermost of each
  /// kind, or of each side of a contraction, and the fast one where blocks have tiles. With transposed tiles, those
  /// that no tile covers, but for the outermost.
  std::vector<std::size_t> divided_axes() const;
  /// Whether packs are aligned, so that one instruction moves them.
  bool is_aligned() const { return (!is_row_of_packs() && schedule_.rows == 0) || schedule_.vector > 1; }
  /// Whether the access is computed once for each line, with a pointer to the line's first element.
  bool has_line(std::size_t a) const { return analysis_.accesses[a].affine; }
  StrideClass along_line(std::size_t a) const {
    return axes_.empty() ? StrideClass::none : variant_.strides[a][fast_axis()];
  }
  /// Whether all elements of a pack have the same element of a fetched access.
  bool is_one_for_pack(std::size_t a) const {
    return along_line(a) == StrideClass::none && (!is_folded() || schedule_.whole);
  }
  /// Of column kernels: whether the access is a pack that is the same for all elements of a point.
  bool is_fixed(std::size_t a) const;
  /// The expression that loads a pack, or a value, of an access. The address of a pack; both before `left` elements.
  std::string pack_load(std::size_t a) const;
  std::string pack_address(std::size_t a) const;
  /// Declares the index of the element along the fast axis; those along the inner axes.
  void element_index();
  void inner_position(const std::string& position);
  /// Declares the indices of these axes from their position in C order, by multipliers and constants.
  void divide_position(std::string position, const std::vector<std::size_t>& axes);
  /// Whether the values of an access are loaded with those of all other such accesses, before any is used.
  bool is_fetched(std::size_t a) const;
  /// Whether it is loaded so, by elements whose conditions are true (codegen::conditional_packs).
  bool is_conditional_pack(std::size_t a) const { return std::ranges::find(conditional_, a) != conditional_.end(); }
  /// Declares which elements of the pack are loaded: w0[vector].
  void pack_condition(std::size_t a);

  // ---- column kernels of a GPU in packs (emit_column_packs.cpp) ----
  void emit_column_packs();
  void column_constants();
  void column_value(const StageGroup& group, const std::string& head);
  void column_stages();
  void column_elements();
  void column_parts();
  // ---- row and column kernels in one launch (emit_inner_outer.cpp) ----
  /// Of the row kernel: the call that adds a pack to the columns.
  void give_to_columns();
  void emit_columns_of_rows();
  void columns_inputs();
  /// Whether the row kernel only gives the results of this access to the column kernel.
  bool is_skipped(std::size_t a) const {
    return shared_ != nullptr && kernel_.family == Family::row && shared_->skipped[a];
  }

  void emit_row();
  void emit_column();
  /// The size of the states of all stages, in slots of 16 bytes.
  std::size_t state_bytes() const { return split_state_bytes(analysis_); }
  std::string parts_of(std::size_t s) const;
  void emit_split();

  // ---- contractions (emit_contract.cpp) ----
  /// Advances the index `fast` of the last axis by `by`, at most to its end, where it moves to the next line.
  void advance(const std::string& fast, std::string_view by, const std::vector<std::size_t>& axes);
  /// Writes a loop over `outers` positions of the axes `outer`, and in it a loop over `count` positions of the axes
  /// `along`, in runs along the last of these. Divisions only occur before the loops.
  template <class F>
  void by_runs(const std::vector<std::size_t>& outer, const std::vector<std::size_t>& along, const F& element);
  std::vector<std::size_t> inner_axes() const;
  void split_batch(const std::vector<std::size_t>& batch);
  /// Writes the functor. On a CPU its functions pack pieces of the factors and finish lines of sums; on a GPU they
  /// handle single values.
  void emit_contract();

  // ---- entries (emit.cpp) ----
  /// The statements that run `call`, in which {} is replaced by the body.
  std::string run_body(const std::string& space, std::string_view call) const;
  /// The attribute of the entry of a kernel for a GPU, or nothing.
  std::string launch_bounds() const;
  std::string entries(const std::string& name) const;

  const Analysis& analysis_;
  const kernel::Kernel& kernel_;
  const expr::Arena& body_;
  const Variant& variant_;
  const Schedule& schedule_;
  Target target_;
  bool in_loop_;
  const SharedOperands* shared_ = nullptr;
  bool in_each_row_ = false;  // of a column kernel in a launch with rows: in what is done for each row
  std::vector<const MergedAxis*> axes_;
  std::vector<bool> point_level_;
  std::vector<std::size_t> stage_ = kernel::stage_of(kernel_);
  std::vector<bool> rounded_ = kernel::rounded_where_computed(kernel_);
  std::vector<Parameter> parameters_;
  std::map<NodeId, std::string> names_;
  std::map<std::size_t, std::string> results_;  // of stages, in packs
  std::vector<std::size_t> held_, staged_;      // accesses
  std::vector<std::size_t> conditional_;        // accesses (is_conditional_pack)
  std::set<NodeId> switched_;                   // comparisons that are evaluated once for many elements
  std::set<std::size_t> checked_;               // the checks that are made once for a pack
  std::string struct_, code_, shown_;
  std::size_t indent_ = 0;
  std::size_t next_value_ = 0;
  std::size_t available_stages_ = 0;
};

}  // namespace croton::codegen
