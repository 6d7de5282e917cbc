#include "plan/verify.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/find.hpp"
#include "base/source_place.hpp"
#include "fuse/product.hpp"

namespace croton::plan {
namespace {

using expr::Arena;
using fuse::Call;
using Role = Buffer::Role;

/// Whether the buffers of a step are those of the operands and results of its call: a visitor of the kinds of work.
class HasOperands {
 public:
  HasOperands(const Plan& plan, const fuse::Program& program, const Step& step)
      : plan_(plan), program_(program), arena_(program.graph.arena), step_(step) {}

  bool operator()(const fuse::KernelCall& call) const { return reads(call.reads) && writes(call.writes); }
  bool operator()(const fuse::ProductCall& call) const {
    std::vector<BufferId> operands{step_.left.buffer, step_.right.buffer};
    if (step_.accumulate != no_buffer) operands.push_back(step_.accumulate);
    const NodeId sum = step_.accumulate == no_buffer ? expr::no_node : node_of(step_.accumulate);
    return step_.reads == operands && is_matrix(step_.left, call.left) && is_matrix(step_.right, call.right) &&
           sum == call.accumulate &&
           std::ranges::equal(step_.generated_reads, call.generated,
                              [&](const auto& buffers, const auto& kernel) { return have(buffers, kernel->reads); }) &&
           writes({call.result});
  }
  bool operator()(const fuse::TransferCall& call) const { return reads({call.source}) && writes({call.result}); }
  bool operator()(const fuse::RoutineCall& call) const {
    return reads(call.reads) && writes({call.result}) && step_.workspace != no_buffer;
  }
  bool operator()(const fuse::HostCall& call) const {
    std::vector<NodeId> arrays = call.arguments;
    std::erase_if(arrays, [&](NodeId node) { return fuse::is_number(arena_, node); });
    return reads(arrays) && writes({call.result});
  }
  bool operator()(const fuse::LoopCall& call) const {
    std::size_t next = 0;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (fuse::is_loop_number(call, arena_, i)) continue;
      if (next == step_.reads.size() || !is_input(step_.reads[next], call, i)) return false;
      ++next;
    }
    return next == step_.reads.size() && writes(results(call));
  }
  bool operator()(const fuse::BranchCall& call) const {
    std::vector<NodeId> arrays;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (!fuse::is_branch_number(program_, call, i)) arrays.push_back(call.inputs[i]);
    }
    return reads(arrays) && writes(results(call));
  }

 private:
  NodeId node_of(BufferId b) const { return plan_.buffers[b].node; }
  bool have(const std::vector<BufferId>& buffers, const std::vector<NodeId>& nodes) const {
    return std::ranges::equal(buffers, nodes, {}, [&](BufferId b) { return node_of(b); });
  }
  bool reads(const std::vector<NodeId>& nodes) const { return have(step_.reads, nodes); }
  bool writes(const std::vector<NodeId>& nodes) const { return have(step_.writes, nodes); }
  static std::vector<NodeId> results(const auto& call) {
    std::vector<NodeId> nodes;
    for (const auto& result : call.results) nodes.push_back(result.node);
    return nodes;
  }

  /// Whether a product finds the matrix `node` in that buffer, through the views that it can read through.
  bool is_matrix(const MatrixRef& matrix, NodeId node) const {
    if (matrix.buffer == no_buffer) return false;
    MatrixRef found{.buffer = matrix.buffer};
    while (node != node_of(matrix.buffer)) {
      const std::optional<bool> swapped = fuse::matrix_view(arena_, node);
      if (!swapped) return false;
      found.transposed ^= *swapped;
      found.reshaped |= fuse::is_contiguous_reshape(arena_, node);
      node = arena_.input(node, 0);
    }
    return found == matrix;
  }

  /// Whether a loop finds its input `i` in that buffer: a sequence may be a view of it.
  bool is_input(BufferId b, const fuse::LoopCall& call, std::size_t i) const {
    const bool is_sequence = i >= call.loop.sequence_input(0) && i < call.loop.initial_input(0);
    NodeId node = call.inputs[i];
    while (node != node_of(b)) {
      if (!is_sequence || !fuse::is_sequence_view(program_.graph, program_.host, node)) return false;
      node = arena_.input(node, 0);
    }
    return true;
  }

  const Plan& plan_;
  const fuse::Program& program_;
  const Arena& arena_;
  const Step& step_;
};

class Verifier {
 public:
  Verifier(const Plan& plan, const fuse::Program& program)
      : plan_(plan), program_(program), arena_(program.graph.arena) {}

  void run() {
    numbers();
    launches();
    segments();
    calls();
    bodies();
    values();
    results();
    lifetimes();
    in_place();
    commit();
    devices();
  }

 private:
  const Buffer& buffer(BufferId b) const { return plan_.buffers[b]; }
  const Step& step(StepId s) const { return plan_.steps[s]; }
  const Call& call(const Step& of) const { return program_.calls[of.call]; }

  template <class... Values>
  [[noreturn]] void fail(fmt::format_string<Values...> text, const Values&... values) const {
    throw InternalError("plan: " + fmt::vformat(fmt::string_view(text), fmt::make_format_args(values...)));
  }
  template <class... Values>
  [[noreturn]] void fail_at(StepId s, fmt::format_string<Values...> text, const Values&... values) const {
    const Step& at = step(s);
    const NodeId node = at.writes.empty() ? expr::no_node : buffer(at.writes.front()).node;
    const Where where = node == expr::no_node ? Where() : arena_.origin(node).where;
    fail("step {} ({}, {}) {}", s, node == expr::no_node ? "no result" : arena_.op(node).name,
         base::file_and_line(where), fmt::vformat(fmt::string_view(text), fmt::make_format_args(values...)));
  }

  /// All buffers that a step reads: the operands of its kernel, or of the generated kernels of a product, and a
  /// product's matrices.
  std::vector<BufferId> reads_of(const Step& of) const {
    std::vector<BufferId> all = of.reads;
    for (const std::vector<BufferId>& generated : of.generated_reads)
      all.insert(all.end(), generated.begin(), generated.end());
    for (const BufferId b : {of.left.buffer, of.right.buffer, of.accumulate}) {
      if (b != no_buffer) all.push_back(b);
    }
    return all;
  }

  // ---- indices are valid ----

  void numbers() const {
    const auto is_buffer = [&](BufferId b) { return plan_.buffers.contains(b); };
    for (const StepId s : plan_.steps.ids()) {
      const Step& at = step(s);
      if (!program_.calls.contains(at.call)) fail("step {} runs call {}, which does not exist", s, at.call);
      for (const BufferId b : reads_of(at)) {
        if (!is_buffer(b)) fail("step {} reads b{}, which does not exist", s, b);
      }
      for (const BufferId b : at.writes) {
        if (!is_buffer(b)) fail("step {} writes b{}, which does not exist", s, b);
      }
      if (at.workspace != no_buffer && (!is_buffer(at.workspace) || buffer(at.workspace).role != Role::workspace))
        fail("step {} has the workspace b{}, which is not a workspace", s, at.workspace);
    }
    for (const BufferId b : plan_.buffers.ids()) {
      const BufferId home = buffer(b).in_place_of;
      if (home != no_buffer && (!is_buffer(home) || home == b || buffer(home).in_place_of != no_buffer))
        fail("b{} is in the memory of b{}, which has no memory of its own", b, home);
      if (buffer(b).role == Role::resident && (!is_buffer(buffer(b).copy_of) || buffer(b).copy_of == b))
        fail("b{} is a copy of b{}, which does not exist", b, buffer(b).copy_of);
    }
    for (const std::vector<BufferId>* list : {&plan_.output_buffer, &plan_.update_buffer}) {
      for (const BufferId b : *list) {
        if (b != no_buffer && !is_buffer(b)) fail("a result is in b{}, which does not exist", b);
      }
    }
  }

  // ---- launches and segments cover the steps in order ----

  void launches() {
    launch_of_.assign(plan_.steps.size(), {});
    StepId next{0};
    for (const LaunchId l : plan_.launches.ids()) {
      const Launch& launch = plan_.launches[l];
      if (launch.first_step != next || launch.end_step <= next || launch.end_step > plan_.steps.end_id())
        fail("launch {} has the steps {} to {}, and {} comes next", l, launch.first_step, launch.end_step, next);
      for (const StepId s : launch.steps()) launch_of_[s] = l;
      next = launch.end_step;
      if (launch.size() > 1) is_pass_over_matrix(launch) ? check_pass(launch) : check_joint_launch(launch);
    }
    if (next != plan_.steps.end_id()) fail("step {} belongs to no launch", next);
  }

  /// Whether a launch is a row kernel and a column kernel, which a GPU may do in one pass over their matrix.
  bool is_pass_over_matrix(const Launch& launch) const {
    return launch.size() == 2 && call(step(launch.first_step)).is_kernel(kernel::Family::row);
  }

  /// Checks these: both are on one device, only the first may fail, and all memory is kept until the end.
  void check_pass(const Launch& launch) const {
    const StepId second = launch.first_step.next();
    const Call &rows = call(step(launch.first_step)), &columns = call(step(second));
    if (!columns.is_kernel(kernel::Family::column) || rows.place != columns.place || columns.has_checks() ||
        step(launch.first_step).after_commit || step(second).after_commit)
      fail_at(second, "runs in one launch with a row kernel, but is not a column kernel on its device");
    for (const StepId s : launch.steps()) {
      const Step& at = step(s);
      std::vector<BufferId> used = reads_of(at);
      used.insert(used.end(), at.writes.begin(), at.writes.end());
      for (const BufferId b : used) {
        if (buffer(b).role == Role::temporary && buffer(b).last_step < second)
          fail_at(s, "uses b{}, whose memory is not kept until the end of its launch", b);
      }
    }
  }

  /// Checks kernels that run at the same time, and that none reads what another one writes; epilogues of reductions
  /// read results of earlier steps.
  void check_joint_launch(const Launch& launch) const {
    const StepId first = launch.first_step;
    const bool are_updates = step(first).after_commit;
    const auto is_epilogue = [&](StepId s) { return !are_updates && s != first && is_kernel_of_one_point(step(s)); };
    for (const StepId s : launch.steps()) {
      const Step& at = step(s);
      const bool reduces = is_reduction(at) && (s == first || !is_epilogue(s.previous()));
      if (call(at).place != call(step(first)).place || !(are_updates ? is_update(at) : reduces || is_epilogue(s))) {
        fail_at(s,
                "runs in one launch with others, but is neither an elementwise update on their device nor one of "
                "several reductions of whole arrays");
      }
    }
    for (const StepId s : launch.steps()) {
      for (const StepId other : launch.steps()) {
        for (const BufferId w : other == s ? std::vector<BufferId>() : step(other).writes) {
          for (const BufferId r : reads_of(step(s))) {
            const bool is_result = is_epilogue(s) && other < s && r == w;
            if (home(r) == home(w) && !is_result)
              fail_at(s, "reads b{}, which step {} of the same launch overwrites", r, other);
          }
        }
      }
    }
  }
  bool is_update(const Step& at) const { return at.after_commit && call(at).is_kernel(kernel::Family::pointwise); }
  bool is_reduction(const Step& at) const {
    return !at.after_commit && call(at).is_kernel(kernel::Family::split) && !call(at).has_checks();
  }
  bool is_kernel_of_one_point(const Step& at) const {
    return call(at).is_kernel(kernel::Family::pointwise) && !call(at).has_checks() &&
           call(at).as<fuse::KernelCall>().kernel->axes.empty();
  }

  void segments() {
    segment_of_.assign(plan_.steps.size(), {});
    if (plan_.segments.size() != program_.host.segments)
      fail("there are {} segments, and the host reads numbers back {} times", plan_.segments.size(),
           program_.host.segments - 1);
    LaunchId next{0};
    for (const SegmentId k : plan_.segments.ids()) {
      const Segment& segment = plan_.segments[k];
      if (segment.first_launch != next || segment.end_launch < next || segment.end_launch > plan_.launches.end_id())
        fail("segment {} has the launches {} to {}, and {} comes next", k, segment.first_launch, segment.end_launch,
             next);
      for (const LaunchId l : segment.launches()) {
        for (const StepId s : plan_.launches[l].steps()) {
          segment_of_[s] = k;
          const SegmentId needed = call(step(s)).segment;
          if (needed > k)
            fail_at(s, "runs in segment {}, but needs numbers that segment {} finds", k, needed.previous());
        }
      }
      next = segment.end_launch;
    }
    if (next != plan_.launches.end_id()) fail("launch {} belongs to no segment", next);
  }

  // ---- each call is a step, once ----

  void calls() const {
    base::IdVector<CallId, int> steps(program_.calls.size(), 0);
    for (const Step& at : plan_.steps) ++steps[at.call];
    for (const CallId c : steps.ids()) {
      const auto* transfer = std::get_if<fuse::TransferCall>(&program_.calls[c].work);
      const bool is_resident = transfer != nullptr && std::ranges::any_of(plan_.buffers, [&](const Buffer& b) {
                                 return b.role == Role::resident && b.node == transfer->result;
                               });
      if (steps[c] != (is_resident ? 0 : 1)) fail("call {} runs {} times", c, steps[c]);
    }
    for (const StepId s : plan_.steps.ids()) operands(s);
  }

  void operands(StepId s) const {
    if (!std::visit(HasOperands(plan_, program_, step(s)), call(step(s)).work))
      fail_at(s, "has other buffers than its call has operands");
  }

  /// The plans of the bodies of loops and branches.
  void bodies() const {
    for (const StepId s : plan_.steps.ids()) {
      const auto programs = call(step(s)).bodies();
      const auto& plans = step(s).bodies;
      if (plans.size() != programs.size())
        fail_at(s, "has {} plans of bodies, and its call has {} bodies", plans.size(), programs.size());
      for (std::size_t i = 0; i < plans.size(); ++i) verify(*plans[i], *programs[i]);
    }
  }

  // ---- written once, before it is read ----

  void values() {
    writer_.assign(plan_.buffers.size(), {});
    readers_.assign(plan_.buffers.size(), {});
    for (const StepId s : plan_.steps.ids()) {
      for (const BufferId b : reads_of(step(s))) {
        readers_[b].push_back(s);
        if (is_computed(b) && writer_[b] == no_step) fail_at(s, "reads b{}, which no step before it has written", b);
      }
      for (const BufferId b : step(s).writes) {
        if (!is_computed(b)) fail_at(s, "writes b{}, which is not a result", b);
        StepId& writer = writer_[b];
        if (writer != no_step) fail_at(s, "writes b{}, which step {} has written", b, writer);
        writer = s;
        in_segment(s, b);
      }
      if (step(s).workspace != no_buffer) in_segment(s, step(s).workspace);
    }
    for (const BufferId b : plan_.buffers.ids()) {
      if (is_computed(b) && writer_[b] == no_step) fail("no step writes b{}", b);
    }
  }
  bool is_computed(BufferId b) const {
    const Role role = buffer(b).role;
    return role == Role::temporary || role == Role::output || role == Role::update;
  }
  void in_segment(StepId s, BufferId b) const {
    const SegmentId segment = segment_of_[s];
    if (buffer(b).segment != segment)
      fail_at(s, "runs in segment {}, but b{} gets memory in segment {}", segment, b, buffer(b).segment);
  }

  void results() const {
    const expr::Graph& graph = program_.graph;
    if (plan_.output_buffer.size() != graph.outputs.size() || plan_.update_buffer.size() != graph.updates.size())
      fail("there are {} outputs and {} updates, the graph has {} and {}", plan_.output_buffer.size(),
           plan_.update_buffer.size(), graph.outputs.size(), graph.updates.size());
    const auto check = [&](BufferId b, NodeId node) {
      if (b == no_buffer) return;
      if (buffer(b).node != node) fail("b{} is given as a result that it is not", b);
      if (buffer(b).role == Role::temporary || buffer(b).role == Role::workspace)
        fail("the result b{} is in memory that others share", b);
    };
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) check(plan_.output_buffer[i], graph.outputs[i]);
    for (std::size_t i = 0; i < graph.updates.size(); ++i) check(plan_.update_buffer[i], graph.updates[i].value);
  }

  // ---- memory is kept as long as it is needed ----

  /// The buffer whose memory b uses.
  BufferId home(BufferId b) const { return buffer(b).in_place_of != no_buffer ? buffer(b).in_place_of : b; }

  void lifetimes() const {
    const auto needs = [&](StepId s, BufferId b) {
      for (const BufferId of : {b, home(b)}) {
        const Buffer& at = buffer(of);
        if (of != b && at.role != Role::temporary) continue;  // a shared variable outlives the call
        // The kernels of a launch run at the same time; those of a pass are checked with their launch.
        const Launch& launch = plan_.launches[launch_of_[s]];
        const bool is_temporary = at.role == Role::temporary && !is_pass_over_matrix(launch);
        const StepId first = is_temporary ? launch.first_step : s, last = is_temporary ? launch.end_step.previous() : s;
        const bool begins_later = of == b && at.first_step > first;
        if (at.first_step == no_step || at.last_step < last || begins_later)
          fail_at(s, "uses b{}, whose memory is kept from step {} to {}", of, at.first_step, at.last_step);
      }
    };
    for (const StepId s : plan_.steps.ids()) {
      for (const BufferId b : reads_of(step(s))) needs(s, b);
      for (const BufferId b : step(s).writes) needs(s, b);
      if (step(s).workspace != no_buffer) needs(s, step(s).workspace);
    }
    // The host reads numbers back when their segment has ended.
    for (const NodeId fresh : program_.host.fresh) {
      const SegmentId k = program_.host.segment[fresh];
      const auto& list = plan_.segments[k].fresh;
      const auto found = std::ranges::find(list, fresh, [&](BufferId b) { return buffer(b).node; });
      if (found == list.end()) fail("segment {} does not read back all the numbers that it finds", k);
      const LaunchId last_launch = plan_.segments[k].end_launch.previous();
      const StepId last = last_launch == no_launch ? no_step : plan_.launches[last_launch].end_step.previous();
      if (is_computed(*found) && buffer(*found).last_step < last)
        fail("b{} is read back after step {}, but kept until step {}", *found, last, buffer(*found).last_step);
    }
  }

  // ---- in-place work overwrites nothing that is needed ----

  void in_place() const {
    for (const BufferId b : plan_.buffers.ids()) {
      if (buffer(b).in_place_of != no_buffer) may_share(b, buffer(b).in_place_of);
    }
    for (const BufferId b : plan_.buffers.ids()) {
      if (buffer(b).in_place_of == no_buffer) no_value_lost(b);
    }
  }

  /// Checks whether b may use the memory of `home`.
  void may_share(BufferId b, BufferId home) const {
    const Buffer &own = buffer(b), &other = buffer(home);
    const StepId s = writer_[b];
    if (s == no_step) fail("b{} is in the memory of b{}, but nothing writes it", b, home);
    if (other.role != Role::temporary && other.role != Role::shared)
      fail_at(s, "writes b{} into the memory of b{}, which it must not overwrite", b, home);
    const expr::TensorType &type = arena_.type(own.node), &other_type = arena_.type(other.node);
    if (type.dtype != other_type.dtype || !arena_.same_shape(type.shape, other_type.shape) || own.place != other.place)
      fail_at(s, "writes b{} into the memory of b{}, which is another array", b, home);
    if (own.role == Role::update) {
      const expr::Update& update = program_.graph.updates[own.number];
      if (program_.graph.inputs[update.input].node != other.node)
        fail_at(s, "writes the update b{} over b{}, which is another variable", b, home);
    } else if (own.role != Role::temporary) {
      fail_at(s, "writes the result b{} into the memory of b{}", b, home);
    }
    if (!call(step(s)).is<fuse::KernelCall>() && !call(step(s)).is<fuse::ProductCall>())
      fail_at(s, "writes b{} into the memory of b{}, which its kind of call cannot", b, home);
    for (const BufferId r : reads_of(step(s))) {
      if (this->home(r) == home && !reads_before_it_writes(s, r, b))
        fail_at(s, "writes b{} over b{}, whose other elements it still reads", b, r);
    }
  }

  /// Whether the step reads of `from` only the element that it is about to write.
  bool reads_before_it_writes(StepId s, BufferId from, BufferId to) const {
    const Step& at = step(s);
    if (call(at).is<fuse::ProductCall>())
      return at.accumulate == from && at.left.buffer != from && at.right.buffer != from;
    const auto* kernel_call = std::get_if<fuse::KernelCall>(&call(at).work);
    if (kernel_call == nullptr) return false;
    const kernel::Kernel& k = *kernel_call->kernel;
    if (k.family == kernel::Family::split) return false;  // all parts must be read before anything is written
    const std::size_t written = at.reads.size() + base::index_of(at.writes, to);
    const auto store = std::ranges::find(k.stores, written, &kernel::Store::operand);
    if (store == k.stores.end()) return false;
    for (NodeId id = 0; id < k.body.size(); ++id) {
      const expr::Op& leaf = k.body.op(id);
      if (!leaf.is(expr::Core::load, expr::Core::load_if)) continue;
      const std::size_t operand = k.body.attrs(id).index("operand");
      if (operand >= at.reads.size() || at.reads[operand] != from) continue;
      if (leaf.is(expr::Core::load_if) || !std::ranges::equal(k.body.inputs(id), store->index)) return false;
    }
    return true;
  }

  /// Checks the values that use the memory of b one after the other: no value is read after the next one is written.
  void no_value_lost(BufferId b) const {
    std::vector<BufferId> values{b};
    for (const BufferId other : plan_.buffers.ids()) {
      if (buffer(other).in_place_of == b) values.push_back(other);
    }
    std::ranges::stable_sort(values, {}, [&](BufferId v) { return writer_[v]; });
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      const BufferId value = values[i];
      const StepId next = writer_[values[i + 1]];
      const NodeId node = buffer(value).node;
      if (program_.host.is_fresh(node) && segment_of_[next] <= program_.host.segment[node])
        fail_at(next, "writes over b{}, which the host reads back", value);
      for (const StepId reader : readers_[value]) {
        const bool together = launch_of_[reader] == launch_of_[next];
        if (reader > next || (reader != next && together))
          fail_at(reader, "reads b{}, which step {} writes over", value, next);
      }
    }
  }

  // ---- the commit point ----

  void commit() const {
    if (plan_.commit_step == no_step || plan_.commit_step > plan_.steps.end_id())
      fail("the commit point is before step {}, which does not exist", plan_.commit_step);
    bool host = false;
    for (const StepId s : plan_.steps.ids()) {
      const Step& at = step(s);
      if (at.after_commit != (s >= plan_.commit_step))
        fail_at(s, "is {}after the commit point, before step {}", at.after_commit ? "" : "not ", plan_.commit_step);
      const auto shared = std::ranges::find(at.writes, Role::shared, [&](BufferId b) { return buffer(home(b)).role; });
      if (shared != at.writes.end() && !at.after_commit)
        fail_at(s, "overwrites b{}, a shared variable, before the commit point", home(*shared));
      if (shared == at.writes.end() && at.after_commit)
        fail_at(s, "overwrites no shared variable, but runs after the commit point");
      if (!at.after_commit) continue;
      const Call& what = call(at);
      if (what.has_checks() || !(what.is<fuse::KernelCall>() || what.is<fuse::ProductCall>()))
        fail_at(s, "may fail, after the commit point");
      if (host && !base::is_host(what.place))
        fail_at(s, "runs on a device after an update on the host, which cannot fail");
      host = base::is_host(what.place);
      for (const BufferId b : at.writes) {
        if (program_.host.is_fresh(buffer(b).node))
          fail_at(s, "finds b{}, a number of the host, after the commit point", b);
      }
    }
  }

  // ---- a device reads its own memory ----

  void devices() const {
    for (const StepId s : plan_.steps.ids()) {
      const Step& at = step(s);
      const Call& what = call(at);
      for (const BufferId b : at.writes) {
        if (buffer(b).place != what.place) fail_at(s, "writes b{}, which is on another device", b);
      }
      if (what.is<fuse::TransferCall>()) {
        if (buffer(at.reads[0]).place == what.place) fail_at(s, "sends b{} to the device that it is on", at.reads[0]);
      } else if (!what.is<fuse::BranchCall>()) {  // the inputs of the chosen body are sent to a branch
        for (const BufferId b : reads_of(at)) {
          if (buffer(b).place != what.place) fail_at(s, "reads b{}, which is on another device", b);
        }
      }
    }
    for (const BufferId b : plan_.buffers.ids()) {
      if (buffer(b).role != Role::resident) continue;
      const Buffer& of = buffer(buffer(b).copy_of);
      if ((of.role != Role::shared && of.role != Role::constant) || of.place == buffer(b).place)
        fail("b{} is a copy of b{}, which does not outlive the call on another device", b, buffer(b).copy_of);
    }
  }

  const Plan& plan_;
  const fuse::Program& program_;
  const Arena& arena_;
  base::IdVector<StepId, LaunchId> launch_of_;
  base::IdVector<StepId, SegmentId> segment_of_;
  base::IdVector<BufferId, StepId> writer_;                // the step that writes it, or no_step
  base::IdVector<BufferId, std::vector<StepId>> readers_;  // the steps that read it
};

}  // namespace

void verify(const Plan& plan, const fuse::Program& program) { Verifier(plan, program).run(); }

}  // namespace croton::plan
