#include "plan/plan.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/config.hpp"
#include "base/source_place.hpp"
#include "fuse/product.hpp"
#include "plan/verify.hpp"

namespace croton::plan {
namespace {

using expr::Arena;
using fuse::Call;
using fuse::Program;

class Planner {
 public:
  explicit Planner(const Program& program) : program_(program), graph_(program.graph), arena_(program.graph.arena) {}

  Plan run() {
    leaves();
    for (std::size_t c = 0; c < program_.calls.size(); ++c) add_step(static_cast<int>(c));
    results();
    donate_shared();
    order();
    launches();
    segments();
    lifetimes();
    in_place();
    return std::move(plan_);
  }

 private:
  int buffer_of(NodeId node) const {
    const auto at = buffers_.find(node);
    if (at == buffers_.end())
      throw InternalError(fmt::format("the plan has no buffer for a result of {}", arena_.op(node).name));
    return at->second;
  }
  int add_buffer(Buffer::Role role, NodeId node, int number = 0) {
    plan_.buffers.push_back({.role = role, .node = node, .number = number, .place = arena_.node(node).place});
    return static_cast<int>(plan_.buffers.size()) - 1;
  }
  Buffer& buffer(int b) { return plan_.buffers[static_cast<std::size_t>(b)]; }

  void leaves() {
    int arguments = 0, shared = 0;
    for (const expr::GraphInput& input : graph_.inputs) {
      const bool is_argument = input.role == expr::Role::argument;
      buffers_[input.node] = is_argument ? add_buffer(Buffer::Role::argument, input.node, arguments++)
                                         : add_buffer(Buffer::Role::shared, input.node, shared++);
    }
    const std::vector<bool> needed = expr::reachable(graph_);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (needed[id] && arena_.op(id).is(expr::Core::constant)) {
        buffers_[id] = add_buffer(Buffer::Role::constant, id, static_cast<int>(arena_.attrs(id).integer("index")));
      }
    }
  }

  MatrixRef matrix(NodeId node) const {
    MatrixRef ref;
    while (!buffers_.contains(node)) {
      const std::optional<bool> swapped = fuse::matrix_view(arena_, node);
      if (!swapped) throw InternalError(fmt::format("a product reads {}, which is not stored", arena_.op(node).name));
      ref.transposed ^= *swapped;
      ref.other_sizes |= fuse::is_other_sizes(arena_, node);
      node = arena_.input(node, 0);
    }
    ref.buffer = buffer_of(node);
    return ref;
  }

  void add_step(int c) {
    const Call& call = program_.calls[static_cast<std::size_t>(c)];
    if (const auto* transfer = std::get_if<fuse::TransferCall>(&call.work); transfer != nullptr && stays(*transfer))
      return;
    Step step{.call = c, .reads = {}, .writes = {}, .left = {}, .right = {}};
    std::visit([&](const auto& work) { fill(step, work); }, call.work);
    require_own_memory(step, call);
    plan_.steps.push_back(std::move(step));
  }

  /// Copies of what outlives the call are kept on the device, and sent again only when the value has changed.
  bool stays(const fuse::TransferCall& transfer) {
    const int source = buffer_of(transfer.source);
    const Buffer::Role role = buffer(source).role;
    if (role != Buffer::Role::shared && role != Buffer::Role::constant) return false;
    buffers_[transfer.result] = add_buffer(Buffer::Role::resident, transfer.result, source);
    return true;
  }

  void read(Step& step, NodeId node) const { step.reads.push_back(buffer_of(node)); }
  void write(Step& step, NodeId node) {
    step.writes.push_back(buffers_[node] = add_buffer(Buffer::Role::temporary, node));
  }

  // What a call reads and writes, by its kind.

  void fill(Step& step, const fuse::KernelCall& call) {
    for (const NodeId node : call.reads) read(step, node);
    for (const NodeId node : call.writes) write(step, node);
  }
  void fill(Step& step, const fuse::ProductCall& call) {
    step.left = matrix(call.left);
    step.right = matrix(call.right);
    step.reads = {step.left.buffer, step.right.buffer};
    for (const auto& generated : call.generated) {
      auto& reads = step.generated_reads.emplace_back();
      for (const NodeId node : generated->reads) reads.push_back(buffer_of(node));
    }
    if (call.accumulate != expr::no_node) {
      step.accumulate = buffer_of(call.accumulate);
      step.reads.push_back(step.accumulate);
    }
    write(step, call.result);
  }
  void fill(Step& step, const fuse::TransferCall& call) {
    read(step, call.source);
    write(step, call.result);
  }
  void fill(Step& step, const fuse::RoutineCall& call) {
    for (const NodeId node : call.reads) read(step, node);
    write(step, call.result);
    step.workspace = add_buffer(Buffer::Role::workspace, call.result);
  }
  void fill(Step& step, const fuse::HostCall& call) {
    for (const NodeId node : call.arguments) {
      if (!fuse::is_number(arena_, node)) read(step, node);
    }
    write(step, call.result);
  }
  void fill(Step& step, const fuse::LoopCall& call) {
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (fuse::is_loop_number(call, arena_, i)) continue;
      NodeId input = call.inputs[i];
      const bool is_sequence = i >= 1 && i <= call.loop.sequences;
      while (is_sequence && !buffers_.contains(input) && fuse::is_sequence_view(graph_, program_.host, input))
        input = arena_.input(input, 0);
      read(step, input);
    }
    for (const fuse::LoopCall::Result& result : call.results) write(step, result.node);
  }
  void fill(Step& step, const fuse::BranchCall& call) {
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (!fuse::is_branch_number(program_, call, i)) read(step, call.inputs[i]);
    }
    for (const fuse::BranchCall::Result& result : call.results) write(step, result.node);
  }

  /// A device reads its own memory. (A branch has what the chosen body needs sent to it.)
  void require_own_memory(const Step& step, const Call& call) const {
    if (call.is<fuse::TransferCall>() || call.is<fuse::BranchCall>()) return;
    const auto require = [&](int b) {
      const Buffer& read = plan_.buffers[static_cast<std::size_t>(b)];
      if (read.place == call.place) return;
      const NodeId node = call.members.front();
      const expr::Origin& origin = arena_.origin(node);
      throw InternalError(fmt::format(
          "plan: {} ({}) runs on another device than the {} it reads is on", arena_.op(node).name,
          origin.where.known() ? base::file_and_line(origin.where) : "line unknown", arena_.op(read.node).name));
    };
    for (const int b : step.reads) require(b);
    for (const std::vector<int>& generated : step.generated_reads) {
      for (const int b : generated) require(b);
    }
  }

  /// Outputs get memory of their own; an output that is an argument, a shared variable or another output again is
  /// copied when bound.
  void results() {
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const NodeId node = graph_.outputs[i];
      const int b = buffers_.contains(node) ? buffer_of(node) : -1;  // -1: a scalar constant or a size
      plan_.output_buffer.push_back(b);
      if (b >= 0 && buffer(b).role == Buffer::Role::temporary) {
        buffer(b).role = Buffer::Role::output;
        buffer(b).number = static_cast<int>(i);
      }
    }
    for (std::size_t i = 0; i < graph_.updates.size(); ++i) {
      const NodeId node = graph_.updates[i].value;
      const int b = buffers_.contains(node) ? buffer_of(node) : -1;
      plan_.update_buffer.push_back(b);
      if (b >= 0 && buffer(b).role == Buffer::Role::temporary) {
        buffer(b).role = Buffer::Role::update;
        buffer(b).number = static_cast<int>(i);
      }
    }
  }

  std::vector<int> readers(int b) const {
    std::vector<int> steps;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      if (std::ranges::find(plan_.steps[s].reads, b) != plan_.steps[s].reads.end())
        steps.push_back(static_cast<int>(s));
    }
    return steps;
  }
  int writer(int b) const {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      if (std::ranges::find(plan_.steps[s].writes, b) != plan_.steps[s].writes.end()) return static_cast<int>(s);
    }
    return -1;
  }

  /// Whether the step may write `to` into the memory of `from`: it reads each element before it writes it, and no other
  /// one.
  bool element_by_element(const Step& step, int from, int to) const {
    const Call& call = program_.calls[static_cast<std::size_t>(step.call)];
    const NodeId source = plan_.buffers[static_cast<std::size_t>(from)].node,
                 target = plan_.buffers[static_cast<std::size_t>(to)].node;
    if (arena_.type(source).dtype != arena_.type(target).dtype ||
        !arena_.same_shape(arena_.type(source).shape, arena_.type(target).shape))
      return false;
    if (plan_.buffers[static_cast<std::size_t>(from)].place != call.place) return false;
    if (call.is<fuse::ProductCall>())
      return step.accumulate == from && step.left.buffer != from && step.right.buffer != from;
    if (!call.is<fuse::KernelCall>()) return false;
    const kernel::Kernel& k = *call.as<fuse::KernelCall>().kernel;
    if (k.family == kernel::Family::split) return false;
    const auto operand = std::ranges::find(step.reads, from) - step.reads.begin();
    const auto written = static_cast<std::ptrdiff_t>(k.operands.size() - step.writes.size()) +
                         (std::ranges::find(step.writes, to) - step.writes.begin());
    const auto store = std::ranges::find(k.stores, static_cast<int>(written), &kernel::Store::operand);
    for (NodeId id = 0; id < k.body.size(); ++id) {
      const expr::Op& op = k.body.op(id);
      if (!op.is(expr::Core::load, expr::Core::load_if) || k.body.attrs(id).integer("operand") != operand) continue;
      if (op.is(expr::Core::load_if)) return false;
      if (!std::ranges::equal(k.body.inputs(id), store->index)) return false;
    }
    return true;
  }

  /// Whether the step may run behind the commit point: it cannot fail, and nobody waits for what it writes.
  bool may_run_last(const Step& step) const {
    const Call& call = program_.calls[static_cast<std::size_t>(step.call)];
    if (!call.bodies().empty() || call.has_checks()) return false;
    return std::ranges::all_of(step.writes, [&](int w) {
      const Buffer& written = plan_.buffers[static_cast<std::size_t>(w)];
      return written.role == Buffer::Role::update && readers(w).empty() && !program_.host.is_fresh(written.node);
    });
  }

  /// An update is written over the old value where the step that computes it is the last to read that, and nothing else
  /// reads the result.
  void donate_shared() {
    std::set<int> chosen;  // steps that overwrite
    for (std::size_t i = 0; i < graph_.updates.size(); ++i) {
      const int b = plan_.update_buffer[i];
      if (b < 0 || buffer(b).role != Buffer::Role::update) continue;
      if (std::ranges::count(plan_.update_buffer, b) > 1) continue;
      const int old = buffer_of(graph_.inputs[graph_.updates[i].input].node);
      if (!may_run_last(plan_.steps[static_cast<std::size_t>(writer(b))])) continue;
      const std::vector<int> steps = overwriting(old, b);
      const auto is_one = [&](int r) { return std::ranges::find(steps, r) != steps.end(); };
      const bool clash = std::ranges::any_of(readers(old), [&](int r) { return !is_one(r) && chosen.contains(r); }) ||
                         std::ranges::any_of(steps, [&](int s) {
                           return reads_donated(plan_.steps[static_cast<std::size_t>(s)], old);
                         });
      if (steps.empty() || clash) continue;
      donated_.insert(old);
      buffer(b).in_place_of = old;
      for (const int s : steps) {
        Step& step = plan_.steps[static_cast<std::size_t>(s)];
        if (s != steps.front()) buffer(step.writes[0]).in_place_of = old;
        chosen.insert(s);
        step.after_commit = true;
      }
    }
  }

  /// The steps that compute `to` over the memory of `from`: the one that writes it and, where that is a product that
  /// adds itself to what other products give, these. None where it cannot be done.
  std::vector<int> overwriting(int from, int to) {
    std::vector<int> steps{writer(to)};
    for (;;) {
      const Step& step = plan_.steps[static_cast<std::size_t>(steps.back())];
      if (element_by_element(step, from, to)) return steps;
      const int sum = step.accumulate;
      const bool adds = sum >= 0 && buffer(sum).role == Buffer::Role::temporary && readers(sum).size() == 1 &&
                        element_by_element(step, sum, to) && std::ranges::find(step.reads, from) == step.reads.end();
      if (!adds || program_.host.is_fresh(buffer(sum).node)) return {};
      const int before = writer(sum);
      if (!call_of(plan_.steps[static_cast<std::size_t>(before)]).is<fuse::ProductCall>()) return {};
      steps.push_back(before);
      to = sum;
    }
  }

  /// Whether the step reads a shared variable that another step overwrites.
  bool reads_donated(const Step& step, int except) const {
    return std::ranges::any_of(
        step.reads, [&](int r) { return r != except && donated_.contains(r) && writer_of_donated(r) != &step; });
  }
  const Step* writer_of_donated(int old) const {
    for (const Step& step : plan_.steps) {
      for (const int w : step.writes) {
        if (plan_.buffers[static_cast<std::size_t>(w)].in_place_of == old) return &step;
      }
    }
    return nullptr;
  }

  /// What overwrites shared variables comes last: first on devices, as what runs on the host cannot fail; on each its
  /// pointwise kernels side by side.
  void order() {
    const auto rank = [&](const Step& step) {
      if (!step.after_commit) return std::tuple(0, false, expr::Place{0});
      const expr::Place place = call_of(step).place;
      return std::tuple(place != 0 ? 1 : 2, is_pointwise(step), place);
    };
    std::ranges::stable_sort(plan_.steps, {}, rank);
    const auto commit = std::ranges::find(plan_.steps, true, &Step::after_commit);
    plan_.commit_step = static_cast<int>(commit - plan_.steps.begin());
  }
  const Call& call_of(const Step& step) const { return program_.calls[static_cast<std::size_t>(step.call)]; }
  bool is_pointwise(const Step& step) const { return call_of(step).is_kernel(kernel::Family::pointwise); }

  /// Updates that are written in place never read what another one writes (donate_shared), so that all of them may run
  /// at once.
  void launches() {
    for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s) {
      const auto joins = [&](int step) {
        return step >= 0 && plan_.steps[static_cast<std::size_t>(step)].after_commit &&
               is_pointwise(plan_.steps[static_cast<std::size_t>(step)]);
      };
      const auto place = [&](int step) { return call_of(plan_.steps[static_cast<std::size_t>(step)]).place; };
      if (joins(s) && joins(s - 1) && place(s) == place(s - 1))
        plan_.launches.back().end_step = s + 1;
      else
        plan_.launches.push_back({s, s + 1});
    }
  }

  /// Steps are in the order of their segments; those behind the commit point belong to the last one.
  void segments() {
    plan_.segments.resize(static_cast<std::size_t>(program_.host.segments));
    std::size_t next = 0;
    for (std::size_t k = 0; k < plan_.segments.size(); ++k) {
      Segment& segment = plan_.segments[k];
      segment.first_launch = static_cast<int>(next);
      const bool last = k + 1 == plan_.segments.size();
      for (; next < plan_.launches.size(); ++next) {
        const Step& step = plan_.steps[static_cast<std::size_t>(plan_.launches[next].first_step)];
        if (!last && (step.after_commit || call_of(step).segment > static_cast<int>(k))) break;
        for (int s = plan_.launches[next].first_step; s < plan_.launches[next].end_step; ++s) {
          const Step& in = plan_.steps[static_cast<std::size_t>(s)];
          for (const int b : in.writes) buffer(b).segment = static_cast<int>(k);
          if (in.workspace >= 0) buffer(in.workspace).segment = static_cast<int>(k);
        }
      }
      segment.end_launch = static_cast<int>(next);
    }
    for (const NodeId fresh : program_.host.fresh) {
      plan_.segments[static_cast<std::size_t>(program_.host.segment[fresh])].fresh.push_back(buffer_of(fresh));
    }
  }

  void lifetimes() {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const auto touch = [&](int b) {
        Buffer& at = buffer(b);
        if (at.first_step < 0) at.first_step = static_cast<int>(s);
        at.last_step = static_cast<int>(s);
      };
      for (const int b : plan_.steps[s].reads) touch(b);
      for (const int b : plan_.steps[s].writes) touch(b);
      if (plan_.steps[s].workspace >= 0) touch(plan_.steps[s].workspace);
    }
    // A number that the host reads back stays until its segment has ended.
    for (const Segment& segment : plan_.segments) {
      if (segment.end_launch == 0) continue;  // inputs alone
      for (const int b : segment.fresh) {
        const int end = plan_.launches[static_cast<std::size_t>(segment.end_launch) - 1].end_step;
        buffer(b).last_step = std::max(buffer(b).last_step, end - 1);
      }
    }
  }

  /// A temporary that dies where a result of its shape is born gives it its memory.
  void in_place() {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const Step& step = plan_.steps[s];
      std::set<int> taken;
      for (const int to : step.writes) {
        if (buffer(to).role != Buffer::Role::temporary || buffer(to).in_place_of >= 0) continue;
        for (const int from : step.reads) {
          const Buffer& source = buffer(from);
          if (source.role != Buffer::Role::temporary || source.last_step != static_cast<int>(s) || taken.contains(from))
            continue;
          if (!element_by_element(step, from, to)) continue;
          if (program_.host.is_fresh(source.node)) continue;  // the host reads it when the segment has ended
          const int root = source.in_place_of >= 0 ? source.in_place_of : from;
          buffer(to).in_place_of = root;
          buffer(root).last_step = std::max(buffer(root).last_step, buffer(to).last_step);
          taken.insert(from);
          break;
        }
      }
    }
  }

  const Program& program_;
  const expr::Graph& graph_;
  const Arena& arena_;
  Plan plan_;
  std::map<NodeId, int> buffers_;
  std::set<int> donated_;
};

}  // namespace

Plan make_plan(const Program& program) {
  Plan plan = Planner(program).run();
  if (base::config().verify) verify(plan, program);
  return plan;
}

}  // namespace croton::plan
