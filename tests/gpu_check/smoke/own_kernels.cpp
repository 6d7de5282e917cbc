#include "own_kernels.hpp"

#include <cstddef>
#include <vector>

#include "codegen/emit.hpp"
#include "runtime/cuda/driver/transfer.hpp"
#include "runtime/cuda/libraries/nvrtc.hpp"
#include "runtime/cuda/target.hpp"

namespace croton::smoke {

namespace cuda = runtime::cuda;

namespace {

constexpr const char* planted_text = R"(
struct planted_Params {
  unsigned int* p;
  ct::index n;
};
CT_KERNEL void pointwise_000000000bad(const planted_Params p) { p.p[p.n + ct::thread_index()] = 1u; }
CT_KERNEL void row_000000000bad(const planted_Params p) {
  CT_SHARED unsigned int shared[64];
  shared[ct::thread_index()] = ct::thread_index();
  p.p[ct::thread_index()] = shared[63u - ct::thread_index()];
}
)";

}  // namespace

cuda::Kernel own_kernel(const std::shared_ptr<cuda::Context>& context, const std::string& text,
                        const std::string& name) {
  const std::string prelude = codegen::prelude(codegen::Target::cuda);
  const cuda::CompileTarget target = cuda::choose_target(context->facts(), cuda::Nvrtc::instance().architectures());
  const std::vector<std::byte> code =
      cuda::compile(prelude + text, "gpu_check " + name, prelude, target.architecture, target.form, name);
  return cuda::Module(context, code).kernel(name);
}

void plant(const Machine& machine, const std::string& fault) {
  require_driver(machine);
  const bool memory = fault == "memory";
  require(memory || fault == "race", fault + " is no fault that is planted: memory or race");
  const std::shared_ptr<cuda::Context> context = cuda::Context::get(machine.index);
  const cuda::Kernel kernel = own_kernel(context, planted_text, memory ? "pointwise_000000000bad" : "row_000000000bad");
  const cuda::Stream stream(context);
  const cuda::Buffer buffer(stream, 256);
  const std::uint64_t parameters[] = {cuda::pointer_of(buffer.data()), 64};
  kernel.launch(stream, {.blocks = 1, .threads = 64}, parameters, {});
  stream.synchronize();
}

}  // namespace croton::smoke
