#include "plan/verify.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/source_place.hpp"

namespace croton::plan {
namespace {

using expr::Arena;
using fuse::Call;
using Role = Buffer::Role;

class Verifier {
 public:
  Verifier(const Plan& plan, const fuse::Program& program)
      : plan_(plan), program_(program), arena_(program.graph.arena) {}

  void run() {
    numbers();
    launches();
    segments();
    calls();
    values();
    results();
    lifetimes();
    in_place();
    commit();
    devices();
  }

 private:
  const Buffer& buffer(int b) const { return plan_.buffers[static_cast<std::size_t>(b)]; }
  const Step& step(int s) const { return plan_.steps[static_cast<std::size_t>(s)]; }
  const Call& call(const Step& of) const { return program_.calls[static_cast<std::size_t>(of.call)]; }
  int step_count() const { return static_cast<int>(plan_.steps.size()); }
  int buffer_count() const { return static_cast<int>(plan_.buffers.size()); }

  template <class... Values>
  [[noreturn]] void fail(fmt::format_string<Values...> text, const Values&... values) const {
    throw InternalError("plan: " + fmt::vformat(fmt::string_view(text), fmt::make_format_args(values...)));
  }
  template <class... Values>
  [[noreturn]] void fail_at(int s, fmt::format_string<Values...> text, const Values&... values) const {
    const Step& at = step(s);
    const NodeId node = at.writes.empty() ? expr::no_node : buffer(at.writes.front()).node;
    const Where where = node == expr::no_node ? Where() : arena_.origin(node).where;
    fail("step {} ({}, {}) {}", s, node == expr::no_node ? "no result" : arena_.op(node).name,
         where.known() ? base::file_and_line(where) : "line unknown",
         fmt::vformat(fmt::string_view(text), fmt::make_format_args(values...)));
  }

  /// All that a step reads: its kernel, the kernels that may stand in for a product, and a product's matrices.
  std::vector<int> reads_of(const Step& of) const {
    std::vector<int> all = of.reads;
    for (const std::vector<int>& generated : of.generated_reads)
      all.insert(all.end(), generated.begin(), generated.end());
    for (const int b : {of.left.buffer, of.right.buffer, of.accumulate}) {
      if (b >= 0) all.push_back(b);
    }
    return all;
  }

  // ---- numbers that name something ----

  void numbers() const {
    const auto is_buffer = [&](int b) { return b >= 0 && b < buffer_count(); };
    for (int s = 0; s < step_count(); ++s) {
      const Step& at = step(s);
      if (at.call < 0 || static_cast<std::size_t>(at.call) >= program_.calls.size())
        fail("step {} runs call {}, which there is none of", s, at.call);
      for (const int b : reads_of(at)) {
        if (!is_buffer(b)) fail("step {} reads b{}, which there is none of", s, b);
      }
      for (const int b : at.writes) {
        if (!is_buffer(b)) fail("step {} writes b{}, which there is none of", s, b);
      }
      if (at.workspace >= 0 && (!is_buffer(at.workspace) || buffer(at.workspace).role != Role::workspace))
        fail("step {} has the workspace b{}, which is none", s, at.workspace);
    }
    for (int b = 0; b < buffer_count(); ++b) {
      const int home = buffer(b).in_place_of;
      if (home >= 0 && (!is_buffer(home) || home == b || buffer(home).in_place_of >= 0))
        fail("b{} is in place of b{}, which has no memory of its own", b, home);
      if (buffer(b).role == Role::resident && (!is_buffer(buffer(b).number) || buffer(b).number == b))
        fail("b{} is a copy of b{}, which there is none of", b, buffer(b).number);
    }
    for (const std::vector<int>* list : {&plan_.output_buffer, &plan_.update_buffer}) {
      for (const int b : *list) {
        if (b >= buffer_count()) fail("a result is in b{}, which there is none of", b);
      }
    }
  }

  // ---- launches and segments cover the steps in order ----

  void launches() {
    launch_of_.assign(plan_.steps.size(), -1);
    int next = 0;
    for (std::size_t l = 0; l < plan_.launches.size(); ++l) {
      const Launch& launch = plan_.launches[l];
      if (launch.first_step != next || launch.end_step <= next || launch.end_step > step_count())
        fail("launch {} has the steps {} to {}, and {} comes next", l, launch.first_step, launch.end_step, next);
      for (; next < launch.end_step; ++next) launch_of_[static_cast<std::size_t>(next)] = static_cast<int>(l);
      if (launch.size() > 1) joined(launch);
    }
    if (next != step_count()) fail("step {} belongs to no launch", next);
  }

  /// Kernels that run at the same time: all of one device, after the commit point, and none reads what another writes.
  void joined(const Launch& launch) const {
    for (int s = launch.first_step; s < launch.end_step; ++s) {
      const Step& at = step(s);
      if (!at.after_commit || !call(at).is_kernel(kernel::Family::pointwise) ||
          call(at).place != call(step(launch.first_step)).place)
        fail_at(s, "runs in one launch with others, but is not an elementwise update on their device");
      for (int other = launch.first_step; other < launch.end_step; ++other) {
        if (other == s) continue;
        for (const int w : step(other).writes) {
          for (const int r : reads_of(at)) {
            if (home(r) == home(w)) fail_at(s, "reads b{}, which step {} of the same launch overwrites", r, other);
          }
        }
      }
    }
  }

  void segments() {
    segment_of_.assign(plan_.steps.size(), -1);
    if (plan_.segments.size() != static_cast<std::size_t>(program_.host.segments))
      fail("there are {} segments, and the host reads numbers back {} times", plan_.segments.size(),
           program_.host.segments - 1);
    int next = 0;
    for (std::size_t k = 0; k < plan_.segments.size(); ++k) {
      const Segment& segment = plan_.segments[k];
      if (segment.first_launch != next || segment.end_launch < next ||
          segment.end_launch > static_cast<int>(plan_.launches.size()))
        fail("segment {} has the launches {} to {}, and {} comes next", k, segment.first_launch, segment.end_launch,
             next);
      for (; next < segment.end_launch; ++next) {
        const Launch& launch = plan_.launches[static_cast<std::size_t>(next)];
        for (int s = launch.first_step; s < launch.end_step; ++s) {
          segment_of_[static_cast<std::size_t>(s)] = static_cast<int>(k);
          if (call(step(s)).segment > static_cast<int>(k))
            fail_at(s, "runs in segment {}, but needs numbers that segment {} finds", k, call(step(s)).segment - 1);
        }
      }
    }
    if (next != static_cast<int>(plan_.launches.size())) fail("launch {} belongs to no segment", next);
  }

  // ---- each call is a step, once ----

  void calls() const {
    std::vector<int> steps(program_.calls.size(), 0);
    for (const Step& at : plan_.steps) ++steps[static_cast<std::size_t>(at.call)];
    for (std::size_t c = 0; c < steps.size(); ++c) {
      const auto* transfer = std::get_if<fuse::TransferCall>(&program_.calls[c].work);
      const bool stays = transfer != nullptr && std::ranges::any_of(plan_.buffers, [&](const Buffer& b) {
                           return b.role == Role::resident && b.node == transfer->result;
                         });
      if (steps[c] != (stays ? 0 : 1)) fail("call {} runs {} times", c, steps[c]);
    }
    for (int s = 0; s < step_count(); ++s) operands(s);
  }

  /// What the call's nodes say about the buffers of its step.
  void operands(int s) const {
    const Step& at = step(s);
    const auto same = [&](const std::vector<int>& buffers, const std::vector<NodeId>& nodes) {
      return std::ranges::equal(buffers, nodes, {}, [&](int b) { return buffer(b).node; });
    };
    const auto writes = [&](NodeId node) { return at.writes.size() == 1 && buffer(at.writes[0]).node == node; };
    const Call& what = call(at);
    bool right = true;
    if (const auto* kernel = std::get_if<fuse::KernelCall>(&what.work))
      right = same(at.reads, kernel->reads) && same(at.writes, kernel->writes);
    else if (const auto* product = std::get_if<fuse::ProductCall>(&what.work))
      right = writes(product->result) && (at.accumulate >= 0) == (product->accumulate != expr::no_node) &&
              (at.accumulate < 0 || buffer(at.accumulate).node == product->accumulate);
    else if (const auto* transfer = std::get_if<fuse::TransferCall>(&what.work))
      right = writes(transfer->result) && same(at.reads, {transfer->source});
    else if (const auto* routine = std::get_if<fuse::RoutineCall>(&what.work))
      right = writes(routine->result) && same(at.reads, routine->reads) && at.workspace >= 0;
    else if (const auto* host = std::get_if<fuse::HostCall>(&what.work))
      right = writes(host->result);
    if (!right) fail_at(s, "has other buffers than its call has operands");
  }

  // ---- written once, before it is read ----

  void values() {
    writer_.assign(plan_.buffers.size(), -1);
    readers_.assign(plan_.buffers.size(), {});
    for (int s = 0; s < step_count(); ++s) {
      for (const int b : reads_of(step(s))) {
        readers_[static_cast<std::size_t>(b)].push_back(s);
        if (is_computed(b) && writer_[static_cast<std::size_t>(b)] < 0)
          fail_at(s, "reads b{}, which no step before it has written", b);
      }
      for (const int b : step(s).writes) {
        if (!is_computed(b)) fail_at(s, "writes b{}, which is not a result", b);
        int& writer = writer_[static_cast<std::size_t>(b)];
        if (writer >= 0) fail_at(s, "writes b{}, which step {} has written", b, writer);
        writer = s;
        in_segment(s, b);
      }
      if (step(s).workspace >= 0) in_segment(s, step(s).workspace);
    }
    for (int b = 0; b < buffer_count(); ++b) {
      if (is_computed(b) && writer_[static_cast<std::size_t>(b)] < 0) fail("no step writes b{}", b);
    }
  }
  bool is_computed(int b) const {
    const Role role = buffer(b).role;
    return role == Role::temporary || role == Role::output || role == Role::update;
  }
  void in_segment(int s, int b) const {
    const int segment = segment_of_[static_cast<std::size_t>(s)];
    if (buffer(b).segment != segment)
      fail_at(s, "runs in segment {}, but b{} gets memory in segment {}", segment, b, buffer(b).segment);
  }

  void results() const {
    const expr::Graph& graph = program_.graph;
    if (plan_.output_buffer.size() != graph.outputs.size() || plan_.update_buffer.size() != graph.updates.size())
      fail("there are {} outputs and {} updates, the graph has {} and {}", plan_.output_buffer.size(),
           plan_.update_buffer.size(), graph.outputs.size(), graph.updates.size());
    const auto check = [&](int b, NodeId node) {
      if (b < 0) return;
      if (buffer(b).node != node) fail("b{} is given as a result that it is not", b);
      if (buffer(b).role == Role::temporary || buffer(b).role == Role::workspace)
        fail("the result b{} is in memory that others share", b);
    };
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) check(plan_.output_buffer[i], graph.outputs[i]);
    for (std::size_t i = 0; i < graph.updates.size(); ++i) check(plan_.update_buffer[i], graph.updates[i].value);
  }

  // ---- memory is kept as long as it is needed ----

  /// The buffer that has the memory.
  int home(int b) const { return buffer(b).in_place_of >= 0 ? buffer(b).in_place_of : b; }

  void lifetimes() const {
    const auto needs = [&](int s, int b) {
      for (const int of : {b, home(b)}) {
        const Buffer& at = buffer(of);
        if (of != b && at.role != Role::temporary) continue;  // a shared variable outlives the call
        const bool begins_later = of == b && at.first_step > s;
        if (at.first_step < 0 || at.last_step < s || begins_later)
          fail_at(s, "uses b{}, whose memory is kept from step {} to {}", of, at.first_step, at.last_step);
      }
    };
    for (int s = 0; s < step_count(); ++s) {
      for (const int b : reads_of(step(s))) needs(s, b);
      for (const int b : step(s).writes) needs(s, b);
      if (step(s).workspace >= 0) needs(s, step(s).workspace);
    }
    // The host reads numbers back when their segment has ended.
    for (const NodeId fresh : program_.host.fresh) {
      const auto k = static_cast<std::size_t>(program_.host.segment[fresh]);
      const auto& list = plan_.segments[k].fresh;
      const auto found = std::ranges::find(list, fresh, [&](int b) { return buffer(b).node; });
      if (found == list.end()) fail("segment {} does not read back all the numbers that it finds", k);
      const int end = plan_.segments[k].end_launch;
      const int last = end == 0 ? -1 : plan_.launches[static_cast<std::size_t>(end) - 1].end_step - 1;
      if (is_computed(*found) && buffer(*found).last_step < last)
        fail("b{} is read back after step {}, but kept until step {}", *found, last, buffer(*found).last_step);
    }
  }

  // ---- in-place work overwrites nothing that is needed ----

  void in_place() const {
    for (int b = 0; b < buffer_count(); ++b) {
      if (buffer(b).in_place_of >= 0) may_share(b, buffer(b).in_place_of);
    }
    for (int b = 0; b < buffer_count(); ++b) {
      if (buffer(b).in_place_of < 0) no_value_lost(b);
    }
  }

  /// Whether b may be in the memory of `home` at all.
  void may_share(int b, int home) const {
    const Buffer &own = buffer(b), &other = buffer(home);
    const int s = writer_[static_cast<std::size_t>(b)];
    if (s < 0) fail("b{} is in place of b{}, but nothing writes it", b, home);
    if (other.role != Role::temporary && other.role != Role::shared)
      fail_at(s, "writes b{} in place of b{}, which is not its to write over", b, home);
    const expr::TensorType &type = arena_.type(own.node), &other_type = arena_.type(other.node);
    if (type.dtype != other_type.dtype || !arena_.same_shape(type.shape, other_type.shape) || own.place != other.place)
      fail_at(s, "writes b{} in place of b{}, which is another array", b, home);
    if (own.role == Role::update) {
      const expr::Update& update = program_.graph.updates[static_cast<std::size_t>(own.number)];
      if (program_.graph.inputs[update.input].node != other.node)
        fail_at(s, "writes the update b{} over b{}, which is another variable", b, home);
    } else if (own.role != Role::temporary) {
      fail_at(s, "writes the result b{} in place of b{}", b, home);
    }
    if (!call(step(s)).is<fuse::KernelCall>() && !call(step(s)).is<fuse::ProductCall>())
      fail_at(s, "writes b{} in place of b{}, which its kind of call cannot", b, home);
    for (const int r : reads_of(step(s))) {
      if (this->home(r) == home && !reads_before_it_writes(s, r, b))
        fail_at(s, "writes b{} over b{}, of which it still reads other elements", b, r);
    }
  }

  /// Whether the step reads of `from` only the element that it is about to write.
  bool reads_before_it_writes(int s, int from, int to) const {
    const Step& at = step(s);
    if (call(at).is<fuse::ProductCall>())
      return at.accumulate == from && at.left.buffer != from && at.right.buffer != from;
    const auto* kernel_call = std::get_if<fuse::KernelCall>(&call(at).work);
    if (kernel_call == nullptr) return false;
    const kernel::Kernel& k = *kernel_call->kernel;
    if (k.family == kernel::Family::split) return false;  // its parts have all been read before anything is written
    const auto written =
        static_cast<int>(at.reads.size()) + static_cast<int>(std::ranges::find(at.writes, to) - at.writes.begin());
    const auto store = std::ranges::find(k.stores, written, &kernel::Store::operand);
    if (store == k.stores.end()) return false;
    for (NodeId id = 0; id < k.body.size(); ++id) {
      const expr::Op& leaf = k.body.op(id);
      if (!leaf.is(expr::Core::load, expr::Core::load_if)) continue;
      const auto operand = static_cast<std::size_t>(k.body.attrs(id).integer("operand"));
      if (operand >= at.reads.size() || at.reads[operand] != from) continue;
      if (leaf.is(expr::Core::load_if) || !std::ranges::equal(k.body.inputs(id), store->index)) return false;
    }
    return true;
  }

  /// The values that one after the other are in the memory of b: none is read any more when the next one is written.
  void no_value_lost(int b) const {
    std::vector<int> values{b};
    for (int other = 0; other < buffer_count(); ++other) {
      if (buffer(other).in_place_of == b) values.push_back(other);
    }
    std::ranges::stable_sort(values, {}, [&](int v) { return writer_[static_cast<std::size_t>(v)]; });
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      const int value = values[i], next = writer_[static_cast<std::size_t>(values[i + 1])];
      const NodeId node = buffer(value).node;
      if (program_.host.is_fresh(node) && segment_of_[static_cast<std::size_t>(next)] <= program_.host.segment[node])
        fail_at(next, "writes over b{}, which the host reads back", value);
      for (const int reader : readers_[static_cast<std::size_t>(value)]) {
        const bool together =
            launch_of_[static_cast<std::size_t>(reader)] == launch_of_[static_cast<std::size_t>(next)];
        if (reader > next || (reader != next && together))
          fail_at(reader, "reads b{}, which step {} writes over", value, next);
      }
    }
  }

  // ---- the commit point ----

  void commit() const {
    if (plan_.commit_step < 0 || plan_.commit_step > step_count())
      fail("the commit point is before step {}, which there is none of", plan_.commit_step);
    bool host = false;
    for (int s = 0; s < step_count(); ++s) {
      const Step& at = step(s);
      if (at.after_commit != (s >= plan_.commit_step))
        fail_at(s, "is {}after the commit point, before step {}", at.after_commit ? "" : "not ", plan_.commit_step);
      const auto shared = std::ranges::find(at.writes, Role::shared, [&](int b) { return buffer(home(b)).role; });
      if (shared != at.writes.end() && !at.after_commit)
        fail_at(s, "overwrites b{}, a shared variable, before the commit point", home(*shared));
      if (shared == at.writes.end() && at.after_commit)
        fail_at(s, "overwrites no shared variable, but runs after the commit point");
      if (!at.after_commit) continue;
      const Call& what = call(at);
      if (what.has_checks() || !(what.is<fuse::KernelCall>() || what.is<fuse::ProductCall>()))
        fail_at(s, "may fail, after the commit point");
      if (host && what.place != 0) fail_at(s, "runs on a device after an update on the host, which cannot fail");
      host = what.place == 0;
      for (const int b : at.writes) {
        if (program_.host.is_fresh(buffer(b).node))
          fail_at(s, "finds b{}, a number of the host, after the commit point", b);
      }
    }
  }

  // ---- a device reads its own memory ----

  void devices() const {
    for (int s = 0; s < step_count(); ++s) {
      const Step& at = step(s);
      const Call& what = call(at);
      for (const int b : at.writes) {
        if (buffer(b).place != what.place) fail_at(s, "writes b{}, which is on another device", b);
      }
      if (what.is<fuse::TransferCall>()) {
        if (buffer(at.reads[0]).place == what.place) fail_at(s, "sends b{} to the device that it is on", at.reads[0]);
      } else if (!what.is<fuse::BranchCall>()) {  // which has what the chosen body needs sent to it
        for (const int b : reads_of(at)) {
          if (buffer(b).place != what.place) fail_at(s, "reads b{}, which is on another device", b);
        }
      }
    }
    for (int b = 0; b < buffer_count(); ++b) {
      if (buffer(b).role != Role::resident) continue;
      const Buffer& of = buffer(buffer(b).number);
      if ((of.role != Role::shared && of.role != Role::constant) || of.place == buffer(b).place)
        fail("b{} is a copy of b{}, which does not outlive the call on another device", b, buffer(b).number);
    }
  }

  const Plan& plan_;
  const fuse::Program& program_;
  const Arena& arena_;
  std::vector<int> launch_of_, segment_of_;  // per step
  std::vector<int> writer_;                  // per buffer: the step that writes it, or -1
  std::vector<std::vector<int>> readers_;    // per buffer: the steps that read it
};

}  // namespace

void verify(const Plan& plan, const fuse::Program& program) { Verifier(plan, program).run(); }

}  // namespace croton::plan
