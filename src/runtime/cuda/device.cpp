#include "runtime/cuda/device.hpp"

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
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "runtime/cuda/driver/memory.hpp"
#include "runtime/cuda/driver/transfer.hpp"
#include "runtime/cuda/dump.hpp"
#include "runtime/cuda/graph.hpp"
#include "runtime/cuda/kernels.hpp"
#include "runtime/cuda/libraries/blaslt.hpp"
#include "runtime/cuda/libraries/dnn.hpp"
#include "runtime/cuda/peer_copies.hpp"
#include "runtime/cuda/toolkit/toolkit.hpp"
#include "runtime/cuda/uploads.hpp"
#include "runtime/device/device_split.hpp"
#include "runtime/device/elements.hpp"

namespace croton::runtime::cuda {
namespace {

constexpr unsigned finish_threads = 32;  // a warp combines the parts of a split kernel

/// Why there is no driver, in one line.
std::string short_reason() {
  if (toolkit_hidden()) return "real GPUs are hidden by cuda_root=none";
  if (!Driver::found()) return "no NVIDIA driver is installed";
  std::string why;
  Driver::available(&why);
  return why.substr(0, why.find('\n'));
}

/// A library that may be missing, with one warning when its work is done without it.
struct OptionalLibrary {
  const char* without_it;
  std::atomic<bool> warned{false};

  void warn_once(const std::string& why) {
    if (!base::config().warn || warned.exchange(true)) return;
    std::fputs(fmt::format("croton: warning: {}: {}\n", without_it, why).c_str(), stderr);
  }
};
OptionalLibrary product_library{"products on GPUs run in generated kernels, which is slower than cuBLASLt"};
OptionalLibrary convolution_library{
    "convolutions on GPUs run in generated kernels and products of matrices, without cuDNN"};

/// Work that this thread captures: it enters a stream of its own, which must not have work of other threads.
struct Capture {
  const runtime::Device* device = nullptr;  // none: this thread captures nothing
  const Stream* stream = nullptr;
  std::vector<std::shared_ptr<Buffer>>* used = nullptr;  // the device's workspaces that the work uses
};
thread_local Capture capture;

/// While it lives, this thread captures.
class CaptureScope {
 public:
  explicit CaptureScope(const Capture& now) { capture = now; }
  ~CaptureScope() { capture = {}; }
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;
};

/// A graph for the device's stream, and the memory that it uses.
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
  } catch (const OutOfMemory&) {  // the first launch of a graph allocates some
    return false;
  }

 private:
  std::vector<std::shared_ptr<Buffer>> used_;
  Stream stream_;
  std::shared_ptr<PeerCopies> peer_copies_;
  Graph graph_;  // last, since it must end first
};

class Device final : public runtime::Device {
 public:
  Device(std::shared_ptr<Context> context, DeviceFacts facts)
      : runtime::Device(std::move(facts)),
        context_(std::move(context)),
        stream_(context_),
        copies_(context_),
        kernels_(context_) {}

  // ---- memory ----

  std::shared_ptr<void> allocate(std::size_t bytes) override {
    refuse_in_capture("memory");
    // An array without elements also has an address.
    auto buffer = std::make_shared<Buffer>(stream_, std::max<std::size_t>(bytes, 1));
    std::byte* address = buffer->data();
    const std::shared_ptr<void> memory(address, [buffer = std::move(buffer), copies = peer_copies_](void*) mutable {
      copies->wait_before_free(buffer->data(), buffer->size());
      buffer.reset();
    });
    return counted(memory, bytes);
  }

  void copy_in(void* to, const void* host, std::size_t bytes) override {
    refuse_in_capture("a copy from the host");
    peer_copies_->wait_for(to, bytes, true);
    cuda::copy_in(stream_, to, bytes_at(host, bytes));
  }

  void copy_out(void* host, const void* from, std::size_t bytes) override {
    refuse_in_capture("a copy to the host");
    peer_copies_->wait_for(from, bytes, false);
    cuda::copy_out(stream_, bytes_at(host, bytes), from);
  }

  std::unique_ptr<Uploads> make_uploads() override {
    return std::make_unique<DoubleBufferedUploads>(*this, context_, stream_, copies_, peer_copies_);
  }

  void copy_from(runtime::Device& other, void* to, const void* from, std::size_t bytes) override {
    auto* source = dynamic_cast<Device*>(&other);
    if (source == this) {
      wait_for_copies(from, bytes, false);
      wait_for_copies(to, bytes, true);
      return copy_within(stream(), to, from, bytes);
    }
    refuse_in_capture("a copy from another device");
    if (source == nullptr) return runtime::Device::copy_from(other, to, from, bytes);
    source->peer_copies_->wait_for(from, bytes, false);
    peer_copies_->wait_for(to, bytes, true);
    const Stream& arrivals = peer_stream();
    Event written(source->context_), unused(context_);
    const auto arrived = std::make_shared<Event>(context_);
    written.record(source->stream_);
    unused.record(stream_);  // the old data at `to` has been read
    arrivals.wait(written);
    arrivals.wait(unused);
    try {
      if (source->context_ == context_) {
        copy_within(arrivals, to, from, bytes);
      } else {
        enable_peer_access(*source->context_);
        copy_peer(arrivals, to, *source->context_, from, bytes);
      }
      arrived->record(arrivals);
      source->peer_copies_->add(from, bytes, false, arrived);
      peer_copies_->add(to, bytes, true, arrived);
    } catch (...) {
      // The copy may run, and nothing would wait for it.
      context_->release(context_->driver().cuStreamSynchronize, arrivals.handle());
      throw;
    }
  }

  // ---- kernels ----

  Prepared prepare(const codegen::Text& text, int threads, std::size_t shared_bytes) override {
    const auto& [kernel, how] = kernels_.get(text, shared_bytes);
    if (const int max = kernel.main.facts().threads_per_block; threads > max) {
      throw DeviceError(
          fmt::format("{} runs on {} with at most {} threads a block, because of the {} registers of a thread; the "
                      "schedule requests {}: set the flag schedule=threads={}",
                      text.name, context_->title(), max, kernel.main.facts().registers, threads, max / 32 * 32));
    }
    return how;
  }

  void launch(const DeviceLaunch& launch) override {
    const LoadedKernel* kernel = kernels_.find(launch.text->name);
    if (kernel == nullptr) throw InternalError("a launch of a kernel that was not prepared: " + launch.text->name);
    for (const Operand& operand : launch.operands) wait_for_copies(operand.address, operand.bytes, operand.written);
    if (launch.items > 0) {
      const LaunchShape shape{.blocks = static_cast<unsigned>(launch.blocks),
                              .threads = static_cast<unsigned>(launch.threads),
                              .dynamic_shared = launch.shared_bytes,
                              .cooperative = launch.cooperative};
      kernel->main.launch(stream(), shape, launch.parameters, launch.items);
    }
    if (kernel->finish) kernel->finish->launch(stream(), {1, finish_threads}, launch.parameters, std::nullopt);
  }

  int max_cooperative_blocks(const codegen::Text& text, int threads, std::size_t shared_bytes) override {
    if (!facts().cooperates) return 0;
    const LoadedKernel* kernel = kernels_.find(text.name);
    if (kernel == nullptr) throw InternalError("a kernel that was not prepared: " + text.name);
    return kernel->main.resident_blocks(static_cast<unsigned>(threads), shared_bytes);
  }

  // ---- products ----

  bool prepare(const MatrixProduct& product) override {
    if (!has_library_products(product.dtype)) return false;
    if (product.batch > std::numeric_limits<std::int32_t>::max()) return false;
    return prepare_by(product_library, [&] {
      if (!library_) library_ = std::make_unique<BlasLt>(context_);
      return library_->workspace_bytes(product);
    });
  }

  void gemm(const MatrixProduct& product) override {
    wait_for_copies(product.a, product.a_bytes(), false);
    wait_for_copies(product.b, product.b_bytes(), false);
    wait_for_copies(product.c, product.c_bytes(), true);
    const std::lock_guard lock(libraries_mutex_);  // keeps the workspace until the product is in the stream
    library_->gemm(stream(), product, workspace_->data());
    keep_workspace();
  }

  // ---- convolutions ----

  std::shared_ptr<const ReadyConvolution> prepare(const Convolution& convolution) override {
    // Our own kernels are an alternative, so a missing library needs no warning.
    if (!Dnn::describes(convolution) || !Dnn::available()) return nullptr;
    const bool ready = prepare_by(convolution_library, [&] {
      if (!dnn_) dnn_ = std::make_unique<Dnn>(stream_);
      return dnn_->workspace_bytes(convolution);
    });
    return ready ? std::make_shared<const DnnConvolution>(*this, convolution) : nullptr;
  }

  // ---- recordings ----

  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    if (capture.device != nullptr) throw InternalError("work is recorded while work is recorded");
    std::vector<std::shared_ptr<Buffer>> used;
    try {
      const Stream own(context_);
      Graph graph(context_, own, [&] {
        const CaptureScope scope({this, &own, &used});
        work();
      });
      return std::make_unique<GraphRecording>(std::move(graph), stream_, peer_copies_, std::move(used));
    } catch (const DeviceError&) {
      if (context_->lost()) throw;
    } catch (const OutOfMemory&) {  // of the driver, for the graph
    }
    return nullptr;
  }

  void lose(const std::string& why) noexcept override { context_->lose(why); }

 private:
  /// A convolution for which this device has an algorithm, and workspace that all convolutions share.
  class DnnConvolution final : public ReadyConvolution {
   public:
    DnnConvolution(Device& device, const Convolution& convolution) : device_(device), convolution_(convolution) {}
    void run(const ConvolutionArrays& arrays) const override { device_.convolve(convolution_, arrays); }

   private:
    Device& device_;
    const Convolution convolution_;
  };

  void convolve(const Convolution& convolution, const ConvolutionArrays& arrays) {
    if (!is_capturing()) peer_copies_->wait_for_all();
    const std::lock_guard lock(libraries_mutex_);
    dnn_->convolve(stream(), convolution, arrays, {workspace_->data(), workspace_->size()});
    keep_workspace();
  }

  bool is_capturing() const { return capture.device == this; }
  /// The stream for this thread's work.
  const Stream& stream() const { return is_capturing() ? *capture.stream : stream_; }
  void refuse_in_capture(const char* what) const {
    if (is_capturing()) throw InternalError(fmt::format("{} was requested while work of {} is recorded", what, name()));
  }

  /// Before work that uses these bytes. Captured work waits when it is replayed.
  void wait_for_copies(const void* begin, std::size_t bytes, bool written) {
    if (!is_capturing()) peer_copies_->wait_for(begin, bytes, written);
  }

  /// Made for the first copy from another GPU.
  const Stream& peer_stream() {
    const std::lock_guard lock(peers_mutex_);
    if (!peer_stream_) peer_stream_ = Stream(context_);
    return peer_stream_;
  }

  /// Makes work ready by a library that tells the size of its workspace. False if the library is missing, or has no
  /// routine for it. Raises OutOfMemory, and the error of a lost device.
  template <class WorkspaceBytes>
  bool prepare_by(OptionalLibrary& library, const WorkspaceBytes& workspace_bytes) {
    const std::lock_guard lock(libraries_mutex_);
    try {
      const std::size_t bytes = workspace_bytes();
      if (!workspace_ || bytes > workspace_->size()) workspace_ = std::make_shared<Buffer>(stream_, bytes);
      return true;
    } catch (const DeviceError& error) {
      if (context_->lost()) throw;
      library.warn_once(error.what());
      return false;
    }
  }

  /// Captured work keeps using the current workspace, so it must own it.
  void keep_workspace() const {
    if (is_capturing() && (capture.used->empty() || capture.used->back() != workspace_))
      capture.used->push_back(workspace_);
  }

  /// Allows direct copies, if the machine supports them; else the driver copies through the host.
  void enable_peer_access(Context& peer) {
    const std::lock_guard lock(peers_mutex_);
    bool& asked = peers_[&peer];
    if (!asked) context_->enable_peer_access(peer);
    asked = true;
  }

  const std::shared_ptr<Context> context_;
  const Stream stream_;
  const Stream copies_;  // of arguments
  const std::shared_ptr<PeerCopies> peer_copies_ = std::make_shared<PeerCopies>(stream_);
  Kernels kernels_;

  std::mutex libraries_mutex_;
  std::unique_ptr<BlasLt> library_;
  std::unique_ptr<Dnn> dnn_;
  std::shared_ptr<Buffer> workspace_;  // of both; recorded work keeps the one of its recording

  std::mutex peers_mutex_;
  std::map<const Context*, bool> peers_;
  Stream peer_stream_;  // has only copies from other GPUs
};

void configure(const base::Flags& flags) {
  set_toolkit(flags);
  set_driver_library(flags.cuda_driver);
}

struct FoundGpus {
  int count = 0;
  std::string why;     // the short reason, if there is none
  std::string driver;  // the value of the flag cuda_driver
};

/// The GPUs that the driver finds under the current flags cuda_driver and cuda_root.
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
  configure(flags);
  gpus.driver = flags.cuda_driver;
  try {
    if (Driver::available()) gpus.count = Driver::instance().device_count();
    if (gpus.count == 0) gpus.why = Driver::available() ? "the driver finds no GPU" : short_reason();
  } catch (const Error& error) {  // the driver exists, and cannot count
    gpus.why = error.what();
  }
  return gpus;
}

/// cuda<number>: a part of a GPU, or a whole one. DeviceError if it cannot be used.
std::unique_ptr<runtime::Device> make_device(int number, const GpuPart& where) {
  configure(base::config());
  std::shared_ptr<Context> context = Context::get(where.gpu);
  const GpuFacts& known = context->facts();
  const bool is_part = where.parts > 1;
  DeviceFacts facts;
  facts.name = {base::DeviceName::Kind::cuda, number};
  facts.kind = is_part ? DeviceFacts::Kind::logical : DeviceFacts::Kind::real;
  facts.title = is_part ? fmt::format("{}, part {} of {}", known.name, where.part + 1, where.parts) : known.name;
  facts.memory = known.memory_bytes;
  facts.major = known.major;
  facts.minor = known.minor;
  facts.pci = known.pci_id;
  facts.target = codegen::Target::cuda;
  facts.has_processor = true;
  facts.multiprocessors = known.multiprocessors;
  facts.shared_bytes = known.shared_bytes_per_block;
  facts.cache_bytes = known.l2_bytes;
  facts.cooperates = known.cooperative_launches;
  facts.copies_ahead = true;
  return std::make_unique<Device>(std::move(context), std::move(facts));
}

bool are_simulated() { return base::config().cuda_simulator > 0; }

int count() { return are_simulated() ? 0 : count_parts(current_split(), find_gpus().count); }

runtime::Device& find(int number) {
  const FoundGpus& found = find_gpus();
  // Under another driver, or as another part, the same number is another device.
  using Key = std::tuple<std::string, int, int, int, int>;
  static auto& made = *new MadeDevices<Key>;
  const GpuPart part = part_of(current_split(), found.count, number);
  return made.get({found.driver, number, part.gpu, part.part, part.parts}, [&] { return make_device(number, part); });
}

std::string remark(int number) {
  return part_of(current_split(), find_gpus().count, number).parts > 1 ? " (logical)" : "";
}

std::string advice(int) {
  if (are_simulated()) return "";
  const FoundGpus& found = find_gpus();
  return fmt::format(" ({}the flag cuda_simulator=2 makes two simulated GPUs)",
                     found.count > 0 ? "" : found.why + "; ");
}

}  // namespace

const Backend& backend() {
  static constexpr Backend cuda{.kind = base::DeviceName::Kind::cuda,
                                .count = count,
                                .find = find,
                                .remark = remark,
                                .advice = advice,
                                .automatic = true,
                                .configure = configure,
                                .dump = dump};
  return cuda;
}

}  // namespace croton::runtime::cuda
