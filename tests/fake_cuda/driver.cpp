#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "fake_cuda/control.hpp"
#include "fake_cuda/kernels.hpp"

using namespace croton::runtime::cuda;

namespace {

struct Stream;

struct Work {
  std::string what;  // for the trace; empty: not traced
  std::function<void()> run;
  bool computes = false;               // and so is delayed by delay=2
  std::shared_ptr<Stream> after = {};  // a wait for another stream's work, up to `end`
  std::uint64_t end = 0;
};

struct Stream {
  int device = 0, number = 0;
  std::deque<Work> work;
  std::uint64_t submitted = 0, run = 0;
  bool captures = false, capture_is_broken = false;
  std::thread::id captured_by;
  std::vector<Work> captured;  // is not executed
};

struct Graph {
  std::vector<Work> work;
  long long running = 0;  // launches for which nothing has waited
};

struct Event {
  int device = 0;
  bool timing = false;
  std::shared_ptr<Stream> stream;  // in which it was recorded; none: never
  std::uint64_t after = 0;
};

struct Allocation {
  int device = 0;
  std::size_t bytes = 0;
  bool allocated = false;  // in stream order
  bool freed = false;      // by a call
  bool gone = false;       // in the order of the stream in which it was freed
};

// The addresses of all device memory. No address is reused before reset(), so that a use after the end finds an
// unreadable page, and not other data. A GPU's memory is not the host's: it is readable only while work of a stream
// runs.
class AddressSpace {
 public:
  AddressSpace() {
    void* start = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) std::abort();
    start_ = static_cast<std::byte*>(start);
  }
  std::byte* take(std::size_t bytes) {
    const std::size_t rounded = round(bytes);
    if (rounded > size - used_) std::abort();
    std::byte* place = start_ + used_;
    used_ += rounded;
    protect(place, rounded, PROT_READ | PROT_WRITE);
    std::memset(place, 0xcb, std::min(bytes, std::size_t{1} << 16));  // not zero, as on a GPU
    if (at_work_ == 0) protect(place, rounded, PROT_NONE);
    live_.emplace(place, rounded);
    return place;
  }
  void drop(std::byte* place, std::size_t bytes) {
    live_.erase(place);
    replace(place, round(bytes));
  }
  void reset() {
    live_.clear();
    replace(start_, round(used_));
    used_ = 0;
  }
  // Work may run other work for which it waits.
  void begin_work() {
    if (at_work_++ == 0) protect_all(PROT_READ | PROT_WRITE);
  }
  void end_work() {
    if (--at_work_ == 0) protect_all(PROT_NONE);
  }

 private:
  static constexpr std::size_t size = std::size_t{64} << 30, page = 4096;
  static std::size_t round(std::size_t bytes) { return (bytes + page - 1) / page * page; }
  static void replace(std::byte* place, std::size_t bytes) {
    if (bytes > 0) ::mmap(place, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  }
  static void protect(std::byte* place, std::size_t bytes, int protection) {
    if (bytes > 0 && ::mprotect(place, bytes, protection) != 0) std::abort();
  }
  void protect_all(int protection) {
    for (const auto& [place, bytes] : live_) protect(place, bytes, protection);
  }

  std::byte* start_ = nullptr;
  std::size_t used_ = 0;
  std::map<std::byte*, std::size_t> live_;
  int at_work_ = 0;
};

struct Function {
  int device = 0;
  std::string name;
  std::shared_ptr<const std::string> text;  // the source text, if the code contains it
  std::array<int, 16> attributes{};
};

struct Module {
  int device = 0;
  std::vector<std::unique_ptr<Function>> functions;
};

struct DeviceState {
  int retained = 0;
  Result lost = result::success;
  std::uint64_t release_threshold = 0;
  std::size_t used = 0, kept_bytes = 0;
  std::multiset<std::size_t> kept;
  std::set<int> peers, pool_access;
};

struct Failure {
  long long first, last;
  Result code;
};

struct State {
  std::recursive_mutex mutex;
  bool initialised = false;
  std::map<std::string, long long> settings, calls, failed, live;
  std::map<std::string, std::vector<Failure>> failures;
  std::set<std::string> entries;
  std::array<DeviceState, 8> devices;
  std::map<StreamHandle, std::shared_ptr<Stream>> streams;
  std::map<EventHandle, std::unique_ptr<Event>> events;
  std::map<ModuleHandle, std::unique_ptr<Module>> modules;
  std::map<GraphHandle, std::unique_ptr<Graph>> graphs;
  std::map<GraphExecHandle, std::shared_ptr<Graph>> graph_execs;
  std::map<std::uintptr_t, std::unique_ptr<Allocation>> allocations;
  std::map<std::uintptr_t, std::unique_ptr<std::byte[]>> pinned;
  std::map<std::uintptr_t, std::size_t> pinned_bytes;
  std::string faults, text, trace;
  int streams_made = 0;
  AddressSpace space;
  fake_cuda::Runner runner;
};

State& state() {
  static State& kept = *new State;
  return kept;
}

void set_defaults() {
  state().settings = {{"devices", 2},
                      {"version", 13000},
                      {"memory", 1LL << 30},
                      {"pools", 1},
                      {"peers", 1},
                      {"delay", 0},
                      {"trace", 0},
                      {"split_k_only", 0},
                      {"capability", 90},
                      {"max_threads", 1024},
                      {"resident", 2},
                      {"cooperative", 1},
                      {"multiprocessors", 132},
                      {"random_order_only", 0},
                      {"no_channels_last", 0}};
  const char* text = std::getenv("FAKE_CUDA");
  std::istringstream list(text == nullptr ? "" : text);
  for (std::string item; std::getline(list, item, ',');) {
    const auto equals = item.find('=');
    const std::string name = item.substr(0, equals);
    const long long value = std::atoll(item.c_str() + equals + 1);
    if (state().settings.contains(name))
      state().settings[name] = value;
    else
      state().failures[name].push_back({1, 1LL << 60, static_cast<Result>(value)});
  }
}

const bool defaults_are_set = (set_defaults(), true);

thread_local ContextHandle current_context = nullptr;

// Handles of contexts and pools are numbers of devices, never 0.
ContextHandle context_of(int device) { return reinterpret_cast<ContextHandle>(0x1000 + device * 16); }
PoolHandle pool_of(int device) { return reinterpret_cast<PoolHandle>(0x2000 + device * 16); }
int device_of(ContextHandle context) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(context) - 0x1000) / 16;
}
int device_of(PoolHandle pool) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(pool) - 0x2000) / 16; }

constexpr Result capture_unsupported = 900, capture_invalidated = 901, capture_wrong_thread = 908, illegal_state = 401;

bool is_device(int device) { return device >= 0 && device < state().settings["devices"]; }

void fault(const std::string& what) { state().faults += what + "\n"; }

bool loses_device(Result code) {
  return code == result::illegal_address || code == result::launch_failed || code == result::ecc_uncorrectable;
}

// Begin of every call that needs a context: a lost device only returns its loss.
Result need_context() {
  if (current_context == nullptr) return 201;  // CUDA_ERROR_INVALID_CONTEXT
  const DeviceState& device = state().devices[static_cast<std::size_t>(device_of(current_context))];
  if (device.retained == 0) return result::context_is_destroyed;
  return device.lost;
}

int current_device() { return device_of(current_context); }
DeviceState& current() { return state().devices[static_cast<std::size_t>(current_device())]; }

void trace(const char* verb, const Work& work, const Stream& stream) {
  if (state().settings["trace"] == 0 || work.what.empty()) return;
  state().trace += std::string(verb) + " " + work.what + " in stream " + std::to_string(stream.number) + "\n";
}

void run_to(Stream& stream, std::uint64_t end);

void run_next(Stream& stream) {
  const Work work = std::move(stream.work.front());
  stream.work.pop_front();
  if (work.after != nullptr) run_to(*work.after, work.end);
  if (work.run) {
    state().space.begin_work();
    work.run();
    state().space.end_work();
  }
  trace("ran", work, stream);
  ++stream.run;
}

void run_to(Stream& stream, std::uint64_t end) {
  while (stream.run < end && !stream.work.empty()) run_next(stream);
}

// With delay=2: runs all work that need not wait for a kernel or a product.
void run_ready_work() {
  for (bool more = true; more;) {
    more = false;
    for (const auto& [handle, stream] : state().streams) {
      const auto ready = [&] {
        if (stream->work.empty() || stream->work.front().computes) return false;
        const Work& next = stream->work.front();
        return next.after == nullptr || next.after->run >= next.end;
      };
      for (; ready(); more = true) run_next(*stream);
    }
  }
}

void put(Stream& stream, Work work) {
  if (stream.captures) {
    if (stream.captured_by != std::this_thread::get_id()) fault("work of another thread in a stream that is captured");
    stream.captured.push_back(std::move(work));
    return;
  }
  trace("asked for", work, stream);
  stream.work.push_back(std::move(work));
  ++stream.submitted;
  if (state().settings["delay"] == 0) run_to(stream, stream.submitted);
  if (state().settings["delay"] == 2) run_ready_work();
}

Stream* find(StreamHandle handle) {
  const auto found = state().streams.find(handle);
  return found == state().streams.end() ? nullptr : found->second.get();
}

// An operation that cannot be captured ends the capture.
bool breaks_capture(Stream& stream, const char* by) {
  if (!stream.captures) return false;
  fault(std::string(by) + ": a stream that is captured");
  return stream.capture_is_broken = true;
}

Event* find(EventHandle handle) {
  const auto found = state().events.find(handle);
  return found == state().events.end() ? nullptr : found->second.get();
}

Allocation* allocation_at(Pointer pointer, std::size_t bytes) {
  auto after = state().allocations.upper_bound(pointer);
  if (after == state().allocations.begin()) return nullptr;
  const auto& [begin, allocation] = *std::prev(after);
  return pointer - begin <= allocation->bytes && bytes <= allocation->bytes - (pointer - begin) ? allocation.get()
                                                                                                : nullptr;
}

bool usable(Pointer pointer, std::size_t bytes, const char* by) {
  const Allocation* allocation = allocation_at(pointer, bytes);
  if (allocation == nullptr) return fault(std::string(by) + ": an address that is no device memory"), false;
  if (!allocation->allocated) return fault(std::string(by) + ": memory before its allocation has run"), false;
  if (allocation->gone) return fault(std::string(by) + ": memory after its end"), false;
  return true;
}

// The memory that kernels of the device may use now, in stream order.
std::vector<fake_cuda::Memory> memory_of(int device) {
  std::vector<fake_cuda::Memory> all;
  for (const auto& [begin, allocation] : state().allocations)
    if (allocation->device == device && allocation->allocated && !allocation->gone)
      all.push_back({begin, allocation->bytes});
  return all;
}

bool is_pinned(const void* at, std::size_t bytes) {
  const auto place = reinterpret_cast<std::uintptr_t>(at);
  auto after = state().pinned_bytes.upper_bound(place);
  if (after == state().pinned_bytes.begin()) return false;
  --after;
  return place - after->first <= after->second && bytes <= after->second - (place - after->first);
}

void copy_now(std::byte* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

std::byte* address(Pointer pointer) { return reinterpret_cast<std::byte*>(pointer); }

// A copy in a stream; a null end is in device memory, and is checked when the copy runs.
Result put_copy(StreamHandle handle, Pointer to, Pointer from, std::size_t bytes, bool to_host, bool from_host,
                const char* by) {
  Stream* stream = find(handle);
  if (stream == nullptr) return result::invalid_handle;
  if (stream->device != current_device()) return result::invalid_handle;
  if ((to_host || from_host) && breaks_capture(*stream, by)) return capture_unsupported;
  for (const auto& [place, host] : {std::pair(to, to_host), std::pair(from, from_host)}) {
    if (!host && allocation_at(place, bytes) == nullptr) return result::invalid_value;
    if (host && !is_pinned(address(place), bytes)) fault(std::string(by) + ": host memory that is not pinned");
  }
  const auto copy = [=] {
    bool good = true;
    for (const auto& [place, host] : {std::pair(to, to_host), std::pair(from, from_host)}) {
      if (!host) good = usable(place, bytes, by) && good;
      if (host && !is_pinned(address(place), bytes)) {
        fault(std::string(by) + ": pinned memory that has gone");
        good = false;
      }
    }
    if (good) copy_now(address(to), address(from), bytes);
  };
  put(*stream, {by, copy});
  return result::success;
}

std::vector<std::string> words_after(const std::string& text, const std::string& mark) {
  std::vector<std::string> words;
  for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
    std::istringstream rest(text.substr(at + mark.size()));
    std::string word;
    rest >> word;
    words.push_back(word.substr(0, word.find('(')));
  }
  return words;
}

struct Name {
  Result code;
  const char* name;
  const char* meaning;
};
constexpr Name names[] = {
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"}};

}  // namespace

// ---- control ----

void fake_cuda_reset() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.initialised = false;
  s.calls.clear();
  s.failures.clear();
  s.live.clear();
  s.devices = {};
  s.streams.clear();
  s.events.clear();
  s.modules.clear();
  s.graphs.clear();
  s.graph_execs.clear();
  s.allocations.clear();
  s.space.reset();
  s.pinned.clear();
  s.pinned_bytes.clear();
  s.faults.clear();
  s.trace.clear();
  s.streams_made = 0;
  set_defaults();
  s.initialised = true;  // drivers that were started before remain started
}

void fake_cuda_set_runner(const fake_cuda::Runner& runner) {
  const std::lock_guard lock(state().mutex);
  state().runner = runner;
}

void fake_cuda_set(const char* setting, long long value) {
  const std::lock_guard lock(state().mutex);
  if (setting == std::string("trace")) state().trace.clear();
  state().settings[setting] = value;
}

void fake_cuda_fail(const char* entry, long long nth, long long count, int code) {
  const std::lock_guard lock(state().mutex);
  const long long now = state().calls[entry];
  state().failures[entry].push_back({now + nth, now + nth + count - 1, code});
}

long long fake_cuda_calls(const char* entry) {
  const std::lock_guard lock(state().mutex);
  return state().calls[entry];
}

long long fake_cuda_failures(const char* entry) {
  const std::lock_guard lock(state().mutex);
  return state().failed[entry];
}

long long fake_cuda_live(const char* kind) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const std::string what = kind;
  long long contexts = 0;
  for (const DeviceState& device : s.devices) contexts += device.retained;
  if (what == "contexts") return contexts;
  if (what == "streams") return std::ssize(s.streams);
  if (what == "events") return std::ssize(s.events);
  if (what == "modules") return std::ssize(s.modules);
  if (what == "graphs") return std::ssize(s.graphs);
  if (what == "executable graphs") return std::ssize(s.graph_execs);
  if (what == "pinned") return std::ssize(s.pinned);
  if (what == "allocations")
    return std::ranges::count_if(s.allocations, [](const auto& item) { return !item.second->freed; });
  return s.live[what];
}

const char* fake_cuda_faults() {
  const std::lock_guard lock(state().mutex);
  return state().faults.c_str();
}

const char* fake_cuda_trace() {
  const std::lock_guard lock(state().mutex);
  return state().trace.c_str();
}

const char* fake_cuda_entries() {
  const std::lock_guard lock(state().mutex);
  state().text.clear();
  for (const std::string& entry : state().entries) state().text += entry + "\n";
  return state().text.c_str();
}

namespace fake_cuda {

int enter(const char* entry) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const long long number = ++s.calls[entry];
  for (const Failure& failure : s.failures[entry]) {
    if (number < failure.first || number > failure.last) continue;
    ++s.failed[entry];
    if (loses_device(failure.code) && current_context != nullptr) current().lost = failure.code;
    return failure.code;
  }
  return 0;
}

void register_entry(const char* entry) {
  const std::lock_guard lock(state().mutex);
  state().entries.insert(entry);
}

void count_live(const char* kind, long long change) {
  const std::lock_guard lock(state().mutex);
  state().live[kind] += change;
}

bool enqueue(StreamHandle handle, std::function<void()> work) {
  const std::lock_guard lock(state().mutex);
  Stream* stream = find(handle);
  if (stream != nullptr) put(*stream, {"a product", std::move(work), true});
  return stream != nullptr;
}

bool require_device_memory(const void* at, std::size_t bytes, const char* by) {
  const std::lock_guard lock(state().mutex);
  return usable(reinterpret_cast<Pointer>(at), bytes, by);
}

long long setting(const char* name) {
  const std::lock_guard lock(state().mutex);
  return state().settings[name];
}

}  // namespace fake_cuda

// ---- the driver's entry points ----
// ENTRY: counted, with planned failures. CONTEXT_ENTRY: also needs a context that is not lost.

#define ENTRY(name, ...)                                       \
  static const fake_cuda::Registration register_##name(#name); \
  extern "C" Result name(__VA_ARGS__) {                        \
    const std::lock_guard lock(state().mutex);                 \
    if (const Result wanted = fake_cuda::enter(#name); wanted != result::success) return wanted;

#define CONTEXT_ENTRY(name, ...) \
  ENTRY(name, __VA_ARGS__)       \
  if (const Result bad = need_context(); bad != result::success) return bad;

// clang-format off
ENTRY(cuInit, unsigned flags)
  if (flags != 0) return result::invalid_value;
  if (state().settings["devices"] == 0) return result::no_device;
  state().initialised = true;
  return result::success;
}

ENTRY(cuDriverGetVersion, int* version)
  *version = static_cast<int>(state().settings["version"]);
  return result::success;
}

ENTRY(cuGetErrorName, Result code, const char** text)
  for (const Name& known : names) if (known.code == code) return *text = known.name, result::success;
  *text = nullptr;
  return result::invalid_value;
}

ENTRY(cuGetErrorString, Result code, const char** text)
  for (const Name& known : names) if (known.code == code) return *text = known.meaning, result::success;
  *text = nullptr;
  return result::invalid_value;
}

ENTRY(cuDeviceGetCount, int* count)
  if (!state().initialised) return result::not_initialized;
  *count = static_cast<int>(state().settings["devices"]);
  return result::success;
}

ENTRY(cuDeviceGet, int* device, int ordinal)
  if (!is_device(ordinal)) return result::invalid_device;
  *device = ordinal;
  return result::success;
}

ENTRY(cuDeviceGetName, char* text, int length, int device)
  if (!is_device(device) || length < 16) return result::invalid_value;
  std::strcpy(text, "Fake GPU");
  return result::success;
}

ENTRY(cuDeviceGetPCIBusId, char* text, int length, int device)
  if (!is_device(device) || length < 16) return result::invalid_value;
  std::strcpy(text, device == 0 ? "0000:01:00.0" : "0000:02:00.0");
  return result::success;
}

ENTRY(cuDeviceGetAttribute, int* value, int which, int device)
  if (!is_device(device)) return result::invalid_device;
  switch (which) {
    case attribute::max_threads_per_block: *value = 1024; break;
    case attribute::multiprocessors: *value = static_cast<int>(state().settings["multiprocessors"]); break;
    case attribute::cooperative_launch: *value = static_cast<int>(state().settings["cooperative"]); break;
    case attribute::l2_bytes: *value = 50 << 20; break;
    case attribute::capability_major: *value = static_cast<int>(state().settings["capability"] / 10); break;
    case attribute::capability_minor: *value = static_cast<int>(state().settings["capability"] % 10); break;
    case attribute::shared_bytes_per_block: *value = 227 << 10; break;
    case attribute::memory_pools: *value = static_cast<int>(state().settings["pools"]); break;
    default: return result::invalid_value;
  }
  return result::success;
}

ENTRY(cuDeviceTotalMem_v2, std::size_t* bytes, int device)
  if (!is_device(device)) return result::invalid_device;
  *bytes = static_cast<std::size_t>(state().settings["memory"]);
  return result::success;
}

ENTRY(cuDevicePrimaryCtxRetain, ContextHandle* context, int device)
  if (!is_device(device)) return result::invalid_device;
  ++state().devices[static_cast<std::size_t>(device)].retained;
  *context = context_of(device);
  return result::success;
}

ENTRY(cuDevicePrimaryCtxRelease_v2, int device)
  if (!is_device(device)) return result::invalid_device;
  DeviceState& the = state().devices[static_cast<std::size_t>(device)];
  if (the.retained == 0) return 201;
  if (--the.retained == 0) the = {};
  return result::success;
}

ENTRY(cuCtxSetCurrent, ContextHandle context)
  current_context = context;
  return result::success;
}

CONTEXT_ENTRY(cuCtxSynchronize)
  for (const auto& [handle, stream] : state().streams) {
    if (!stream->captures || stream->captured_by != std::this_thread::get_id()) continue;
    stream->capture_is_broken = true;
    return capture_unsupported;
  }
  for (const auto& [handle, stream] : state().streams)
    if (stream->device == current_device()) run_to(*stream, stream->submitted);
  return need_context();
}

ENTRY(cuDeviceCanAccessPeer, int* possible, int device, int peer)
  if (!is_device(device) || !is_device(peer)) return result::invalid_device;
  *possible = device != peer && state().settings["peers"] != 0;
  return result::success;
}

CONTEXT_ENTRY(cuCtxEnablePeerAccess, ContextHandle peer, unsigned flags)
  if (flags != 0) return result::invalid_value;
  return current().peers.insert(device_of(peer)).second ? result::success : result::peer_access_already_enabled;
}

CONTEXT_ENTRY(cuMemPoolSetAccess, PoolHandle pool, const PoolAccess* access, std::size_t count)
  if (count != 1 || access->location_type != flag::location_device || access->flags != flag::access_read_write)
    return result::invalid_value;
  state().devices[static_cast<std::size_t>(device_of(pool))].pool_access.insert(access->device);
  return result::success;
}

CONTEXT_ENTRY(cuStreamCreate, StreamHandle* handle, unsigned flags)
  if (flags > flag::stream_non_blocking) return result::invalid_value;
  auto stream = std::make_shared<Stream>();
  stream->device = current_device();
  stream->number = ++state().streams_made;
  *handle = reinterpret_cast<StreamHandle>(stream.get());
  state().streams[*handle] = std::move(stream);
  return result::success;
}

ENTRY(cuStreamDestroy_v2, StreamHandle handle)
  Stream* stream = find(handle);
  if (stream == nullptr) return fault("cuStreamDestroy: no such stream"), result::invalid_handle;
  run_to(*stream, stream->submitted);
  state().streams.erase(handle);
  return need_context();
}

CONTEXT_ENTRY(cuStreamSynchronize, StreamHandle handle)
  Stream* stream = find(handle);
  if (stream == nullptr) return result::invalid_handle;
  if (breaks_capture(*stream, "cuStreamSynchronize")) return capture_unsupported;
  run_to(*stream, stream->submitted);
  return need_context();
}

CONTEXT_ENTRY(cuStreamWaitEvent, StreamHandle handle, EventHandle event_handle, unsigned flags)
  Stream* stream = find(handle);
  const Event* event = find(event_handle);
  if (stream == nullptr || event == nullptr || flags != 0) return result::invalid_handle;
  if (breaks_capture(*stream, "cuStreamWaitEvent")) return capture_unsupported;
  if (event->stream == nullptr) return result::success;  // never recorded
  put(*stream, {.what = {}, .run = {}, .after = event->stream, .end = event->after});
  return result::success;
}

CONTEXT_ENTRY(cuEventCreate, EventHandle* handle, unsigned flags)
  auto event = std::make_unique<Event>();
  event->device = current_device();
  event->timing = (flags & flag::event_without_timing) == 0;
  *handle = reinterpret_cast<EventHandle>(event.get());
  state().events[*handle] = std::move(event);
  return result::success;
}

ENTRY(cuEventDestroy_v2, EventHandle handle)
  if (state().events.erase(handle) == 0) return fault("cuEventDestroy: no such event"), result::invalid_handle;
  return need_context();
}

CONTEXT_ENTRY(cuEventRecord, EventHandle handle, StreamHandle stream_handle)
  Event* event = find(handle);
  Stream* stream = find(stream_handle);
  if (event == nullptr || stream == nullptr || stream->device != event->device) return result::invalid_handle;
  if (breaks_capture(*stream, "cuEventRecord")) return capture_unsupported;
  event->stream = state().streams[stream_handle];
  event->after = stream->submitted;
  return result::success;
}

CONTEXT_ENTRY(cuEventQuery, EventHandle handle)
  const Event* event = find(handle);
  if (event == nullptr) return result::invalid_handle;
  return event->stream == nullptr || event->stream->run >= event->after ? result::success : result::not_ready;
}

CONTEXT_ENTRY(cuEventSynchronize, EventHandle handle)
  const Event* event = find(handle);
  if (event == nullptr) return result::invalid_handle;
  if (event->stream != nullptr) run_to(*event->stream, event->after);
  return need_context();
}

CONTEXT_ENTRY(cuEventElapsedTime, float* milliseconds, EventHandle start, EventHandle end)
  for (const EventHandle handle : {start, end}) {
    const Event* event = find(handle);
    if (event == nullptr || !event->timing || event->stream == nullptr) return result::invalid_handle;
    if (event->stream->run < event->after) return result::not_ready;
  }
  *milliseconds = 0.5F;
  return result::success;
}

ENTRY(cuDeviceGetDefaultMemPool, PoolHandle* pool, int device)
  if (!is_device(device)) return result::invalid_device;
  *pool = pool_of(device);
  return result::success;
}

CONTEXT_ENTRY(cuMemPoolSetAttribute, PoolHandle pool, int which, void* value)
  if (which != pool_attribute::release_threshold) return result::invalid_value;
  std::memcpy(&state().devices[static_cast<std::size_t>(device_of(pool))].release_threshold, value, 8);
  return result::success;
}

CONTEXT_ENTRY(cuMemPoolGetAttribute, PoolHandle pool, int which, void* value)
  if (which != pool_attribute::reserved_bytes) return result::invalid_value;
  const DeviceState& device = state().devices[static_cast<std::size_t>(device_of(pool))];
  const std::uint64_t bytes = device.used + device.kept_bytes;
  std::memcpy(value, &bytes, sizeof bytes);
  return result::success;
}

CONTEXT_ENTRY(cuMemPoolTrimTo, PoolHandle pool, std::size_t keep)
  if (keep != 0) return result::invalid_value;
  DeviceState& device = state().devices[static_cast<std::size_t>(device_of(pool))];
  device.kept.clear();
  device.kept_bytes = 0;
  return result::success;
}

CONTEXT_ENTRY(cuMemAllocFromPoolAsync, Pointer* pointer, std::size_t bytes, PoolHandle pool, StreamHandle handle)
  Stream* stream = find(handle);
  if (stream == nullptr || bytes == 0) return result::invalid_value;
  if (breaks_capture(*stream, "cuMemAllocFromPoolAsync")) return capture_unsupported;
  const int number = device_of(pool);
  DeviceState& device = state().devices[static_cast<std::size_t>(number)];
  if (const auto kept = device.kept.find(bytes); kept != device.kept.end()) {
    device.kept.erase(kept);
    device.kept_bytes -= bytes;
  } else if (bytes > static_cast<std::size_t>(state().settings["memory"]) - device.used - device.kept_bytes) {
    return result::out_of_memory;
  }
  device.used += bytes;
  auto allocation = std::make_unique<Allocation>();
  allocation->device = number;
  allocation->bytes = bytes;
  const auto place = reinterpret_cast<std::uintptr_t>(state().space.take(bytes));
  *pointer = place;
  put(*stream, {{}, [the = allocation.get()] { the->allocated = true; }});
  state().allocations[place] = std::move(allocation);
  return result::success;
}

CONTEXT_ENTRY(cuMemFreeAsync, Pointer pointer, StreamHandle handle)
  Stream* stream = find(handle);
  const auto found = state().allocations.find(pointer);
  if (stream == nullptr || found == state().allocations.end() || found->second->freed)
    return fault("cuMemFreeAsync: no such memory or stream"), result::invalid_value;
  if (breaks_capture(*stream, "cuMemFreeAsync")) return capture_unsupported;
  Allocation* allocation = found->second.get();
  allocation->freed = true;
  const auto end = [allocation, pointer] {
    allocation->gone = true;
    state().space.drop(address(pointer), allocation->bytes);
    DeviceState& device = state().devices[static_cast<std::size_t>(allocation->device)];
    if (device.used < allocation->bytes) return;  // the context has ended meanwhile
    device.used -= allocation->bytes;
    if (device.release_threshold == 0) return;
    device.kept.insert(allocation->bytes);
    device.kept_bytes += allocation->bytes;
  };
  put(*stream, {{}, end});
  return result::success;
}

CONTEXT_ENTRY(cuMemGetInfo_v2, std::size_t* free_bytes, std::size_t* total)
  *total = static_cast<std::size_t>(state().settings["memory"]);
  *free_bytes = *total - current().used - current().kept_bytes;
  return result::success;
}

CONTEXT_ENTRY(cuMemHostAlloc, void** memory, std::size_t bytes, unsigned flags)
  if (bytes == 0 || flags != flag::host_memory_portable) return result::invalid_value;
  auto block = std::make_unique_for_overwrite<std::byte[]>(bytes);
  *memory = block.get();
  state().pinned_bytes[reinterpret_cast<std::uintptr_t>(*memory)] = bytes;
  state().pinned[reinterpret_cast<std::uintptr_t>(*memory)] = std::move(block);
  return result::success;
}

ENTRY(cuMemFreeHost, void* memory)
  const auto place = reinterpret_cast<std::uintptr_t>(memory);
  if (state().pinned.erase(place) == 0) return fault("cuMemFreeHost: no such memory"), result::invalid_value;
  state().pinned_bytes.erase(place);
  return need_context();
}

CONTEXT_ENTRY(cuMemcpyHtoDAsync_v2, Pointer to, const void* from, std::size_t bytes, StreamHandle stream)
  return put_copy(stream, to, reinterpret_cast<Pointer>(from), bytes, false, true, "cuMemcpyHtoDAsync");
}

CONTEXT_ENTRY(cuMemcpyDtoHAsync_v2, void* to, Pointer from, std::size_t bytes, StreamHandle stream)
  return put_copy(stream, reinterpret_cast<Pointer>(to), from, bytes, true, false, "cuMemcpyDtoHAsync");
}

CONTEXT_ENTRY(cuMemcpyDtoDAsync_v2, Pointer to, Pointer from, std::size_t bytes, StreamHandle stream)
  return put_copy(stream, to, from, bytes, false, false, "cuMemcpyDtoDAsync");
}

CONTEXT_ENTRY(cuMemcpyPeerAsync, Pointer to, ContextHandle to_context, Pointer from, ContextHandle from_context, std::size_t bytes, StreamHandle stream)
  const Allocation* target = allocation_at(to, bytes);
  const Allocation* source = allocation_at(from, bytes);
  if (target == nullptr || source == nullptr || target->device != device_of(to_context) ||
      source->device != device_of(from_context)) return result::invalid_value;
  return put_copy(stream, to, from, bytes, false, false, "cuMemcpyPeerAsync");
}

CONTEXT_ENTRY(cuMemsetD8Async, Pointer to, unsigned char value, std::size_t bytes, StreamHandle handle)
  Stream* stream = find(handle);
  if (stream == nullptr) return result::invalid_handle;
  if (allocation_at(to, bytes) == nullptr) return result::invalid_value;
  put(*stream, {{}, [=] { if (usable(to, bytes, "cuMemsetD8Async")) std::memset(address(to), value, bytes); }});
  return result::success;
}

// Machine code of the fake device is "\x7f" "ELF" and lines "kernel NAME"; PTX has ".entry NAME(". A PTX that contains
// the word "mistake" does not compile. After a mark both may contain their source text.
CONTEXT_ENTRY(cuModuleLoadDataEx, ModuleHandle* handle, const void* image, unsigned count, int* options, void** values)
  const std::string whole(static_cast<const char*>(image));
  const std::size_t mark = whole.find(fake_cuda::text_mark);
  const std::string text = whole.substr(0, mark);
  std::shared_ptr<const std::string> source;
  if (mark != whole.npos) source = std::make_shared<const std::string>(whole.substr(mark + std::strlen(fake_cuda::text_mark)));
  const bool machine_code = text.starts_with("\x7f" "ELF");
  if (!machine_code && (!text.starts_with(".version") || text.find("mistake") != text.npos)) {
    if (count == 2 && options[0] == flag::jit_error_log && options[1] == flag::jit_error_log_bytes)
      std::strncpy(static_cast<char*>(values[0]), "line 3: mistake", reinterpret_cast<std::size_t>(values[1]));
    return result::invalid_ptx;
  }
  auto module = std::make_unique<Module>();
  module->device = current_device();
  for (const std::string& name : words_after(text, machine_code ? "kernel " : ".entry ")) {
    auto function = std::make_unique<Function>();
    function->device = current_device();
    function->name = name;
    function->text = source;
    function->attributes[function_attribute::max_threads] = static_cast<int>(state().settings["max_threads"]);
    function->attributes[function_attribute::shared_bytes] = 1024;
    function->attributes[function_attribute::local_bytes] = 16;
    function->attributes[function_attribute::registers] = 32;
    function->attributes[function_attribute::binary_version] = 90;
    function->attributes[function_attribute::max_dynamic_shared_bytes] = 47 << 10;
    module->functions.push_back(std::move(function));
  }
  *handle = reinterpret_cast<ModuleHandle>(module.get());
  state().modules[*handle] = std::move(module);
  return result::success;
}

ENTRY(cuModuleUnload, ModuleHandle handle)
  if (state().modules.erase(handle) == 0) return fault("cuModuleUnload: no such module"), result::invalid_handle;
  return need_context();
}

CONTEXT_ENTRY(cuModuleGetFunction, FunctionHandle* function, ModuleHandle handle, const char* name)
  const auto module = state().modules.find(handle);
  if (module == state().modules.end()) return result::invalid_handle;
  for (const auto& known : module->second->functions)
    if (known->name == name) return *function = reinterpret_cast<FunctionHandle>(known.get()), result::success;
  return result::not_found;
}

CONTEXT_ENTRY(cuFuncGetAttribute, int* value, int which, FunctionHandle function)
  *value = reinterpret_cast<Function*>(function)->attributes.at(static_cast<std::size_t>(which));
  return result::success;
}

CONTEXT_ENTRY(cuFuncSetAttribute, FunctionHandle function, int which, int value)
  if (which != function_attribute::max_dynamic_shared_bytes || value > (227 << 10)) return result::invalid_value;
  reinterpret_cast<Function*>(function)->attributes[static_cast<std::size_t>(which)] = value;
  return result::success;
}

namespace {

// The runner that FAKE_CUDA_RUNNER names; none if it is not set. At the end of such a program nothing checks for
// faults: they are written to the standard error stream.
fake_cuda::Runner runner_of_environment() {
  const char* file = std::getenv("FAKE_CUDA_RUNNER");
  if (file == nullptr) return {};
  void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  void* entry = library == nullptr ? nullptr : ::dlsym(library, "fake_cuda_runner");
  if (entry == nullptr) {
    std::fprintf(stderr, "fake driver: no runner: %s\n", ::dlerror());
    return {};
  }
  std::atexit([] {
    if (!state().faults.empty()) std::fprintf(stderr, "fake driver: faults:\n%s", state().faults.c_str());
  });
  return *reinterpret_cast<const fake_cuda::Runner* (*)()>(entry)();
}

Result put_launch(FunctionHandle handle, unsigned blocks, unsigned threads, unsigned shared, bool cooperative, StreamHandle stream_handle, void** arguments) {
  const Function& function = *reinterpret_cast<const Function*>(handle);
  Stream* stream = find(stream_handle);
  if (stream == nullptr || stream->device != function.device) return result::invalid_handle;
  if (blocks == 0 || threads == 0) return result::invalid_value;
  if (static_cast<int>(threads) > function.attributes[function_attribute::max_threads]) return result::launch_out_of_resources;
  if (static_cast<int>(shared) > function.attributes[function_attribute::max_dynamic_shared_bytes])
    return result::launch_out_of_resources;
  if (function.text != nullptr) {
    if (!state().runner) state().runner = runner_of_environment();
    if (!state().runner) return result::invalid_image;
    auto launch = state().runner(*function.text, function.name, {blocks, threads, shared, cooperative}, arguments);
    const auto run = [launch = std::move(launch), name = function.name, device = stream->device] {
      const std::string wrong = launch(memory_of(device));
      if (wrong.empty()) return;
      fault(name + ": " + wrong);
      state().devices[static_cast<std::size_t>(device)].lost = result::illegal_address;
    };
    put(*stream, {function.name, run, true});
    return result::success;
  }
  const fake_cuda::HostKernel kernel = fake_cuda::host_kernel(function.name, arguments);
  if (!kernel) return result::invalid_image;
  const auto run = [kernel, device = stream->device] {
    if (!kernel()) state().devices[static_cast<std::size_t>(device)].lost = result::illegal_address;
  };
  put(*stream, {function.name, run, true});
  return result::success;
}

}  // namespace

CONTEXT_ENTRY(cuLaunchKernel, FunctionHandle function, unsigned blocks, unsigned blocks_y, unsigned blocks_z, unsigned threads, unsigned threads_y, unsigned threads_z, unsigned shared, StreamHandle stream, void** arguments, void** extra)
  if (blocks_y != 1 || blocks_z != 1 || threads_y != 1 || threads_z != 1 || extra != nullptr) return result::invalid_value;
  return put_launch(function, blocks, threads, shared, false, stream, arguments);
}

CONTEXT_ENTRY(cuLaunchCooperativeKernel, FunctionHandle function, unsigned blocks, unsigned blocks_y, unsigned blocks_z, unsigned threads, unsigned threads_y, unsigned threads_z, unsigned shared, StreamHandle stream, void** arguments)
  if (blocks_y != 1 || blocks_z != 1 || threads_y != 1 || threads_z != 1) return result::invalid_value;
  if (state().settings["cooperative"] == 0) return fault("cuLaunchCooperativeKernel: there are none"), result::invalid_value;
  if (blocks > state().settings["resident"] * state().settings["multiprocessors"]) return result::cooperative_launch_too_large;
  return put_launch(function, blocks, threads, shared, true, stream, arguments);
}

CONTEXT_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor, int* blocks, FunctionHandle function, int threads, std::size_t shared)
  if (function == nullptr || threads <= 0) return result::invalid_value;
  // As a GPU: 0 blocks of a kernel that has not allowed so much shared memory.
  const auto& attributes = reinterpret_cast<const Function*>(function)->attributes;
  const auto allowed = static_cast<std::size_t>(attributes[function_attribute::max_dynamic_shared_bytes]);
  const std::size_t used = shared + static_cast<std::size_t>(attributes[function_attribute::shared_bytes]);
  const auto most = static_cast<int>(std::size_t{228 << 10} / (used + 1024));
  *blocks = shared > allowed ? 0 : std::min(static_cast<int>(state().settings["resident"]), most);
  return result::success;
}

CONTEXT_ENTRY(cuStreamBeginCapture_v2, StreamHandle handle, int mode)
  Stream* stream = find(handle);
  if (stream == nullptr || stream->device != current_device()) return result::invalid_handle;
  if (mode != flag::capture_thread_local) return result::invalid_value;
  if (stream->captures) return illegal_state;
  stream->captures = true;
  stream->capture_is_broken = false;
  stream->captured_by = std::this_thread::get_id();
  stream->captured.clear();
  return result::success;
}

CONTEXT_ENTRY(cuStreamEndCapture, StreamHandle handle, GraphHandle* graph_handle)
  Stream* stream = find(handle);
  if (stream == nullptr) return result::invalid_handle;
  if (!stream->captures) return illegal_state;
  if (stream->captured_by != std::this_thread::get_id()) return capture_wrong_thread;
  stream->captures = false;
  *graph_handle = nullptr;
  if (stream->capture_is_broken) return capture_invalidated;
  auto graph = std::make_unique<Graph>();
  graph->work = std::move(stream->captured);
  *graph_handle = reinterpret_cast<GraphHandle>(graph.get());
  state().graphs[*graph_handle] = std::move(graph);
  return result::success;
}

CONTEXT_ENTRY(cuGraphInstantiateWithFlags, GraphExecHandle* exec, GraphHandle handle, unsigned long long flags)
  const auto graph = state().graphs.find(handle);
  if (graph == state().graphs.end() || flags != 0) return result::invalid_value;
  auto made = std::make_shared<Graph>();
  made->work = graph->second->work;
  *exec = reinterpret_cast<GraphExecHandle>(made.get());
  state().graph_execs[*exec] = std::move(made);
  return result::success;
}

CONTEXT_ENTRY(cuGraphLaunch, GraphExecHandle exec, StreamHandle handle)
  const auto graph = state().graph_execs.find(exec);
  Stream* stream = find(handle);
  if (graph == state().graph_execs.end() || stream == nullptr) return result::invalid_handle;
  ++graph->second->running;
  for (const auto& work : graph->second->work) put(*stream, work);
  put(*stream, {{}, [graph = graph->second] { --graph->running; }});
  return result::success;
}

ENTRY(cuGraphExecDestroy, GraphExecHandle exec)
  const auto graph = state().graph_execs.find(exec);
  if (graph == state().graph_execs.end()) return fault("cuGraphExecDestroy: no such graph"), result::invalid_value;
  if (graph->second->running > 0) fault("cuGraphExecDestroy: a graph that still runs");
  state().graph_execs.erase(graph);
  return need_context();
}

ENTRY(cuGraphDestroy, GraphHandle graph)
  if (state().graphs.erase(graph) == 0) return fault("cuGraphDestroy: no such graph"), result::invalid_value;
  return need_context();
}
// clang-format on

// The table of src/ and these functions have the same types.
#define CROTON_CUDA_ENTRY(name, symbol, ...) static_assert(std::is_same_v<decltype(symbol), Result(__VA_ARGS__)>);
#include "runtime/cuda/driver/driver_entries.def"
#undef CROTON_CUDA_ENTRY
