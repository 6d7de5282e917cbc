#include "runtime/cuda/libraries/dnn.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.hpp"
#include "base/rounding.hpp"
#include "runtime/cuda/driver/transfer.hpp"
#include "runtime/cuda/libraries/dnn_form.hpp"
#include "runtime/cuda/libraries/dnn_types.hpp"
#include "runtime/cuda/toolkit/found_library.hpp"
#include "runtime/device/elements.hpp"

namespace croton::runtime::cuda {
namespace {

using namespace dnn;

constexpr std::size_t max_workspace = std::size_t{256} << 20;  // of an algorithm; all convolutions share it
constexpr std::size_t max_choices = 4096;
constexpr std::size_t memory_alignment = 256;
constexpr int suggestions_asked = 32;  // each algorithm may come with several kinds of arithmetic

template <class Result, class... Types>
struct LibraryEntry {
  const char* name = nullptr;
  Result (*function)(Types...) = nullptr;
};

/// The library does not support the request; another form may be supported.
struct NotSupported {
  std::string why;
};

bool is_not_supported(Status code) {
  return status::kind_of(code) == status::not_supported || status::kind_of(code) == status::bad_parameter;
}

}  // namespace

struct Dnn::Library {
  std::shared_ptr<SharedLibrary> library;

#define CROTON_CUDNN_ENTRY(name, result, ...) LibraryEntry<result __VA_OPT__(, ) __VA_ARGS__> name;
#include "runtime/cuda/libraries/dnn_entries.def"
#undef CROTON_CUDNN_ENTRY

  explicit Library(std::shared_ptr<SharedLibrary> loaded) : library(std::move(loaded)) {
#define CROTON_CUDNN_ENTRY(name, result, ...) \
  name = {"cudnn" #name, library->function<result(__VA_ARGS__)>("cudnn" #name)};
#include "runtime/cuda/libraries/dnn_entries.def"
#undef CROTON_CUDNN_ENTRY
  }

  std::string version() const {
    const std::size_t number = GetVersion.function();  // 91900: 9.19.0
    return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
  }

  // Each of these groups of three routines has one type.
  const auto& suggest(Routine routine) const {
    return routine == Routine::forward         ? GetConvolutionForwardAlgorithm_v7
           : routine == Routine::backward_data ? GetConvolutionBackwardDataAlgorithm_v7
                                               : GetConvolutionBackwardFilterAlgorithm_v7;
  }
  const auto& measure(Routine routine) const {
    return routine == Routine::forward         ? GetConvolutionForwardWorkspaceSize
           : routine == Routine::backward_data ? GetConvolutionBackwardDataWorkspaceSize
                                               : GetConvolutionBackwardFilterWorkspaceSize;
  }
  const auto& run(Routine routine) const {
    return routine == Routine::forward         ? ConvolutionForward
           : routine == Routine::backward_data ? ConvolutionBackwardData
                                               : ConvolutionBackwardFilter;
  }
};

namespace {

/// Whether the algorithm adds up products, in one order.
bool is_plain_sum(Routine routine, int algorithm) {
  if (routine == Routine::backward_data) return algorithm == backward_data_1;
  if (routine == Routine::backward_filter) return algorithm == backward_filter_1;
  return algorithm == forward_implicit || algorithm == forward_implicit_precomputed || algorithm == forward_gemm;
}

std::string text_of(const Convolution& c) {
  std::vector<std::int64_t> x{c.batch, c.groups, c.channels}, filters{c.groups, c.results, c.channels};
  for (const Convolution::Axis& axis : c.used_axes()) {
    x.push_back(axis.size);
    filters.push_back(axis.taps);
  }
  return fmt::format(
      "for the {} convolution of [{}] (images, groups, channels, sizes) and [{}] (groups, results, channels, sizes)",
      name_of(c.dtype), fmt::join(x, ", "), fmt::join(filters, ", "));
}

}  // namespace

LibraryBySettings<Dnn::Library>& Dnn::libraries() {
  static auto& libraries = *new LibraryBySettings<Library>(
      {.part = ToolkitPart::dnn,
       .name = "cuDNN",
       .purpose = "convolutions on NVIDIA GPUs",
       .files = {"libcudnn.so.9"},
       .package = "cuDNN 9 (NVIDIA's packages for Debian and Ubuntu: cudnn9-cuda-13), or from PyPI: pip install "
                  "nvidia-cudnn-cu13"});
  return libraries;
}

const Dnn::Library& Dnn::library() { return libraries().get(); }

bool Dnn::available(std::string* why) try {
  library();
  return true;
} catch (const DeviceError& error) {
  if (why != nullptr) *why = error.what();
  return false;
}

bool Dnn::describes(const Convolution& convolution) { return !forms_of(convolution).empty(); }

// ---- choices ----

/// The library's descriptions of a convolution, and its algorithm. They do not change after their construction.
struct Dnn::Choice {
  explicit Choice(const Library& owner) : library(owner) {}
  ~Choice() {
    for (const Descriptor tensor : tensors) library.DestroyTensorDescriptor.function(tensor);
    if (filter != nullptr) library.DestroyFilterDescriptor.function(filter);
    if (convolution != nullptr) library.DestroyConvolutionDescriptor.function(convolution);
  }
  Choice(const Choice&) = delete;
  Choice& operator=(const Choice&) = delete;

  /// An operand of the library's routine.
  struct Given {
    Operand operand;
    Descriptor descriptor = nullptr;
    // If it is copied: its part of the array and of the copy, which is in the workspace at copy_at.
    Descriptor in_array = nullptr, in_copy = nullptr;
    std::size_t copy_at = 0, copy_bytes = 0;
  };

  const Library& library;
  Routine routine = Routine::forward;
  std::vector<Descriptor> tensors;  // all of them, to be destroyed
  Descriptor filter = nullptr, convolution = nullptr;
  std::array<Given, 3> given;  // in the order of the routine's arguments: the last is written
  int algorithm = 0;
  std::size_t algorithm_at = 0, algorithm_bytes = 0;  // of the workspace

  std::size_t workspace_bytes() const { return algorithm_at + algorithm_bytes; }
};

struct Dnn::Choices {
  struct Hash {
    std::size_t operator()(const Convolution& c) const {
      std::uint64_t hash = base::hash_combine(std::hash<DType>{}(c.dtype), c.axes);
      const auto add = [&](std::initializer_list<std::int64_t> numbers) {
        for (const std::int64_t number : numbers) hash = base::hash_combine(hash, std::hash<std::int64_t>{}(number));
      };
      add({c.batch, c.groups, c.channels, c.results, c.x_batch_step, c.x_group_step, c.x_channel_step});
      add({c.filter_group_step, c.filter_result_step, c.filter_channel_step});
      add({c.result_batch_step, c.result_group_step, c.result_result_step});
      for (const Convolution::Axis& a : c.axis) {
        add({a.size, a.windows, a.taps, a.stride, a.dilation, a.spread, a.before});
        add({a.x_step, a.filter_step, a.result_step});
      }
      return hash;
    }
  };

  std::mutex mutex;  // also of the library's handle
  std::unordered_map<Convolution, std::shared_ptr<const Choice>, Hash> by_convolution;
};

/// Makes the choice for one form; raises NotSupported if the library does not have it.
class Dnn::Maker {
 public:
  Maker(Dnn& owner, const Convolution& convolution, const Form& form, Where where)
      : owner_(owner),
        library_(owner.library_),
        convolution_(convolution),
        form_(form),
        where_(where),
        choice_(std::make_shared<Choice>(library_)) {}

  std::shared_ptr<const Choice> make() {
    choice_->routine = form_.routine;
    const bool forward = form_.routine == Routine::forward, data = form_.routine == Routine::backward_data;
    const Choice::Given image = give(form_.image), filter = give(form_.filter), output = give(form_.output);
    choice_->given = forward ? std::array{image, filter, output}
                     : data  ? std::array{filter, output, image}
                             : std::array{image, output, filter};
    describe();
    choose_algorithm();
    return choice_;
  }

 private:
  template <class... Types>
  void call(const LibraryEntry<Status, Types...>& entry, std::type_identity_t<Types>... arguments) {
    const Status code = entry.function(arguments...);
    if (is_not_supported(code))
      throw NotSupported{fmt::format("{}: {}", entry.name, library_.GetErrorString.function(code))};
    if (code != status::success) owner_.check(code, entry.name, text_of(convolution_), where_);
  }

  int data() const { return convolution_.dtype == DType::float64 ? data_float64 : data_float32; }

  Descriptor tensor(const Numbers& sizes, const Numbers& steps) {
    choice_->tensors.reserve(choice_->tensors.size() + 1);  // so that push_back cannot fail and lose the descriptor
    Descriptor made = nullptr;
    call(library_.CreateTensorDescriptor, &made);
    choice_->tensors.push_back(made);
    call(library_.SetTensorNdDescriptor, made, data(), form_.dims, sizes.data(), steps.data());
    return made;
  }

  Choice::Given give(const Operand& operand) {
    Choice::Given given{.operand = operand};
    if (&operand == &form_.filter) {
      call(library_.CreateFilterDescriptor, &choice_->filter);
      given.descriptor = choice_->filter;
      call(library_.SetFilterNdDescriptor, given.descriptor, data(),
           form_.channels_last ? channels_last : channels_first, form_.dims, operand.sizes.data());
    } else {
      given.descriptor = tensor(operand.sizes, operand.steps);
    }
    if (!operand.copied) return given;
    given.in_array = tensor(operand.part, operand.array_steps);
    given.in_copy = tensor(operand.part, operand.steps);
    given.copy_at = choice_->algorithm_at;
    given.copy_bytes = size_in_bytes(convolution_.dtype, operand.copied_elements());
    choice_->algorithm_at += base::round_up(given.copy_bytes, memory_alignment);
    return given;
  }

  void describe() {
    Descriptor& made = choice_->convolution;
    call(library_.CreateConvolutionDescriptor, &made);
    call(library_.SetConvolutionNdDescriptor, made, form_.dims - 2, form_.pads.data(), form_.strides.data(),
         form_.dilations.data(), form_.flipped ? mode_convolution : mode_cross_correlation, data());
    call(library_.SetConvolutionMathType, made, math_fma);
    if (form_.groups > 1) call(library_.SetConvolutionGroupCount, made, form_.groups);
  }

  void choose_algorithm() {
    const auto& [first, second, last] = choice_->given;
    const auto& suggest = library_.suggest(form_.routine);
    const Handle handle = owner_.handle_;
    std::array<Suggestion, suggestions_asked> suggestions{};
    int found = 0;
    call(suggest, handle, first.descriptor, second.descriptor, choice_->convolution, last.descriptor, suggestions_asked,
         &found, suggestions.data());
    const int usable = std::min(found, suggestions_asked);
    for (const Suggestion& one : std::span(suggestions.begin(), suggestions.begin() + usable)) {
      if (one.state != status::success || one.determinism != deterministic) continue;
      if (!is_plain_sum(form_.routine, one.algorithm)) continue;
      // The descriptor determines the arithmetic; the library may suggest the same algorithm with another arithmetic.
      if (one.math != math_fma && one.math != math_default) continue;
      std::size_t bytes = 0;
      call(library_.measure(form_.routine), handle, first.descriptor, second.descriptor, choice_->convolution,
           last.descriptor, one.algorithm, &bytes);
      if (bytes > max_workspace) continue;
      choice_->algorithm = one.algorithm;
      choice_->algorithm_bytes = bytes;
      return;
    }
    throw NotSupported{fmt::format("{} has no deterministic algorithm within {} MiB among {}", suggest.name,
                                   max_workspace >> 20, found)};
  }

  Dnn& owner_;
  const Library& library_;
  const Convolution& convolution_;
  const Form& form_;
  const Where where_;
  const std::shared_ptr<Choice> choice_;
};

std::shared_ptr<const Dnn::Choice> Dnn::choose(const Convolution& convolution, Where where) {
  auto& known = choices_->by_convolution;
  if (const auto found = known.find(convolution); found != known.end()) return found->second;
  const std::vector<Form> forms = forms_of(convolution);
  if (forms.empty()) throw InternalError("cuDNN does not have the requested convolution");
  home_.context().enter(library_.suggest(forms.front().routine).name, where);
  std::string why;
  for (const Form& form : forms) {
    try {
      auto choice = Maker(*this, convolution, form, where).make();
      if (known.size() >= max_choices) known.clear();  // the program has ever new sizes; new choices are cheap
      known.emplace(convolution, choice);
      return choice;
    } catch (const NotSupported& error) {
      why += (why.empty() ? "" : "; ") + error.why;
    }
  }
  throw DeviceError(fmt::format("{} has no algorithm {} on {}: {}", call_and_line(name(), where), text_of(convolution),
                                home_.context().title(), why));
}

// ---- the library of a device ----

Dnn::Dnn(Stream home, Where where)
    : home_(std::move(home)), library_(library()), choices_(std::make_unique<Choices>()) {
  home_.context().enter(library_.Create.name, where);
  Handle handle = nullptr;
  check(library_.Create.function(&handle), library_.Create.name, "", where);
  const Status code = library_.SetStream.function(handle, home_.handle());
  if (code != status::success) {
    library_.Destroy.function(handle);
    check(code, library_.SetStream.name, "", where);
  }
  handle_ = handle;
  current_ = home_.handle();
}

Dnn::~Dnn() {
  Context& context = home_.context();
  context.driver().cuCtxSetCurrent.function(context.handle());  // the library frees memory of the device
  choices_.reset();
  library_.Destroy.function(handle_);
}

FoundPart Dnn::found() {
  const Library& found = library();
  return {found.version(), found.library->path(), libraries().place()};
}

std::string Dnn::installed() {
  const FoundPart part = found();
  return fmt::format("{} at {}", part.version, part.path.string());
}

std::string Dnn::name() const { return "cuDNN " + library_.version(); }

void Dnn::check(int code, const char* call, const std::string& what, Where where) {
  if (code == status::success) return;
  Context& context = home_.context();
  if (const Status kind = status::kind_of(code); kind == status::execution_failed || kind == status::internal_error) {
    // If the device is lost, that is the error to report.
    const Result state = context.attempt(context.driver().cuCtxSynchronize, where);
    if (loses_device(state)) context.check(state, call, where);
  }
  const std::string message =
      fmt::format("{} failed on {}{}{}: {} (error {}); the library is {} at {}", call_and_line(call, where),
                  context.title(), what.empty() ? "" : " ", what, library_.GetErrorString.function(code), code, name(),
                  library_.library->path().string());
  if (code == status::out_of_host_memory || code == status::out_of_device_memory) throw OutOfMemory(message);
  throw DeviceError(message);
}

std::size_t Dnn::workspace_bytes(const Convolution& convolution, Where where) {
  const std::lock_guard lock(choices_->mutex);
  return choose(convolution, where)->workspace_bytes();
}

/// While it lives, the library uses this stream. A stream for a capture ends before the library, so it must not stay.
class Dnn::StreamScope {
 public:
  template <class Check>
  StreamScope(Dnn& owner, const Stream& stream, const Check& check) : owner_(owner) {
    check(set(stream), owner_.library_.SetStream.name);
  }
  ~StreamScope() { set(owner_.home_); }  // if that fails, the next scope notices
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  Status set(const Stream& stream) {
    if (owner_.current_ == stream.handle()) return status::success;
    const Status code = owner_.library_.SetStream.function(owner_.handle_, stream.handle());
    if (code == status::success) owner_.current_ = stream.handle();
    return code;
  }
  Dnn& owner_;
};

void Dnn::convolve(const Stream& stream, const Convolution& convolution, const ConvolutionArrays& arrays,
                   std::span<std::byte> workspace, Where where) {
  if (&stream.context() != &home_.context()) throw InternalError("a convolution of one device in a stream of another");
  const std::lock_guard lock(choices_->mutex);
  const auto choice = choose(convolution, where);
  if (workspace.size() < choice->workspace_bytes()) {
    throw InternalError(fmt::format("a convolution that needs {} bytes of workspace got {}", choice->workspace_bytes(),
                                    workspace.size()));
  }
  const auto require = [&](Status code, const char* call) {
    if (code != status::success) check(code, call, text_of(convolution), where);
  };
  const Handle handle = handle_;
  const auto& run = library_.run(choice->routine);
  home_.context().enter(run.name, where);
  const StreamScope in_stream(*this, stream, require);

  constexpr double one = 1, zero = 0;
  constexpr float narrow_one = 1, narrow_zero = 0;
  const void *factor = &one, *nothing = &zero;  // in the type of the elements
  if (convolution.dtype == DType::float32) {
    factor = &narrow_one;
    nothing = &narrow_zero;
  }
  const auto in_array = [&](const Operand& operand) {
    const void* begin = operand.source == Source::x         ? arrays.x
                        : operand.source == Source::filters ? arrays.filters
                                                            : arrays.result;
    return element_at(const_cast<void*>(begin), convolution.dtype, operand.offset);
  };
  const auto part_in_copy = [&](const Choice::Given& given) {
    return element_at(workspace.data() + given.copy_at, convolution.dtype, given.operand.inset);
  };
  const auto transform = [&](Descriptor from_form, const void* from, Descriptor to_form, void* to) {
    const auto& entry = library_.TransformTensor;
    require(entry.function(handle, factor, from_form, from, nothing, to_form, to), entry.name);
  };

  std::array<std::byte*, 3> places{};
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Choice::Given& given = choice->given[i];
    const Operand& operand = given.operand;
    places[i] = operand.copied ? workspace.data() + given.copy_at : in_array(operand);
    if (!operand.copied || operand.source == Source::result) continue;
    if (operand.padded) fill(stream, places[i], 0, given.copy_bytes, where);
    transform(given.in_array, in_array(operand), given.in_copy, part_in_copy(given));
  }
  const auto& [first, second, last] = choice->given;
  require(run.function(handle, factor, first.descriptor, places[0], second.descriptor, places[1], choice->convolution,
                       choice->algorithm, workspace.data() + choice->algorithm_at, choice->algorithm_bytes, nothing,
                       last.descriptor, places[2]),
          run.name);
  if (last.operand.copied) transform(last.in_copy, part_in_copy(last), last.in_array, in_array(last.operand));
}

}  // namespace croton::runtime::cuda
