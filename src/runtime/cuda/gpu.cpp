#include "runtime/cuda/gpu.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "runtime/cuda/compile.hpp"
#include "runtime/cuda/graph.hpp"
#include "runtime/cuda/libraries/blaslt.hpp"
#include "runtime/cuda/libraries/dnn.hpp"
#include "runtime/cuda/libraries/nvrtc.hpp"
#include "runtime/cuda/libraries/toolkit.hpp"
#include "runtime/cuda/module.hpp"
#include "runtime/cuda/peer_copies.hpp"
#include "runtime/cuda/target.hpp"
#include "runtime/cuda/transfer.hpp"
#include "runtime/cuda/uploads.hpp"

namespace croton::runtime::cuda {
namespace {

constexpr unsigned finish_threads = 32;  // a warp puts the parts of a split kernel together

/// Why there is no driver, in one line.
std::string short_reason() {
  if (toolkit_hidden()) return "real GPUs are hidden by cuda_root=none";
  if (!Driver::found()) return "no NVIDIA driver is installed";
  std::string why;
  Driver::available(&why);
  return why.substr(0, why.find('\n'));
}

/// A library that may be missing. What it was to do is done without, which is said once.
struct Helper {
  const char* without_it;
  std::atomic<bool> warned{false};

  void warn_once(const std::string& why) {
    if (!base::config().warn || warned.exchange(true)) return;
    std::fputs(fmt::format("croton: warning: {}: {}\n", without_it, why).c_str(), stderr);
  }
};
Helper product_library{"products on GPUs run in generated kernels, which is slower than cuBLASLt"};
Helper convolution_library{"convolutions on GPUs run in generated kernels and products of matrices, without cuDNN"};

struct LoadedKernel {
  Kernel main;
  std::optional<Kernel> finish;
};

/// What this folder calls a device: inside of Gpu that name is its base.
using Driven = Device;

/// Work that this thread captures: it goes into a stream of its own, as what other threads ask for must not be in it.
struct Capture {
  const runtime::Device* gpu = nullptr;  // none: this thread captures nothing
  const Stream* stream = nullptr;
  std::vector<std::shared_ptr<Buffer>>* used = nullptr;  // memory of the device's own that the work is in
};
thread_local Capture capture;

/// This thread captures as long as it lives.
class CaptureScope {
 public:
  explicit CaptureScope(const Capture& now) { capture = now; }
  ~CaptureScope() { capture = {}; }
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;
};

/// A graph, launched into the device's stream, with what it needs.
class GraphRecording final : public Recording {
 public:
  GraphRecording(Graph graph, Stream stream, std::shared_ptr<PeerCopies> peer_copies,
                 std::vector<std::shared_ptr<Buffer>> used)
      : used_(std::move(used)),
        stream_(std::move(stream)),
        peer_copies_(std::move(peer_copies)),
        graph_(std::move(graph)) {}
  bool replay() override try {
    peer_copies_->wait_for_all();
    graph_.launch(stream_);
    return true;
  } catch (const OutOfMemory&) {  // a graph that is launched for the first time takes some
    return false;
  }

 private:
  std::vector<std::shared_ptr<Buffer>> used_;
  Stream stream_;
  std::shared_ptr<PeerCopies> peer_copies_;
  Graph graph_;  // ends first
};

class Gpu final : public runtime::Device {
 public:
  Gpu(std::shared_ptr<Driven> device, runtime::DeviceFacts facts)
      : device_(std::move(device)), stream_(device_), copies_(device_), facts_(std::move(facts)) {}

  const runtime::DeviceFacts& facts() const override { return facts_; }
  MemoryUse memory_use() const override { return account_->use(); }
  bool runs_cuda() const override { return true; }

  // ---- memory ----

  std::shared_ptr<void> allocate(std::size_t bytes) override {
    refuse_in_capture("memory");
    // An array without elements has an address too.
    auto buffer = std::make_shared<Buffer>(stream_, std::max<std::size_t>(bytes, 1));
    std::byte* address = buffer->data();
    const std::shared_ptr<void> memory(address, [buffer = std::move(buffer), copies = peer_copies_](void*) mutable {
      copies->end_of(buffer->data(), buffer->size());
      buffer.reset();
    });
    return on_account(account_, memory, bytes);
  }

  void copy_in(void* to, const void* host, std::size_t bytes) override {
    refuse_in_capture("a copy from the host");
    peer_copies_->wait_for(to, bytes, true);
    cuda::copy_in(stream_, to, {static_cast<const std::byte*>(host), bytes});
  }

  void copy_out(void* host, const void* from, std::size_t bytes) override {
    refuse_in_capture("a copy to the host");
    peer_copies_->wait_for(from, bytes, false);
    cuda::copy_out(stream_, {static_cast<std::byte*>(host), bytes}, from);
  }

  std::unique_ptr<Uploads> make_uploads() override {
    return std::make_unique<TwoSets>(*this, device_, stream_, copies_, peer_copies_);
  }

  void copy_from(runtime::Device& other, void* to, const void* from, std::size_t bytes) override {
    auto* source = dynamic_cast<Gpu*>(&other);
    if (source == this) {
      about_to_touch(from, bytes, false);
      about_to_touch(to, bytes, true);
      return copy_within(stream(), to, from, bytes);
    }
    refuse_in_capture("a copy from another device");
    if (source == nullptr) return runtime::Device::copy_from(other, to, from, bytes);
    source->peer_copies_->wait_for(from, bytes, false);
    peer_copies_->wait_for(to, bytes, true);
    const Stream& arrivals = stream_of_arrivals();
    Event written(source->device_), unused(device_);
    const auto arrived = std::make_shared<Event>(device_);
    written.record(source->stream_);
    unused.record(stream_);  // what lay at `to` has been read
    arrivals.wait(written);
    arrivals.wait(unused);
    try {
      if (source->device_ == device_) {
        copy_within(arrivals, to, from, bytes);
      } else {
        reach(*source->device_);
        copy_peer(arrivals, to, *source->device_, from, bytes);
      }
      arrived->record(arrivals);
      source->peer_copies_->add(from, bytes, false, arrived);
      peer_copies_->add(to, bytes, true, arrived);
    } catch (...) {
      // The copy may run, and nobody would wait for it.
      device_->release(device_->driver().cuStreamSynchronize, arrivals.handle());
      throw;
    }
  }

  // ---- kernels ----

  Prepared prepare(const codegen::Text& text, int threads) override {
    bool from_cache = false, made = false;
    const LoadedKernel* kernel = find(text.name);
    if (kernel == nullptr) {
      LoadedKernel fresh = load(text, from_cache);
      const std::lock_guard lock(kernels_mutex_);  // another thread may have been faster: its kernel is the same
      kernel = &kernels_.try_emplace(text.name, std::move(fresh)).first->second;
      made = true;
    }
    if (const int most = kernel->main.facts().threads_per_block; threads > most) {
      throw DeviceError(fmt::format(
          "{} runs on {} with at most {} threads a block, because of the {} registers of a thread; the schedule asks "
          "for {}: set the flag schedule=threads={}",
          text.name, device_->title(), most, kernel->main.facts().registers, threads, most / 32 * 32));
    }
    if (!made) return Prepared::before;
    return from_cache ? Prepared::from_cache : Prepared::compiled;
  }

  void launch(const DeviceLaunch& launch) override {
    const LoadedKernel* kernel = find(launch.text->name);
    if (kernel == nullptr) throw InternalError("a launch of a kernel that was not prepared: " + launch.text->name);
    for (const Operand& operand : launch.operands) about_to_touch(operand.address, operand.bytes, operand.written);
    if (launch.items > 0) {
      const LaunchShape shape{.blocks = static_cast<unsigned>(launch.blocks),
                              .threads = static_cast<unsigned>(launch.threads),
                              .cooperative = launch.cooperative};
      kernel->main.launch(stream(), shape, launch.parameters, launch.items);
    }
    if (kernel->finish) kernel->finish->launch(stream(), {1, finish_threads}, launch.parameters, std::nullopt);
  }

  int most_cooperative_blocks(const codegen::Text& text, int threads) override {
    if (!facts_.cooperates) return 0;
    const LoadedKernel* kernel = find(text.name);
    if (kernel == nullptr) throw InternalError("a question about a kernel that was not prepared: " + text.name);
    return kernel->main.resident_blocks(static_cast<unsigned>(threads));
  }

  // ---- products ----

  bool prepare(const MatrixProduct& product) override {
    if (product.dtype != DType::float32 && product.dtype != DType::float64) return false;
    if (product.batch > std::numeric_limits<std::int32_t>::max()) return false;
    return prepare_by(product_library, [&] {
      if (!library_) library_ = std::make_unique<BlasLt>(device_);
      return library_->workspace_bytes(product);
    });
  }

  void gemm(const MatrixProduct& product) override {
    const auto touch = [&](const void* matrix, std::int64_t rows, std::int64_t columns, std::int64_t between,
                           std::int64_t stride, bool written) {
      if (rows == 0 || columns == 0 || product.batch == 0) return;
      const std::int64_t count = (product.batch - 1) * stride + (rows - 1) * between + columns;
      about_to_touch(matrix, static_cast<std::size_t>(count) * size_of(product.dtype), written);
    };
    const auto [m, n, k] = std::tuple(product.m, product.n, product.k);
    touch(product.a, product.transpose_a ? k : m, product.transpose_a ? m : k, product.lda, product.stride_a, false);
    touch(product.b, product.transpose_b ? n : k, product.transpose_b ? k : n, product.ldb, product.stride_b, false);
    touch(product.c, m, n, product.ldc, product.stride_c, true);
    const std::lock_guard lock(libraries_mutex_);  // the workspace stays until the product stands in the stream
    library_->gemm(stream(), product, workspace_->data());
    keep_workspace();
  }

  // ---- convolutions ----

  bool prepare(const Convolution& convolution) override {
    // There are kernels of our own: nobody has to be told that there is no library.
    if (!Dnn::describes(convolution) || !Dnn::available()) return false;
    return prepare_by(convolution_library, [&] {
      if (!dnn_) dnn_ = std::make_unique<Dnn>(stream_);
      return dnn_->workspace_bytes(convolution);
    });
  }

  void convolve(const Convolution& convolution, const ConvolutionArrays& arrays) override {
    if (!captures()) peer_copies_->wait_for_all();
    const std::lock_guard lock(libraries_mutex_);
    if (!dnn_ || !workspace_) throw InternalError("a convolution that was not prepared");
    dnn_->convolve(stream(), convolution, arrays, {workspace_->data(), workspace_->size()});
    keep_workspace();
  }

  // ---- recordings ----

  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    if (capture.gpu != nullptr) throw InternalError("work is recorded while work is recorded");
    std::vector<std::shared_ptr<Buffer>> used;
    try {
      const Stream own(device_);
      Graph graph(device_, own, [&] {
        const CaptureScope scope({this, &own, &used});
        work();
      });
      return std::make_unique<GraphRecording>(std::move(graph), stream_, peer_copies_, std::move(used));
    } catch (const DeviceError&) {
      if (device_->lost()) throw;
    } catch (const OutOfMemory&) {  // of the driver's, for the graph
    }
    return nullptr;
  }

  void lose(const std::string& why) noexcept override { device_->lose(why); }

 private:
  bool captures() const { return capture.gpu == this; }
  /// Where this thread's work goes.
  const Stream& stream() const { return captures() ? *capture.stream : stream_; }
  void refuse_in_capture(const char* what) const {
    if (captures()) throw InternalError(fmt::format("{} was asked for while work of {} is recorded", what, name()));
  }

  /// Work that is captured waits when it is replayed.
  void about_to_touch(const void* begin, std::size_t bytes, bool written) {
    if (!captures()) peer_copies_->wait_for(begin, bytes, written);
  }

  /// Made when the first copy from another GPU comes.
  const Stream& stream_of_arrivals() {
    const std::lock_guard lock(peers_mutex_);
    if (!arrivals_) arrivals_ = Stream(device_);
    return arrivals_;
  }

  /// Makes something ready by a library that says how much it works in. False where that is missing, or has no way to
  /// do this one. OutOfMemory, and a lost device, are the caller's.
  template <class WorkspaceBytes>
  bool prepare_by(Helper& helper, const WorkspaceBytes& workspace_bytes) {
    const std::lock_guard lock(libraries_mutex_);
    try {
      const std::size_t bytes = workspace_bytes();
      if (!workspace_ || bytes > workspace_->size()) workspace_ = std::make_shared<Buffer>(stream_, bytes);
      return true;
    } catch (const DeviceError& error) {
      if (device_->lost()) throw;
      helper.warn_once(error.what());
      return false;
    }
  }

  /// What is captured works in the workspace that there is now.
  void keep_workspace() const {
    if (captures() && (capture.used->empty() || capture.used->back() != workspace_))
      capture.used->push_back(workspace_);
  }

  const LoadedKernel* find(const std::string& name) {
    const std::lock_guard lock(kernels_mutex_);
    const auto found = kernels_.find(name);
    return found == kernels_.end() ? nullptr : &found->second;
  }

  LoadedKernel load(const codegen::Text& text, bool& from_cache) {
    const std::string prelude = codegen::prelude(codegen::Target::cuda);
    const CompileTarget target = choose_target(device_->facts(), Nvrtc::instance().architectures());
    const std::vector<std::byte> code =
        compile(prelude + text.code, text.digest, prelude, target.architecture, target.form, text.name, &from_cache);
    const Module module(device_, code);
    LoadedKernel kernel{module.kernel(text.name), std::nullopt};
    if (text.state_bytes > 0) kernel.finish = module.kernel(text.name + "_finish");
    return kernel;
  }

  /// Lets copies go directly, where the machine allows it; else the driver takes them through the host.
  void reach(Driven& peer) {
    const std::lock_guard lock(peers_mutex_);
    bool& asked = peers_[&peer];
    if (!asked) device_->enable_peer_access(peer);
    asked = true;
  }

  const std::shared_ptr<Driven> device_;
  const Stream stream_;
  const Stream copies_;  // of arguments
  const std::shared_ptr<PeerCopies> peer_copies_ = std::make_shared<PeerCopies>(stream_);
  const runtime::DeviceFacts facts_;
  const std::shared_ptr<MemoryAccount> account_ = std::make_shared<MemoryAccount>();

  std::mutex kernels_mutex_;
  std::unordered_map<std::string, LoadedKernel> kernels_;  // by name; none is ever taken out

  std::mutex libraries_mutex_;
  std::unique_ptr<BlasLt> library_;
  std::unique_ptr<Dnn> dnn_;
  std::shared_ptr<Buffer> workspace_;  // of both; what was recorded keeps the one that it was recorded with

  std::mutex peers_mutex_;
  std::map<const Driven*, bool> peers_;
  Stream arrivals_;  // holds copies from other GPUs and nothing else
};

}  // namespace

const FoundGpus& find_gpus() {
  struct Found {
    std::mutex mutex;
    std::map<std::pair<std::string, std::string>, FoundGpus> by_flags;
  };
  static auto& found = *new Found;
  const base::Flags& flags = base::config();
  const std::lock_guard lock(found.mutex);
  const auto [at, fresh] = found.by_flags.try_emplace({flags.cuda_driver, flags.cuda_root});
  FoundGpus& gpus = at->second;
  if (!fresh) return gpus;
  set_toolkit(flags);
  set_driver_library(flags.cuda_driver);
  gpus.driver = flags.cuda_driver;
  try {
    if (Driver::available()) gpus.count = Driver::instance().device_count();
    if (gpus.count == 0) gpus.why = Driver::available() ? "the driver finds no GPU" : short_reason();
  } catch (const Error& error) {  // the driver is there, and cannot count
    gpus.why = error.what();
  }
  return gpus;
}

std::unique_ptr<runtime::Device> make_device(int number, int gpu, int part, int parts) {
  const base::Flags& flags = base::config();
  set_toolkit(flags);
  set_driver_library(flags.cuda_driver);
  std::shared_ptr<Device> device = Device::get(gpu);
  const DeviceFacts& known = device->facts();
  runtime::DeviceFacts facts;
  facts.name = {base::DeviceName::Kind::cuda, number};
  facts.kind = parts > 1 ? runtime::DeviceFacts::Kind::logical : runtime::DeviceFacts::Kind::real;
  facts.title = parts > 1 ? fmt::format("{}, part {} of {}", known.name, part + 1, parts) : known.name;
  facts.memory = known.memory_bytes;
  facts.major = known.major;
  facts.minor = known.minor;
  facts.pci = known.pci_id;
  facts.multiprocessors = known.multiprocessors;
  facts.cache_bytes = known.l2_bytes;
  facts.cooperates = known.cooperative_launches;
  facts.copies_ahead = true;
  return std::make_unique<Gpu>(std::move(device), std::move(facts));
}

}  // namespace croton::runtime::cuda
