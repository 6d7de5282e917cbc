#include "runtime/cuda/driver/context.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/bytes_text.hpp"
#include "runtime/cuda/driver/staging.hpp"

namespace croton::runtime::cuda {
namespace {

// Never destroyed: arrays in static storage are released later. The driver itself ends the contexts with the process,
// and reports "deinitialized" to later calls.
struct OpenContexts {
  std::mutex mutex;
  std::map<std::pair<const Driver*, int>, std::shared_ptr<Context>> by_number;
};

OpenContexts& open_contexts() {
  static auto& contexts = *new OpenContexts;
  return contexts;
}

[[noreturn]] void raise_no_such_device(const Driver& driver, int index, int count) {
  if (count == 0) {
    throw DeviceError(fmt::format("cuda{}: there is no such device; the driver finds none: {}", index,
                                  driver.explain(result::no_device)));
  }
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(fmt::format("cuda{}", i));
  throw DeviceError(
      fmt::format("cuda{}: there is no such device; this machine has: {}", index, fmt::join(names, ", ")));
}

}  // namespace

std::shared_ptr<Context> Context::get(int index, Where where) {
  const Driver& driver = Driver::instance();
  OpenContexts& contexts = open_contexts();
  const std::lock_guard lock(contexts.mutex);
  std::shared_ptr<Context>& context = contexts.by_number[{&driver, index}];
  if (!context) context = open(index, where);
  return context;
}

std::shared_ptr<Context> Context::open(int index, Where where) {
  const Driver& driver = Driver::instance();
  if (const int count = driver.device_count(); index < 0 || index >= count) raise_no_such_device(driver, index, count);
  // If a later step fails, the destructor closes the parts that are open already.
  std::shared_ptr<Context> context(new Context(driver, index));
  context->start(where);
  return context;
}

Context::Context(const Driver& driver, int index)
    : driver_(driver),
      index_(index),
      title_(fmt::format("cuda{}", index)),
      staging_in_(std::make_unique<Staging>(*this)),
      staging_ahead_(std::make_unique<Staging>(*this)),
      staging_out_(std::make_unique<Staging>(*this)) {}

Context::~Context() {
  staging_in_.reset();
  staging_ahead_.reset();
  staging_out_.reset();
  if (handle_ != nullptr) driver_.cuDevicePrimaryCtxRelease.function(device_);
}

void Context::start(Where where) {
  check(driver_.cuDeviceGet.function(&device_, index_), driver_.cuDeviceGet.name, where);
  read_facts(where);
  if (read_attribute(attribute::memory_pools, where) == 0) {
    throw DeviceError(fmt::format(
        "{} has no stream-ordered memory, which Croton needs (some virtual GPUs have it switched off)", title_));
  }
  check(driver_.cuDevicePrimaryCtxRetain.function(&handle_, device_), driver_.cuDevicePrimaryCtxRetain.name, where);
  call(driver_.cuDeviceGetDefaultMemPool, where, &pool_, device_);
  // By default a pool gives its memory back at every synchronisation, and pays for a mapping when it takes it again.
  std::uint64_t keep_all = std::numeric_limits<std::uint64_t>::max();
  call(driver_.cuMemPoolSetAttribute, where, pool_, pool_attribute::release_threshold, &keep_all);
}

int Context::read_attribute(int which, Where where) {
  int value = 0;
  check(driver_.cuDeviceGetAttribute.function(&value, which, device_), driver_.cuDeviceGetAttribute.name, where);
  return value;
}

void Context::read_facts(Where where) {
  constexpr int length = 255;
  std::array<char, length + 1> text{};  // the last zero stays
  check(driver_.cuDeviceGetName.function(text.data(), length, device_), driver_.cuDeviceGetName.name, where);
  facts_.name = text.data();
  title_ = fmt::format("cuda{} ({})", index_, facts_.name);
  check(driver_.cuDeviceGetPCIBusId.function(text.data(), length, device_), driver_.cuDeviceGetPCIBusId.name, where);
  facts_.pci_id = text.data();
  check(driver_.cuDeviceTotalMem.function(&facts_.memory_bytes, device_), driver_.cuDeviceTotalMem.name, where);
  facts_.major = read_attribute(attribute::capability_major, where);
  facts_.minor = read_attribute(attribute::capability_minor, where);
  facts_.multiprocessors = read_attribute(attribute::multiprocessors, where);
  facts_.threads_per_block = read_attribute(attribute::max_threads_per_block, where);
  const auto read_bytes = [&](int which) { return static_cast<std::size_t>(read_attribute(which, where)); };
  facts_.shared_bytes_per_block = read_bytes(attribute::shared_bytes_per_block);
  facts_.l2_bytes = read_bytes(attribute::l2_bytes);
  facts_.cooperative_launches = read_attribute(attribute::cooperative_launch, where) != 0;
}

// ---- calls and their errors ----

void Context::enter(const char* call, Where where) {
  if (lost()) {
    const std::lock_guard lock(mutex_);
    throw DeviceError(fmt::format("{}: {} cannot be used any more in this process, because of an earlier error: {}",
                                  call_and_line(call, where), title_, loss_));
  }
  check(driver_.cuCtxSetCurrent.function(handle_), driver_.cuCtxSetCurrent.name, where);
}

void Context::check(Result code, const char* call, Where where) {
  if (code == result::success) return;
  const std::string subject = "on " + title_;
  if (!loses_device(code)) return driver_.check(code, call, where, subject);
  std::string message = fmt::format(
      "{} failed {}: {}. The cause may be a kernel or copy that was started earlier. The device is lost for this "
      "process: start the program again",
      call_and_line(call, where), subject, driver_.explain(code));
  {
    const std::lock_guard lock(mutex_);
    if (loss_.empty()) loss_ = message;
    lost_.store(true, std::memory_order_release);
  }
  throw DeviceError(message);
}

void Context::lose(const std::string& why) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (loss_.empty()) loss_ = why;
  } catch (...) {  // then the reason is missing
  }
  lost_.store(true, std::memory_order_release);
}

void Context::note(const char* call, Result code) noexcept {
  if (!loses_device(code) || lost()) return;
  try {
    check(code, call, {});
  } catch (...) {  // check() remembers the error, and nothing else is wanted here
    lost_.store(true, std::memory_order_release);
  }
}

void Context::synchronize(Where where) { call(driver_.cuCtxSynchronize, where); }

// ---- memory ----

Pointer Context::allocate(std::size_t bytes, StreamHandle stream, Where where) {
  Pointer memory = 0;
  const auto& entry = driver_.cuMemAllocFromPoolAsync;
  Result code = attempt(entry, where, &memory, bytes, pool_, stream);
  if (code == result::out_of_memory) {
    // Running work may still use freed memory, and kept memory may have the wrong sizes.
    synchronize(where);
    trim(where);
    code = attempt(entry, where, &memory, bytes, pool_, stream);
    if (code == result::out_of_memory) raise_out_of_memory(bytes, where);
  }
  check(code, entry.name, where);
  const std::lock_guard lock(mutex_);
  ++counters_.allocations;
  ++counters_.live_buffers;
  counters_.bytes_in_use += bytes;
  counters_.peak_bytes = std::max(counters_.peak_bytes, counters_.bytes_in_use);
  return memory;
}

void Context::free(Pointer memory, std::size_t bytes, StreamHandle stream) noexcept {
  release(driver_.cuMemFreeAsync, memory, stream);
  const std::lock_guard lock(mutex_);
  --counters_.live_buffers;
  counters_.bytes_in_use -= bytes;
}

void Context::raise_out_of_memory(std::size_t bytes, Where where) {
  const PoolCounters now = memory_counters();
  std::string text = fmt::format("{}: {} could not be allocated on {}; {} are in use by {} buffers of this program",
                                 call_and_line(driver_.cuMemAllocFromPoolAsync.name, where), base::bytes_text(bytes),
                                 title_, base::bytes_text(now.bytes_in_use), now.live_buffers);
  std::size_t free_bytes = 0, total_bytes = 0;
  if (attempt(driver_.cuMemGetInfo, where, &free_bytes, &total_bytes) == result::success) {
    text += fmt::format(", {} of {} are free", base::bytes_text(free_bytes), base::bytes_text(total_bytes));
  }
  throw OutOfMemory(text);
}

PoolCounters Context::memory_counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

std::size_t Context::reserved_bytes(Where where) {
  std::uint64_t bytes = 0;
  call(driver_.cuMemPoolGetAttribute, where, pool_, pool_attribute::reserved_bytes, &bytes);
  return bytes;
}

void Context::trim(Where where) { call(driver_.cuMemPoolTrimTo, where, pool_, 0); }

bool Context::enable_peer_access(Context& peer, Where where) {
  int possible = 0;
  call(driver_.cuDeviceCanAccessPeer, where, &possible, device_, peer.device_);
  if (possible == 0) return false;
  // Access to the context is for direct copies; memory of a pool needs access to the pool as well.
  const Result code = attempt(driver_.cuCtxEnablePeerAccess, where, peer.handle_, 0);
  if (code != result::peer_access_already_enabled) check(code, driver_.cuCtxEnablePeerAccess.name, where);
  const PoolAccess access{flag::location_device, device_, flag::access_read_write};
  peer.call(driver_.cuMemPoolSetAccess, where, peer.pool_, &access, 1);
  return true;
}

}  // namespace croton::runtime::cuda
