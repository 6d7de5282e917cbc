#include "plan/plan.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <tuple>

#include "base/device_name.hpp"
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
  Planner(const Program& program, bool for_gpu)
      : program_(program), graph_(program.graph), arena_(program.graph.arena), for_gpu_(for_gpu) {}

  Plan run() {
    leaves();
    for (const CallId c : program_.calls.ids()) add_step(c);
    results();
    donate_shared();
    order();
    bring_columns_to_rows();
    join_reductions();
    launches();
    segments();
    lifetimes();
    in_place();
    keep_during_passes();
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
  std::shared_ptr<const Plan> body_plan(const std::shared_ptr<const Program>& body) const {
    return std::make_shared<const Plan>(for_gpu_ ? make_plan_for_gpu(*body) : make_plan(*body));
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
  bool is_on_gpu(const Call& call) const { return for_gpu_ || base::DeviceName::of_place(call.place).is_gpu(); }
  bool is_pointwise(const Step& step) const { return call_of(step).is_kernel(kernel::Family::pointwise); }

  /// Whether a row kernel and the column kernel after it walk the same matrix and use common operands, so that a GPU
  /// may do both in one pass over it.
  bool walk_one_matrix(StepId first, StepId second) const {
    const Call &rows = call_of(step(first)), &columns = call_of(step(second));
    if (!is_on_gpu(rows) || !rows.is_kernel(kernel::Family::row) || !columns.is_kernel(kernel::Family::column))
      return false;
    if (rows.place != columns.place || rows.segment != columns.segment || step(first).after_commit ||
        step(second).after_commit || columns.has_checks())
      return false;
    const auto axes_of = [](const fuse::KernelCall& call) {
      std::vector<std::pair<NodeId, std::optional<std::int64_t>>> axes;
      for (const kernel::Axis& axis : call.kernel->axes) {
        const expr::Arena& body = call.kernel->body;
        if (body.op(axis.extent).is(expr::Core::extent))
          axes.emplace_back(call.extents[body.attrs(axis.extent).index("k")], std::nullopt);
        else
          axes.emplace_back(expr::no_node, body.known(axis.extent));
      }
      return axes;
    };
    const auto &row_call = rows.as<fuse::KernelCall>(), &column_call = columns.as<fuse::KernelCall>();
    // Values that are made of whole columns must wait for all rows.
    const kernel::Kernel& reduction = *column_call.kernel;
    const auto stores_elements = [&](const kernel::Store& store) {
      return store.index.size() >= reduction.axes.size();
    };
    if (kernel::stage_groups(reduction).size() > 1 || std::ranges::any_of(reduction.stores, stores_elements))
      return false;
    const std::vector<BufferId>& reads = step(second).reads;
    return axes_of(row_call) == axes_of(column_call) && std::ranges::any_of(reads, [&](BufferId b) {
             return has(step(first).reads, b) || has(step(first).writes, b);
           });
  }

  /// Whether a launch is a row kernel and a column kernel of one matrix.
  bool is_pass(const Launch& launch) const {
    return launch.size() == 2 && call_of(step(launch.first_step)).is_kernel(kernel::Family::row);
  }

  /// Moves each column kernel to the row kernel with which it may share a launch, if its operands are there by
  /// then.
  void bring_columns_to_rows() {
    for (const StepId s : plan_.steps.ids()) {
      if (s == plan_.commit_step) return;
      if (!call_of(step(s)).is_kernel(kernel::Family::column)) continue;
      StepId last_writer = no_step;
      for (const BufferId b : step(s).reads) last_writer = std::max(last_writer, writer(b));
      for (StepId r = s.previous(); r != no_step && r >= last_writer; r = r.previous()) {
        if (!walk_one_matrix(r, s)) continue;
        if (r.next() != s && walk_one_matrix(r, r.next())) continue;  // it shares a launch with another one
        const auto at = [&](StepId of) { return plan_.steps.begin() + of.number(); };
        std::rotate(at(r.next()), at(s), at(s.next()));
        break;
      }
    }
  }

  // ---- reductions of one launch ----

  bool is_reduction(const Step& step) const {
    const Call& call = call_of(step);
    return is_on_gpu(call) && !step.after_commit && call.is_kernel(kernel::Family::split) && !call.has_checks();
  }
  bool are_together(const Step& a, const Step& b) const {
    return call_of(a).place == call_of(b).place && call_of(a).segment == call_of(b).segment;
  }
  bool reads_result(const Step& reader, const Step& writer) const {
    return std::ranges::any_of(writer.writes, [&](BufferId w) { return has(reader.reads, w); });
  }
  bool is_scalar(BufferId b) const { return arena_.type(buffer(b).node).shape.empty(); }
  std::span<Step> steps_of(std::size_t begin, std::size_t end) {
    return std::span(plan_.steps.begin(), plan_.steps.end()).subspan(begin, end - begin);
  }

  /// Makes reductions of whole arrays on a GPU consecutive, if they do not depend on each other, and then one launch.
  /// Kernels are only moved where no array needs its memory for longer. Kernels of one point that use their results
  /// (of a norm, the root of a sum) follow them.
  void join_reductions() {
    std::size_t begin = 0, end = 0;  // the last reductions that are together
    std::vector<StepId> last;        // of each launch of several
    for (std::size_t s = 0; s < plan_.commit_step.index(); ++s) {
      if (!is_reduction(plan_.steps[StepId(s)])) continue;
      if (begin == end || !move_together(begin, end, s)) {
        begin = s;
        end = s + 1;
        continue;
      }
      if (end - begin == 2) last.emplace_back();
      last.back() = StepId(end - 1);
      for (const Step& step : steps_of(begin, end)) joined_[step.call] = last.size();
    }
    // Those of earlier launches would move later ones.
    for (; !last.empty(); last.pop_back()) {
      while (add_epilogue(last.back())) last.back() = last.back().next();
    }
  }

  /// Moves step `s` to the reductions [begin, end), or these to `s`. Returns whether that is possible.
  bool move_together(std::size_t& begin, std::size_t& end, std::size_t s) {
    const std::span<Step> all = steps_of(begin, s + 1);
    const Step &first = all.front(), &next = all.back();
    if (!are_together(first, next)) return false;
    const std::span<Step> together = all.first(end - begin), before = all.first(all.size() - 1);
    const bool rises = std::ranges::none_of(before, [&](const Step& t) { return reads_result(next, t); }) &&
                       (s == end || std::ranges::all_of(next.writes, [&](BufferId w) { return is_scalar(w); }));
    if (rises) {
      std::rotate(all.begin() + std::ssize(together), all.end() - 1, all.end());
      ++end;
      return true;
    }
    const bool sinks = std::ranges::all_of(together, [&](const Step& t) {
      return std::ranges::none_of(all.subspan(together.size()), [&](const Step& u) { return reads_result(u, t); }) &&
             std::ranges::all_of(t.reads, [&](BufferId r) { return is_kept(r, s); });
    });
    if (!sinks) return false;
    std::rotate(all.begin(), all.begin() + std::ssize(together), all.end() - 1);
    begin += s - end;
    end = s + 1;
    return true;
  }
  /// Whether a value has memory until step `s` anyway. The last readers, updates, are the most likely ones.
  bool is_kept(BufferId b, std::size_t s) {
    return buffer(b).role != Buffer::Role::temporary || is_scalar(b) ||
           std::ranges::any_of(std::views::reverse(steps_of(s, plan_.steps.size())),
                               [&](const Step& t) { return has(t.reads, b); });
  }

  /// Moves a kernel of one point that reads results of a launch of reductions after its last step. False: there is
  /// none.
  bool add_epilogue(StepId last) {
    const std::size_t group = joined_.at(step(last).call);
    const auto in_group = [&](const Step& t) { return group_of(t) == group; };
    const std::span<Step> after = steps_of(last.index() + 1, plan_.commit_step.index());
    for (std::size_t i = 0; i < after.size(); ++i) {
      const Call& call = call_of(after[i]);
      if (!are_together(step(last), after[i]) || !is_pointwise(after[i]) || call.has_checks()) continue;
      if (!call.as<fuse::KernelCall>().kernel->axes.empty()) continue;
      const auto is_read = [&](const Step& t) { return reads_result(after[i], t); };
      const bool uses = std::ranges::any_of(plan_.steps, [&](const Step& t) { return in_group(t) && is_read(t); });
      if (!uses || std::ranges::any_of(after.first(i), is_read)) continue;
      const auto own = after.begin() + static_cast<std::ptrdiff_t>(i);
      std::rotate(after.begin(), own, own + 1);
      joined_[after.front().call] = group;
      return true;
    }
    return false;
  }
  /// The number of the launch of several reductions that the step is in; 0: none.
  std::size_t group_of(const Step& step) const {
    const auto found = joined_.find(step.call);
    return found == joined_.end() ? 0 : found->second;
  }

  /// In-place updates never read a variable that another one overwrites (donate_shared), so the pointwise ones on a
  /// device become one launch. Those of reductions are in joined_.
  void launches() {
    const auto is_update = [&](StepId s) { return step(s).after_commit && is_pointwise(step(s)); };
    const auto place = [&](StepId s) { return call_of(step(s)).place; };
    for (const StepId s : plan_.steps.ids()) {
      const StepId before = s.previous();
      const bool alone = !plan_.launches.empty() && plan_.launches.back().size() == 1;
      const bool joins =
          before != no_step && ((is_update(s) && is_update(before) && place(s) == place(before)) ||
                                (group_of(step(s)) != 0 && group_of(step(s)) == group_of(step(before))) ||
                                (alone && walk_one_matrix(before, s)));
      if (joins)
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
    keep_during_launches();
    // A number that the host reads back is kept until the end of its segment.
    for (const Segment& segment : plan_.segments) {
      if (segment.end_launch == LaunchId(0)) continue;  // no launches before its end: only inputs are read back
      const StepId last = plan_.launches[segment.end_launch.previous()].end_step.previous();
      for (const BufferId b : segment.fresh) buffer(b).last_step = std::max(buffer(b).last_step, last);
    }
  }

  /// The kernels of one launch run at the same time: the temporaries of each are kept during all of it.
  void keep_during_launches() {
    for (const Launch& launch : plan_.launches) {
      if (launch.size() == 1 || is_pass(launch)) continue;
      const StepId first = launch.first_step, last = launch.end_step.previous();
      for (Buffer& buffer : plan_.buffers) {
        if (buffer.role != Buffer::Role::temporary || buffer.first_step > last || buffer.last_step < first) continue;
        buffer.first_step = std::min(buffer.first_step, first);
        buffer.last_step = std::max(buffer.last_step, last);
      }
    }
  }

  /// A temporary shares the memory of another one that this step reads last, if it can be computed in place. Other
  /// kernels of the same launch may still read that one.
  void in_place() {
    for (const Launch& launch : plan_.launches) {
      if (launch.size() > 1 && !is_pass(launch)) continue;
      const StepId s = launch.first_step;
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

  /// The kernels of a pass go through the same rows in turn. Their operands and results keep their memory until the
  /// end: no other result takes its place before.
  void keep_during_passes() {
    for (const Launch& launch : plan_.launches) {
      if (!is_pass(launch)) continue;
      const StepId last = launch.end_step.previous();
      for (Buffer& b : plan_.buffers) {
        const bool shares = b.role == Buffer::Role::temporary || b.role == Buffer::Role::workspace;
        if (shares && b.last_step != no_step && launch.first_step <= b.last_step && b.last_step < last)
          b.last_step = last;
      }
    }
  }

  const Program& program_;
  const expr::Graph& graph_;
  const Arena& arena_;
  Plan plan_;
  std::map<NodeId, BufferId> buffers_;
  const bool for_gpu_;
  std::set<BufferId> donated_;
  std::map<CallId, std::size_t> joined_;  // the launch of several reductions that a call is in, from 1 on
};

}  // namespace

Plan make_plan(const Program& program) { return Planner(program, false).run(); }
Plan make_plan_for_gpu(const Program& program) { return Planner(program, true).run(); }

}  // namespace croton::plan
