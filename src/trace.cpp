// The public interface of traces.
#include <croton/trace.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
#include <span>

#include "base/device_name.hpp"
#include "base/output.hpp"
#include "io/json_text.hpp"
#include "runtime/bound/trace.hpp"
#include "runtime/bound/user_line.hpp"
#include "settings.hpp"

namespace croton {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

/// The kind of work; without a launch it is a transfer.
std::string_view kind_of(const runtime::TracedWork& work) {
  if (work.launch == plan::no_launch) return "transfer";
  return fuse::name_of(work.executable->call_of(work.launch).work);
}

/// The names of a launch's results, shortened if there are many.
std::string title_of(const runtime::TracedWork& work) {
  constexpr std::size_t most = 3;
  const expr::Graph& graph = work.executable->program.graph;
  std::vector<expr::NodeId> nodes;
  if (work.launch == plan::no_launch) {
    nodes = {work.node};
  } else {
    const plan::Plan& plan = work.executable->plan;
    for (const plan::StepId s : plan.launches[work.launch].steps()) {
      for (const plan::BufferId b : plan.steps[s].writes) nodes.push_back(plan.buffers[b].node);
    }
  }
  std::vector<std::string> titles;
  for (const expr::NodeId node : nodes) {
    std::string title = runtime::title_of(graph, node);
    if (std::ranges::find(titles, title) == titles.end()) titles.push_back(std::move(title));
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(most, titles.size()); ++i) text += (i > 0 ? ", " : "") + titles[i];
  return titles.size() > most ? fmt::format("{} and {} more", text, titles.size() - most) : text;
}

}  // namespace

struct Trace::State {
  std::shared_ptr<runtime::TraceRecorder> recorder = std::make_shared<runtime::TraceRecorder>();
  Clock::time_point begin = Clock::now();
};

Trace::Trace() : state_(std::make_unique<State>()) { runtime::start_trace(state_->recorder); }
Trace::~Trace() { stop(); }
void Trace::stop() { runtime::stop_trace(state_->recorder.get()); }

std::vector<runtime::RecordedEvent> detail::recorded_events(const Trace& trace) {
  return trace.state_->recorder->events();
}

std::vector<TraceEvent> Trace::events() const {
  std::vector<TraceEvent> all;
  for (const runtime::RecordedEvent& event : state_->recorder->events()) {
    const runtime::LaneName lane = event.work.lane;
    TraceEvent& made = all.emplace_back();
    made.function = *event.function;
    made.name = title_of(event.work);
    made.what = kind_of(event.work);
    made.device = base::DeviceName::of_place(lane.place).to_string();
    made.lane = made.device + (lane.copies ? " copies" : "");
    made.caller = event.caller;
    made.start = microseconds(event.start - state_->begin);
    made.end = microseconds(event.end - state_->begin);
    made.bytes = event.work.bytes;
  }
  std::ranges::stable_sort(all, {}, &TraceEvent::start);
  return all;
}

void Trace::write(const std::string& path) const {
  const std::vector<TraceEvent> all = events();
  std::map<std::pair<int, std::string>, std::size_t> rows;  // by caller and lane, in the order of the lanes' names
  for (const TraceEvent& event : all) rows.try_emplace({event.caller, event.lane});
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  std::string_view separator = "\n";
  const auto add = [&](const std::string& line) {
    text += fmt::format("{}{}", separator, line);
    separator = ",\n";
  };
  int last = -1;
  std::size_t next = 0;
  for (auto& [row, number] : rows) {
    const auto& [caller, lane] = row;
    number = next++;
    if (caller != last) {
      add(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"calls of thread {}"}}}})", caller,
                      caller));
    }
    last = caller;
    add(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", caller, number,
                    io::json_text(lane)));
    add(fmt::format(R"({{"ph":"M","name":"thread_sort_index","pid":{0},"tid":{1},"args":{{"sort_index":{1}}}}})",
                    caller, number));
  }
  for (const TraceEvent& event : all) {
    const std::string bytes = event.what == "transfer" ? fmt::format(",\"bytes\":{}", event.bytes) : "";
    add(fmt::format(R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{)"
                    R"("function":{}{}}}}})",
                    io::json_text(event.name), event.what, event.caller, rows.at({event.caller, event.lane}),
                    event.start, event.end - event.start, io::json_text(event.function), bytes));
  }
  text += "\n]}\n";
  base::write_file(path, std::as_bytes(std::span(text)));
}

namespace detail {

void trace_to(const std::string& path) {
  if (path.empty()) return;
  static struct AtEnd {
    std::mutex mutex;
    std::string path;
    const pid_t process = getpid();
    std::unique_ptr<Trace> trace;
    ~AtEnd() {
      if (!trace || process != getpid()) return;  // a forked child has its parent's trace, which only the parent writes
      try {
        trace->write(path);
      } catch (const std::exception& error) {
        std::fputs(fmt::format("croton: warning: no trace was written: {}\n", error.what()).c_str(), stderr);
      }
    }
  } at_end;
  const std::lock_guard lock(at_end.mutex);
  at_end.path = path;
  if (!at_end.trace) at_end.trace = std::make_unique<Trace>();
}

}  // namespace detail
}  // namespace croton
