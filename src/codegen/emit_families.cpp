// The bodies of pointwise, row, column and split kernels.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "codegen/emitter.hpp"
#include "codegen/spelling.hpp"

namespace croton::codegen {

Emitter::CachedValue Emitter::find_cached() const {
  if (target_ != Target::cpu || kernel_.stages.empty() || !kernel_.checks.empty()) return {};
  std::vector<std::size_t> stores;
  for (std::size_t s = 0; s < kernel_.stores.size(); ++s) {
    if (by_element(kernel_.stores[s])) stores.push_back(s);
  }
  if (stores.size() != 1) return {};
  const NodeId stored = kernel_.stores[stores[0]].value;
  const std::size_t access = analysis_.store_access(stores[0]);
  const DType dtype = dtype_of(access);
  if (!analysis_.accesses[access].affine || compute_dtype(dtype) != dtype) return {};
  const std::vector<bool> in_stage = needed_for(kernel_.stages.back().value), in_store = needed_for(stored);
  for (NodeId id = body_.size(); id-- > 0;) {
    const expr::MapInfo* map = body_.op(id).map;
    if (!in_stage[id] || !in_store[id] || !analysis_.inner[id] || body_.type(id).dtype != dtype) continue;
    if (map == nullptr || map->cost < min_cached_cost) continue;
    const std::vector<bool> after = needed_for(stored, id);
    bool reads = false;
    for (const auto& [load, at] : analysis_.load_access) reads = reads || (after[load] && analysis_.inner[load]);
    if (!reads) return {id, access};
  }
  return {};
}

void Emitter::value_lambda(const std::string& head, const kernel::Stage& stage, const std::string& arguments,
                           const std::string& tail, const CachedValue& cached) {
  line(fmt::format("{}[&]({}) CT_INLINE {{", head, arguments));
  block([&] {
    inner_index();
    declare({stage.value}, false);
    if (cached.value != expr::no_node) line(fmt::format("{} = {};", address(cached.access), operand(cached.value)));
    line(fmt::format("return {};", operand(stage.value)));
  });
  line("}" + tail);
}

std::vector<ConditionSwitch> Emitter::find_switches() {
  if (target_ != Target::cpu || axes_.empty() || axes_.back()->axes.size() != 1) return {};
  std::vector<NodeId> targets = targets_of(false);
  for (const kernel::Store& store : kernel_.stores)
    targets.insert(targets.end(), store.index.begin(), store.index.end());
  std::vector<ConditionSwitch> switches;
  for (const NodeId id : needed_by(targets)) {
    const auto found = analysis_.switches.find(id);
    if (found == analysis_.switches.end() || found->second.axis != axes_.back()->axes[0]) continue;
    switched_.insert(id);
    const auto same_place = [&](const ConditionSwitch& other) {
      const ConditionSwitch& own = found->second;
      return std::tuple(own.offset, own.limit, own.after_equal) ==
             std::tuple(other.offset, other.limit, other.after_equal);
    };
    if (std::ranges::none_of(switches, same_place)) switches.push_back(found->second);
  }
  return switches;
}

void Emitter::emit_pointwise() {
  const std::size_t count = axes_.size();
  line(fmt::format("CT_MEMBER ct::index width() const {{ return {}; }}",
                   count == 0 ? "1" : fmt::format("p.n{}", count - 1)));
  const std::vector<ConditionSwitch> switches = find_switches();
  std::vector<NodeId> places;
  for (const ConditionSwitch& change : switches) places.insert(places.end(), {change.offset, change.limit});
  if (!switches.empty()) {
    line("CT_MEMBER ct::index turn(ct::index column, ct::index stop) const {");
    block([&] {
      declare(places, false);
      for (const ConditionSwitch& change : switches)
        line(fmt::format("stop = ct::turn(column, {}, {}, {}, stop);", operand(change.offset), operand(change.limit),
                         change.after_equal ? 1 : 0));
      line("return stop;");
    });
    line("}");
  }
  line(fmt::format("CT_MEMBER void element(ct::index{}, ct::index column{}) const {{", count <= 1 ? "" : " row",
                   switches.empty() ? "" : ", ct::index start"));
  block([&] {
    declare(places, false);
    if (count >= 2) split_index("row", 0, count - 1);
    if (count >= 1)
      line(fmt::format("const ct::index i{} = column;", count - 1));
    else
      line("(void)column;");
    // Without inner axes everything runs once per point, and a point is one element.
    stores_and_checks(false);
  });
  line("}");
}

void Emitter::emit_row() {
  line("template <class Team>");
  line(fmt::format("CT_MEMBER void point(const Team& team, {} position) const {{", position_type()));
  block([&] {
    if (variant_.parallel.empty()) line("(void)position;");
    split_index("position", 0, variant_.parallel.size());
    const CachedValue cached = find_cached();
    line(fmt::format("const ct::index length = {};", product(variant_.parallel.size(), variant_.inner.size())));
    for (std::size_t s = 0; s < kernel_.stages.size(); ++s) {
      available_stages_ = s;
      declare({kernel_.stages[s].value}, true);
      value_lambda(fmt::format("const auto r{} = team.template reduce<{}>(length, ", s, combiner(kernel_.stages[s])),
                   kernel_.stages[s], "ct::index k", ");", s + 1 == kernel_.stages.size() ? cached : CachedValue());
    }
    available_stages_ = kernel_.stages.size();
    if (any_by_element(true)) {
      declare(targets_of(true), true);
      line("team.each(length, [&](ct::index k) CT_INLINE {");
      block([&] {
        inner_index();
        if (cached.value != expr::no_node) {
          const std::string name = fmt::format("v{}", next_value_++);
          line(fmt::format("const auto {} = {};", name, read(cached.access)), "kept by the last reduction");
          names_[cached.value] = name;
        }
        stores_and_checks(true);
      });
      line("});");
    }
    if (any_by_element(false)) {
      if (overwrites_shared_reads()) line("team.sync();  // all have read what one of them may write");
      line("if (team.leads()) {");
      block([&] { stores_and_checks(false); });
      line("}");
    }
  });
  line("}");
}

void Emitter::emit_column() {
  const std::size_t fast = variant_.parallel.size() - 1;
  if (target_ == Target::cuda)
    row_of_point();
  else
    line(fmt::format("CT_MEMBER ct::index width() const {{ return p.n{}; }}", fast));
  line("template <class Team>");
  line(fmt::format("CT_MEMBER void tile(const Team& team, {0}{1}, {0} first) const {{", position_type(),
                   fast > 0 ? " row" : ""));
  const auto declare_point = [&] {
    if (target_ == Target::cpu) return line(fmt::format("const ct::index i{} = first + t;", fast));
    line(fmt::format("const Base i{} = first + Base(t);", fast));
    declare_numbers({fast});
  };
  block([&] {
    split_index("row", 0, fast);
    line(fmt::format("const ct::index length = {};", product(variant_.parallel.size(), variant_.inner.size())));
    for (std::size_t s = 0; s < kernel_.stages.size(); ++s) {
      available_stages_ = s;
      declare({kernel_.stages[s].value}, true);
      line(fmt::format("const auto r{} = team.template reduce<{}>(length, [&](ct::index t, ct::index k) CT_INLINE {{",
                       s, combiner(kernel_.stages[s])));
      block([&] {
        declare_point();
        line("(void)t;");
        inner_index();
        declare({kernel_.stages[s].value}, false);
        line(fmt::format("return {};", operand(kernel_.stages[s].value)));
      });
      line("});");
    }
    available_stages_ = kernel_.stages.size();
    if (any_by_element(true)) {
      declare(targets_of(true), true);
      line("team.each(length, [&](ct::index t, ct::index k) CT_INLINE {");
      block([&] {
        declare_point();
        inner_index();
        stores_and_checks(true);
      });
      line("});");
    }
    if (any_by_element(false)) {
      line("team.points_do([&](ct::index t) CT_INLINE {");
      block([&] {
        declare_point();
        stores_and_checks(false);
      });
      line("});");
    }
  });
  line("}");
}

std::string Emitter::parts_of(std::size_t s) const {
  return fmt::format("reinterpret_cast<typename {}::State*>(p.workspace + {} * parts())", combiner(kernel_.stages[s]),
                     16 * s);
}

void Emitter::emit_split() {
  line(fmt::format("CT_MEMBER ct::index length() const {{ return {}; }}", product(0, axes_.size())));
  line(fmt::format("CT_MEMBER ct::index parts() const {{ return (length() + {0} - 1) / {0}; }}",
                   in_loop_ ? "ct::block_elements" : "ct::part_elements"));
  line("template <class Team>");
  line("CT_MEMBER void part(const Team& team, ct::index part, ct::index first, ct::index count) const {");
  block([&] {
    for (std::size_t s = 0; s < kernel_.stages.size(); ++s) {
      declare({kernel_.stages[s].value}, true);
      line(fmt::format("const auto r{} = team.template combine<ct::Shifted<{}>>(count, [&](ct::index at) CT_INLINE {{",
                       s, combiner(kernel_.stages[s])));
      block([&] {
        line("const ct::index k = first + at;");
        inner_index();
        declare({kernel_.stages[s].value}, false);
        line(fmt::format("return ct::At<{}>{{{}, k}};", value_type(body_.type(kernel_.stages[s].value).dtype),
                         operand(kernel_.stages[s].value)));
      });
      line("});");
      line(fmt::format("if (team.leads()) {}[part] = r{};", parts_of(s), s));
    }
    if (any_by_element(true)) {
      declare(targets_of(true), true);
      line("team.each(count, [&](ct::index at) CT_INLINE {");
      block([&] {
        line("const ct::index k = first + at;");
        inner_index();
        stores_and_checks(true);
      });
      line("});");
    }
  });
  line("}");
  const bool by_warp = target_ == Target::cuda;
  if (by_warp) line("template <class Team>");
  line(fmt::format("CT_MEMBER void finish({}) const {{", by_warp ? "const Team& team" : ""));
  block([&] {
    for (std::size_t s = 0; s < kernel_.stages.size(); ++s) {
      line(fmt::format("const auto r{} = ct::{}<{}>({}, parts());", s, by_warp ? "total_of_blocks" : "split_total",
                       combiner(kernel_.stages[s]), parts_of(s)));
    }
    available_stages_ = kernel_.stages.size();
    if (by_warp) line("if (!team.leads()) return;");
    stores_and_checks(false);
  });
  line("}");
}

}  // namespace croton::codegen
