#include "plan/plan.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/find.hpp"
#include "base/source_place.hpp"
#include "fuse/product.hpp"

namespace croton::plan {
namespace {

using expr::Arena;
using fuse::Call;
using fuse::Program;

bool has(const auto& ids, auto id) { return std::ranges::find(ids, id) != ids.end(); }

class Planner {
 public:
  explicit Planner(const Program& program) : program_(program), graph_(program.graph), arena_(program.graph.arena) {}

  Plan run() {
    leaves();
    for (const CallId c : program_.calls.ids()) add_step(c);
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
  BufferId buffer_of(NodeId node) const {
    const auto at = buffers_.find(node);
    if (at == buffers_.end())
      throw InternalError(fmt::format("the plan has no buffer for a result of {}", arena_.op(node).name));
    return at->second;
  }
  BufferId add_buffer(Buffer::Role role, NodeId node, std::size_t number = 0) {
    const BufferId id = plan_.buffers.end_id();
    plan_.buffers.push_back({.role = role, .node = node, .number = number, .place = arena_.node(node).place});
    return id;
  }
  Buffer& buffer(BufferId b) { return plan_.buffers[b]; }
  const Buffer& buffer(BufferId b) const { return plan_.buffers[b]; }
  Step& step(StepId s) { return plan_.steps[s]; }
  const Step& step(StepId s) const { return plan_.steps[s]; }

  void leaves() {
    std::size_t arguments = 0, shared = 0;
    for (const expr::GraphInput& input : graph_.inputs) {
      const bool is_argument = input.role == expr::Role::argument;
      buffers_[input.node] = is_argument ? add_buffer(Buffer::Role::argument, input.node, arguments++)
                                         : add_buffer(Buffer::Role::shared, input.node, shared++);
    }
    const std::vector<bool> needed = expr::reachable(graph_);
    for (NodeId id = 0; id < arena_.size(); ++id) {
      if (needed[id] && arena_.op(id).is(expr::Core::constant)) {
        buffers_[id] = add_buffer(Buffer::Role::constant, id, arena_.attrs(id).index("index"));
      }
    }
  }

  MatrixRef matrix(NodeId node) const {
    MatrixRef ref;
    while (!buffers_.contains(node)) {
      const std::optional<bool> swapped = fuse::matrix_view(arena_, node);
      if (!swapped) throw InternalError(fmt::format("a product reads {}, which is not stored", arena_.op(node).name));
      ref.transposed ^= *swapped;
      ref.reshaped |= fuse::is_contiguous_reshape(arena_, node);
      node = arena_.input(node, 0);
    }
    ref.buffer = buffer_of(node);
    return ref;
  }

  void add_step(CallId c) {
    const Call& call = program_.calls[c];
    if (const auto* transfer = std::get_if<fuse::TransferCall>(&call.work);
        transfer != nullptr && keep_resident(*transfer))
      return;
    Step step{.call = c, .reads = {}, .writes = {}, .left = {}, .right = {}};
    std::visit([&](const auto& work) { fill(step, work); }, call.work);
    require_own_memory(step, call);
    plan_.steps.push_back(std::move(step));
  }

  /// Copies of values that outlive the call (shared variables, constants) stay on the device. They are sent again only
  /// if the value has changed. Returns whether the transfer is such a copy.
  bool keep_resident(const fuse::TransferCall& transfer) {
    const BufferId source = buffer_of(transfer.source);
    const Buffer::Role role = buffer(source).role;
    if (role != Buffer::Role::shared && role != Buffer::Role::constant) return false;
    const BufferId copy = add_buffer(Buffer::Role::resident, transfer.result);
    buffer(copy).copy_of = source;
    buffers_[transfer.result] = copy;
    return true;
  }

  void read(Step& step, NodeId node) const { step.reads.push_back(buffer_of(node)); }
  void write(Step& step, NodeId node) {
    step.writes.push_back(buffers_[node] = add_buffer(Buffer::Role::temporary, node));
  }

  // Fill in the buffers that a call reads and writes, by the kind of its work.

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
    step.bodies = {body_plan(call.body)};
  }
  void fill(Step& step, const fuse::BranchCall& call) {
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (!fuse::is_branch_number(program_, call, i)) read(step, call.inputs[i]);
    }
    for (const fuse::BranchCall::Result& result : call.results) write(step, result.node);
    step.bodies = {body_plan(call.then), body_plan(call.otherwise)};
  }
  static std::shared_ptr<const Plan> body_plan(const std::shared_ptr<const Program>& body) {
    return std::make_shared<const Plan>(make_plan(*body));
  }

  /// A device reads its own memory. (A branch gets the inputs of the chosen body sent to it.)
  void require_own_memory(const Step& step, const Call& call) const {
    if (call.is<fuse::TransferCall>() || call.is<fuse::BranchCall>()) return;
    const auto require = [&](BufferId b) {
      const Buffer& read = buffer(b);
      if (read.place == call.place) return;
      const NodeId node = call.members.front();
      const expr::Origin& origin = arena_.origin(node);
      throw InternalError(fmt::format("plan: {} ({}) runs on another device than the {} it reads is on",
                                      arena_.op(node).name, base::file_and_line(origin.where),
                                      arena_.op(read.node).name));
    };
    for (const BufferId b : step.reads) require(b);
    for (const std::vector<BufferId>& generated : step.generated_reads) {
      for (const BufferId b : generated) require(b);
    }
  }

  /// Outputs get separate memory. An output that is also an argument, a shared variable or another output is copied by
  /// the call.
  void results() {
    const auto add = [&](std::vector<BufferId>& results, NodeId node, Buffer::Role role) {
      const BufferId b = buffers_.contains(node) ? buffer_of(node) : no_buffer;  // a scalar constant or a size
      if (b != no_buffer && buffer(b).role == Buffer::Role::temporary) {
        buffer(b).role = role;
        buffer(b).number = results.size();
      }
      results.push_back(b);
    };
    for (const NodeId node : graph_.outputs) add(plan_.output_buffer, node, Buffer::Role::output);
    for (const expr::Update& update : graph_.updates) add(plan_.update_buffer, update.value, Buffer::Role::update);
  }

  std::vector<StepId> readers(BufferId b) const {
    std::vector<StepId> steps;
    for (const StepId s : plan_.steps.ids()) {
      if (has(step(s).reads, b)) steps.push_back(s);
    }
    return steps;
  }
  StepId writer(BufferId b) const {
    for (const StepId s : plan_.steps.ids()) {
      if (has(step(s).writes, b)) return s;
    }
    return no_step;
  }

  /// Whether the step may write `to` into the memory of `from`: before it writes an element of `to`, it reads only the
  /// same element of `from`.
  bool element_by_element(const Step& step, BufferId from, BufferId to) const {
    const Call& call = call_of(step);
    const NodeId source = buffer(from).node, target = buffer(to).node;
    if (arena_.type(source).dtype != arena_.type(target).dtype ||
        !arena_.same_shape(arena_.type(source).shape, arena_.type(target).shape))
      return false;
    if (buffer(from).place != call.place) return false;
    if (call.is<fuse::ProductCall>())
      return step.accumulate == from && step.left.buffer != from && step.right.buffer != from;
    if (!call.is<fuse::KernelCall>()) return false;
    const kernel::Kernel& k = *call.as<fuse::KernelCall>().kernel;
    if (k.family == kernel::Family::split) return false;
    const std::size_t operand = base::index_of(step.reads, from);
    const std::size_t written = k.operands.size() - step.writes.size() + base::index_of(step.writes, to);
    const auto store = std::ranges::find(k.stores, written, &kernel::Store::operand);
    for (NodeId id = 0; id < k.body.size(); ++id) {
      const expr::Op& op = k.body.op(id);
      if (!op.is(expr::Core::load, expr::Core::load_if) || k.body.attrs(id).index("operand") != operand) continue;
      if (op.is(expr::Core::load_if)) return false;
      if (!std::ranges::equal(k.body.inputs(id), store->index)) return false;
    }
    return true;
  }

  /// Whether the step may run after the commit point: it cannot fail, and no other step needs its results.
  bool may_run_after_commit(const Step& step) const {
    const Call& call = call_of(step);
    if (!call.bodies().empty() || call.has_checks()) return false;
    return std::ranges::all_of(step.writes, [&](BufferId w) {
      const Buffer& written = buffer(w);
      return written.role == Buffer::Role::update && readers(w).empty() && !program_.host.is_fresh(written.node);
    });
  }

  /// Lets a step overwrite the old value of a shared variable with its update, if that step is the last to read the old
  /// value and no other step reads the result.
  void donate_shared() {
    std::set<StepId> chosen;  // steps that overwrite a variable
    for (std::size_t i = 0; i < graph_.updates.size(); ++i) {
      const BufferId b = plan_.update_buffer[i];
      if (b == no_buffer || buffer(b).role != Buffer::Role::update) continue;
      if (std::ranges::count(plan_.update_buffer, b) > 1) continue;
      const BufferId old = buffer_of(graph_.inputs[graph_.updates[i].input].node);
      if (!may_run_after_commit(step(writer(b)))) continue;
      const std::vector<StepId> steps = overwriting(old, b);
      const bool clash =
          std::ranges::any_of(readers(old), [&](StepId r) { return !has(steps, r) && chosen.contains(r); }) ||
          std::ranges::any_of(steps, [&](StepId s) { return reads_donated(step(s), old); });
      if (steps.empty() || clash) continue;
      donated_.insert(old);
      buffer(b).in_place_of = old;
      for (const StepId s : steps) {
        if (s != steps.front()) buffer(step(s).writes[0]).in_place_of = old;
        chosen.insert(s);
        step(s).after_commit = true;
      }
    }
  }

  /// The steps that compute `to` in the memory of `from`: the step that writes it and, for a product that is added to
  /// other products, the steps of these. Empty if that is not possible.
  std::vector<StepId> overwriting(BufferId from, BufferId to) {
    std::vector<StepId> steps{writer(to)};
    for (;;) {
      const Step& last = step(steps.back());
      if (element_by_element(last, from, to)) return steps;
      const BufferId sum = last.accumulate;
      const bool adds = sum != no_buffer && buffer(sum).role == Buffer::Role::temporary && readers(sum).size() == 1 &&
                        element_by_element(last, sum, to) && !has(last.reads, from);
      if (!adds || program_.host.is_fresh(buffer(sum).node)) return {};
      const StepId before = writer(sum);
      if (!call_of(step(before)).is<fuse::ProductCall>()) return {};
      steps.push_back(before);
      to = sum;
    }
  }

  /// Whether the step reads a shared variable that another step overwrites.
  bool reads_donated(const Step& step, BufferId except) const {
    return std::ranges::any_of(
        step.reads, [&](BufferId r) { return r != except && donated_.contains(r) && writer_of_donated(r) != &step; });
  }
  const Step* writer_of_donated(BufferId old) const {
    for (const Step& step : plan_.steps) {
      for (const BufferId w : step.writes) {
        if (buffer(w).in_place_of == old) return &step;
      }
    }
    return nullptr;
  }

  /// Moves steps that overwrite shared variables to the end. Those on devices come first, because those on the host
  /// cannot fail; the pointwise kernels of a device are consecutive.
  void order() {
    const auto rank = [&](const Step& step) {
      if (!step.after_commit) return std::tuple(0, false, expr::Place{0});
      const expr::Place place = call_of(step).place;
      return std::tuple(base::is_host(place) ? 2 : 1, is_pointwise(step), place);
    };
    std::ranges::stable_sort(plan_.steps, {}, rank);
    const auto ids = plan_.steps.ids();
    plan_.commit_step = *std::ranges::find_if(ids, [&](StepId s) { return step(s).after_commit; });
  }
  const Call& call_of(const Step& step) const { return program_.calls[step.call]; }
  bool is_pointwise(const Step& step) const { return call_of(step).is_kernel(kernel::Family::pointwise); }

  /// In-place updates never read a variable that another one overwrites (donate_shared), so the pointwise ones on a
  /// device become one launch.
  void launches() {
    const auto joins = [&](StepId s) { return s != no_step && step(s).after_commit && is_pointwise(step(s)); };
    const auto place = [&](StepId s) { return call_of(step(s)).place; };
    for (const StepId s : plan_.steps.ids()) {
      if (joins(s) && joins(s.previous()) && place(s) == place(s.previous()))
        plan_.launches.back().end_step = s.next();
      else
        plan_.launches.push_back({s, s.next()});
    }
  }

  /// Steps are sorted by segment; those after the commit point belong to the last segment.
  void segments() {
    plan_.segments.resize(program_.host.segments);
    LaunchId next{0};
    for (const SegmentId k : plan_.segments.ids()) {
      Segment& segment = plan_.segments[k];
      segment.first_launch = next;
      const bool last = k.next() == plan_.segments.end_id();
      for (; next < plan_.launches.end_id(); next = next.next()) {
        const Launch& launch = plan_.launches[next];
        const Step& first = step(launch.first_step);
        if (!last && (first.after_commit || call_of(first).segment > k)) break;
        for (const StepId s : launch.steps()) {
          for (const BufferId b : step(s).writes) buffer(b).segment = k;
          if (step(s).workspace != no_buffer) buffer(step(s).workspace).segment = k;
        }
      }
      segment.end_launch = next;
    }
    for (const NodeId fresh : program_.host.fresh)
      plan_.segments[program_.host.segment[fresh]].fresh.push_back(buffer_of(fresh));
  }

  void lifetimes() {
    for (const StepId s : plan_.steps.ids()) {
      const auto touch = [&](BufferId b) {
        Buffer& at = buffer(b);
        if (at.first_step == no_step) at.first_step = s;
        at.last_step = s;
      };
      for (const BufferId b : step(s).reads) touch(b);
      for (const BufferId b : step(s).writes) touch(b);
      if (step(s).workspace != no_buffer) touch(step(s).workspace);
    }
    // A number that the host reads back is kept until the end of its segment.
    for (const Segment& segment : plan_.segments) {
      if (segment.end_launch == LaunchId(0)) continue;  // no launches before its end: only inputs are read back
      const StepId last = plan_.launches[segment.end_launch.previous()].end_step.previous();
      for (const BufferId b : segment.fresh) buffer(b).last_step = std::max(buffer(b).last_step, last);
    }
  }

  /// A temporary shares the memory of another one that this step reads last, if it can be computed in place.
  void in_place() {
    for (const StepId s : plan_.steps.ids()) {
      std::set<BufferId> taken;
      for (const BufferId to : step(s).writes) {
        if (buffer(to).role != Buffer::Role::temporary || buffer(to).in_place_of != no_buffer) continue;
        for (const BufferId from : step(s).reads) {
          const Buffer& source = buffer(from);
          if (source.role != Buffer::Role::temporary || source.last_step != s || taken.contains(from)) continue;
          if (!element_by_element(step(s), from, to)) continue;
          if (program_.host.is_fresh(source.node)) continue;  // the host reads it at the end of the segment
          const BufferId root = source.in_place_of != no_buffer ? source.in_place_of : from;
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
  std::map<NodeId, BufferId> buffers_;
  std::set<BufferId> donated_;
};

}  // namespace

Plan make_plan(const Program& program) { return Planner(program).run(); }

}  // namespace croton::plan
