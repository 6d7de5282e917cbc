#include "runtime/cpu/dnn/dnn_library.hpp"

#include <croton/error.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace croton::runtime::cpu::dnn {
namespace {

struct Version {  // dnnl_version_t
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};

constexpr unsigned sequential = 1, openmp = 2, tbb = 4, thread_pool = 8;  // dnnl_cpu_runtime
constexpr int cpu_engine = 1, float32 = 3, any_order = 1, forward_inference = 96, direct = 1, user_scratchpad = 1;
constexpr int strict_arithmetic = 0;  // no bfloat16 or tf32 inside, even if the environment asks for it
constexpr unsigned in_order = 1;      // of a stream
constexpr int query_routine = 8;      // dnnl_query_impl_info_str
constexpr int query_scratch = 136;    // dnnl_query_scratchpad_md
constexpr Status success = 0;

// Version 2 has opaque structs of 696 and 5976 bytes, which the caller owns.
struct alignas(16) Struct2 {
  std::array<char, 2048> bytes{};
};
struct alignas(16) Operation2 {
  std::array<char, 16384> bytes{};
};

std::string threads_fault(unsigned runtime) {
  const char* with = runtime == tbb ? "TBB" : runtime == thread_pool ? "a pool of threads" : "SYCL";
  return fmt::format("is built with {}, which cannot be limited to one thread in a call; a build with OpenMP is needed",
                     with);
}

struct Numbers3 {
  std::array<std::int64_t, 3> strides{}, dilations{}, before{}, after{};

  explicit Numbers3(const Problem& p) {
    for (std::size_t j = 0; j < p.axes; ++j) {
      const Problem::Axis& axis = p.axis[j];
      strides[j] = axis.stride;
      dilations[j] = axis.dilation - 1;
      before[j] = axis.before;
      after[j] = axis.after();
    }
  }
};

}  // namespace

std::unique_ptr<const Library> Library::of(SharedLibrary& file, std::string& fault) {
  std::unique_ptr<Library> library(new Library);
  try {
    fault = library->load(file);
  } catch (const DeviceError& error) {  // an entry point is missing
    fault = error.what();
  }
  return fault.empty() ? std::move(library) : nullptr;
}

std::string Library::load(SharedLibrary& file) {
  const std::string path = file.path().string();
  const auto version_of = file.optional_function<const Version*()>("dnnl_version");
  if (version_of == nullptr) return path + ": has no dnnl_version, so it is not oneDNN";
  const Version version = *version_of();
  const std::string number = fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
  if (version.major != 2 && version.major != 3)
    return fmt::format("{}: is oneDNN {}; versions 2 and 3 are known", path, number);
  if (version.cpu_runtime != sequential && version.cpu_runtime != openmp)
    return path + ": " + threads_fault(version.cpu_runtime);
  major_ = version.major;
  name_ = fmt::format("oneDNN {} ({})", number, file.path().filename().string());
#define CROTON_DNN_ENTRY(name, result, ...) call_.name = file.function<result(__VA_ARGS__)>("dnnl_" #name);
#define CROTON_DNN_ENTRY_2(name, result, ...) \
  if (major_ == 2) CROTON_DNN_ENTRY(name, result, __VA_ARGS__)
#define CROTON_DNN_ENTRY_3(name, result, ...) \
  if (major_ == 3) CROTON_DNN_ENTRY(name, result, __VA_ARGS__)
#include "runtime/cpu/dnn/dnn_entries.def"
#undef CROTON_DNN_ENTRY
#undef CROTON_DNN_ENTRY_2
#undef CROTON_DNN_ENTRY_3
  if (version.cpu_runtime == openmp) {  // found in the library that it was linked with
    set_threads_ = file.function<void(int)>("omp_set_num_threads");
    get_threads_ = file.function<int()>("omp_get_max_threads");
  }
  if (call_.engine_create(&engine_, cpu_engine, 0) != success || call_.primitive_attr_create(&attributes_) != success ||
      call_.primitive_attr_set_scratchpad_mode(attributes_, user_scratchpad) != success)
    return path + ": gives no engine for the CPU";
  if (auto set = file.optional_function<Status(Handle, int)>("dnnl_primitive_attr_set_fpmath_mode"))
    set(attributes_, strict_arithmetic);
  return "";
}

Layout Library::strided(const Numbers& sizes, const Numbers& steps) const {
  const int count = static_cast<int>(sizes.size());
  if (major_ == 2) {
    auto made = std::make_shared<Struct2>();
    const Status status = call_.memory_desc_init_by_strides(made.get(), count, sizes.data(), float32, steps.data());
    return status == success ? Layout(made) : nullptr;
  }
  Handle made = nullptr;
  const Status status = call_.memory_desc_create_with_strides(&made, count, sizes.data(), float32, steps.data());
  return status == success ? Layout(made, call_.memory_desc_destroy) : nullptr;
}

Layout Library::any(const Numbers& sizes) const {
  const int count = static_cast<int>(sizes.size());
  if (major_ == 2) {
    auto made = std::make_shared<Struct2>();
    const Status status = call_.memory_desc_init_by_tag(made.get(), count, sizes.data(), float32, any_order);
    return status == success ? Layout(made) : nullptr;
  }
  Handle made = nullptr;
  const Status status = call_.memory_desc_create_with_tag(&made, count, sizes.data(), float32, any_order);
  return status == success ? Layout(made, call_.memory_desc_destroy) : nullptr;
}

std::size_t Library::bytes(const Layout& layout) const { return call_.memory_desc_get_size(layout.get()); }

bool Library::equal(const Layout& a, const Layout& b) const { return call_.memory_desc_equal(a.get(), b.get()) != 0; }

Description Library::described(Status status, Handle description) const {
  return status == success ? Description(description, call_.primitive_desc_destroy) : nullptr;
}

Description Library::convolution(const Problem& problem, const ConvolutionLayouts& layouts) const {
  const Numbers3 n(problem);
  const void *image = layouts.image.get(), *filters = layouts.filters.get(), *result = layouts.result.get();
  const std::int64_t *strides = n.strides.data(), *dilations = n.dilations.data(), *before = n.before.data(),
                     *after = n.after.data();
  Handle made = nullptr;
  if (major_ == 2) {
    Operation2 operation;
    Status status = success;
    switch (problem.task) {
      case Task::forward:
        status = call_.dilated_convolution_forward_desc_init(&operation, forward_inference, direct, image, filters,
                                                             nullptr, result, strides, dilations, before, after);
        break;
      case Task::by_image:
        status = call_.dilated_convolution_backward_data_desc_init(&operation, direct, image, filters, result, strides,
                                                                   dilations, before, after);
        break;
      case Task::by_filters:
        status = call_.dilated_convolution_backward_weights_desc_init(&operation, direct, image, filters, nullptr,
                                                                      result, strides, dilations, before, after);
    }
    if (status != success) return nullptr;
    status = call_.primitive_desc_create(&made, &operation, attributes_, engine_, nullptr);
    return described(status, made);
  }
  Status status = success;
  switch (problem.task) {
    case Task::forward:
      status = call_.convolution_forward_primitive_desc_create(&made, engine_, forward_inference, direct, image,
                                                               filters, nullptr, result, strides, dilations, before,
                                                               after, attributes_);
      break;
    case Task::by_image:
      status = call_.convolution_backward_data_primitive_desc_create(
          &made, engine_, direct, image, filters, result, strides, dilations, before, after, nullptr, attributes_);
      break;
    case Task::by_filters:
      status = call_.convolution_backward_weights_primitive_desc_create(&made, engine_, direct, image, filters, nullptr,
                                                                        result, strides, dilations, before, after,
                                                                        nullptr, attributes_);
  }
  return described(status, made);
}

/// A layout that a description owns.
Layout Library::chosen(const Description& description, int which) const {
  return Layout(description, call_.primitive_desc_query_md(description.get(), which, 0));
}

ConvolutionLayouts Library::layouts(const Description& convolution, Task task) const {
  // dnnl_query_src_md and so on, and the same for gradients.
  constexpr int source = 129, source_gradient = 130, weights = 131, weights_gradient = 132, destination = 133,
                destination_gradient = 134;
  return {chosen(convolution, task == Task::by_image ? source_gradient : source),
          chosen(convolution, task == Task::by_filters ? weights_gradient : weights),
          chosen(convolution, task == Task::forward ? destination : destination_gradient)};
}

std::string Library::routine(const Description& description) const {
  const char* name = nullptr;
  const Status status = call_.primitive_desc_query(description.get(), query_routine, 0, static_cast<void*>(&name));
  return status == success && name != nullptr ? name : "";
}

Layout Library::scratch(const Description& description) const {
  const Layout layout = chosen(description, query_scratch);
  return layout.get() != nullptr && bytes(layout) > 0 ? layout : nullptr;
}

Description Library::reorder(const Layout& from, const Layout& to) const {
  Handle made = nullptr;
  const Status status = call_.reorder_primitive_desc_create(&made, from.get(), engine_, to.get(), engine_, attributes_);
  return described(status, made);
}

Primitive Library::primitive(const Description& description) const {
  Handle made = nullptr;
  const Status status = call_.primitive_create(&made, description.get());
  return status == success ? Primitive(made, call_.primitive_destroy) : nullptr;
}

Stream Library::stream() const {
  Handle made = nullptr;
  const Status status = call_.stream_create(&made, engine_, in_order);
  return status == success ? Stream(made, call_.stream_destroy) : nullptr;
}

Memory Library::memory(const Layout& layout) const {
  Handle made = nullptr;
  const Status status = call_.memory_create(&made, layout.get(), engine_, nullptr);
  return status == success ? Memory(made, call_.memory_destroy) : nullptr;
}

void Library::place(const Memory& memory, const void* begin) const noexcept {
  call_.memory_set_data_handle(memory.get(), const_cast<void*>(begin));
}

bool Library::run(const Primitive& primitive, const Stream& stream,
                  std::span<const Argument> arguments) const noexcept {
  return call_.primitive_execute(primitive.get(), stream.get(), static_cast<int>(arguments.size()), arguments.data()) ==
             success &&
         call_.stream_wait(stream.get()) == success;
}

bool Library::multiply(const MatrixProduct& p) const noexcept {
  const OneThread alone(*this);
  const TypedOperands<float> of(p);
  return call_.sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.m, p.n, p.k, of.alpha, of.a, p.lda, of.b,
                     p.ldb, of.beta, of.c, p.ldc) == success;
}

}  // namespace croton::runtime::cpu::dnn
