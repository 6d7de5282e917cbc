#include "doctor.hpp"

#include <croton/config.hpp>
#include <croton/error.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/config.hpp"
#include "base/config_file.hpp"
#include "base/environment.hpp"
#include "kernel_cache.hpp"
#include "runtime/cpu/blas.hpp"
#include "runtime/cpu/compiler.hpp"
#include "runtime/cpu/dnn.hpp"
#include "runtime/cpu/openblas.hpp"
#include "runtime/cpu/threads.hpp"
#include "runtime/cuda/blaslt.hpp"
#include "runtime/cuda/device.hpp"
#include "runtime/cuda/dnn.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/nvdisasm.hpp"
#include "runtime/cuda/nvrtc.hpp"
#include "runtime/cuda/nvtx.hpp"
#include "runtime/cuda/toolkit.hpp"

namespace croton::tool {
namespace {

namespace cpu = runtime::cpu;
namespace cuda = runtime::cuda;

/// ok; missing: works without it; wrong: something to put right.
enum class State { ok, missing, wrong };

void print(State state, std::string_view part, std::string_view text) {
  constexpr std::array<std::string_view, 3> words{"ok", "missing", "WRONG"};
  fmt::print("[{:^7}] {:13} ", words[static_cast<std::size_t>(state)], part);
  // Further lines stand below the first.
  for (const char c : text) c == '\n' ? fmt::print("\n{:24}", "") : fmt::print("{}", c);
  fmt::print("\n");
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

State check_flags() {
  std::vector<std::string> lines;
  for (const FlagInfo& flag : flags()) {
    if (flag.origin != "default") lines.push_back(fmt::format("{}={} ({})", flag.name, flag.value, flag.origin));
  }
  print(State::ok, "flags", lines.empty() ? "all have their defaults" : joined(lines, "\n"));
  return State::ok;
}

State check_flag_files() {
  const std::vector<std::filesystem::path> places = base::flag_file_places();
  std::vector<std::string> lines, warnings;
  bool taken = false;
  for (const std::filesystem::path& place : places) {
    std::error_code error;
    const bool there = std::filesystem::exists(place, error);
    lines.push_back(fmt::format("{}: {}", place.string(),
                                !there  ? "none"
                                : taken ? "there, but not the first"
                                        : "read"));
    taken = taken || there;
  }
  base::read_flag_file(places, warnings);
  lines.push_back(fmt::format("CROTON_FLAGS: {}", base::environment("CROTON_FLAGS").value_or("not set")));
  lines.insert(lines.end(), warnings.begin(), warnings.end());
  const State state = warnings.empty() ? State::ok : State::wrong;
  print(state, "flags from", joined(lines, "\n"));
  return state;
}

State check_compiler() {
  std::string why;
  if (!cpu::Compiler::available(&why)) {
    print(State::wrong, "CPU compiler", why + "\nWithout it kernels run in the reference evaluator, which is slow.");
    return State::wrong;
  }
  const std::string identity = cpu::Compiler::instance().identity();
  print(State::ok, "CPU compiler", identity.substr(0, identity.rfind(' ')));  // without the long list of features
  return State::ok;
}

State check_processor() {
  std::vector<std::string> features;
#if defined(__x86_64__)
  const auto add = [&](const char* name, int there) {
    if (there != 0) features.emplace_back(name);
  };
  add("sse4.2", __builtin_cpu_supports("sse4.2"));
  add("avx", __builtin_cpu_supports("avx"));
  add("avx2", __builtin_cpu_supports("avx2"));
  add("fma", __builtin_cpu_supports("fma"));
  add("avx512f", __builtin_cpu_supports("avx512f"));
  add("avx512bw", __builtin_cpu_supports("avx512bw"));
  add("avx512vl", __builtin_cpu_supports("avx512vl"));
#endif
  const std::int64_t wanted = base::config().threads;
  print(State::ok, "processor",
        fmt::format("{} usable core(s), {} thread(s)\n{}", cpu::ThreadPool::usable_cores(),
                    wanted == 0 ? cpu::ThreadPool::usable_cores() : wanted,
                    features.empty() ? "its features are not looked at" : joined(features, " ")));
  return State::ok;
}

State check_blas() {
  cpu::Blas::configure(base::config().blas);
  std::string why;
  if (cpu::Blas::available(&why)) {
    const cpu::Blas& blas = cpu::Blas::instance();
    std::string text = blas.name() + (blas.core().empty() ? "" : ", kernels for " + blas.core());
    const std::string better = cpu::better_core(blas.core(), cpu::vector_width());
    if (!blas.taken_for().empty())
      text += "\nCroton asked for them: this version takes the processor for " + blas.taken_for();
    else if (!better.empty())
      text +=
          base::environment("OPENBLAS_CORETYPE")
              ? "\nOPENBLAS_CORETYPE asks for them in the environment: with " + better + " products are faster"
              : "\nthis processor could run those for " + better +
                    ", which are faster: this build has others only\n(pip install scipy-openblas32 for one that does)";
    print(State::ok, "BLAS", text);
    return State::ok;
  }
  const bool asked_for = base::config().blas == "none";
  print(State::missing, "BLAS",
        asked_for ? "the flag blas is none: products run in Croton's own loop, which is slow" : why);
  return State::missing;
}

State check_dnn() {
  cpu::Dnn::configure(base::config().dnn);
  std::string why;
  if (cpu::Dnn::available(&why)) {
    print(State::ok, "oneDNN", cpu::Dnn::instance().name());
    return State::ok;
  }
  const bool asked_for = base::config().dnn == "none";
  print(State::missing, "oneDNN",
        asked_for ? "the flag dnn is none: convolutions run in Croton's own kernels and products" : why);
  return State::missing;
}

State check_nvrtc() {
  cuda::set_cuda_root(base::config().cuda_root);
  std::string why;
  if (cuda::Nvrtc::available(&why)) {
    const cuda::Nvrtc& nvrtc = cuda::Nvrtc::instance();
    print(State::ok, "NVRTC",
          fmt::format("{}.{} at {}\nfor {}", nvrtc.version().first, nvrtc.version().second, nvrtc.path().string(),
                      joined(nvrtc.architectures(), " ")));
    return State::ok;
  }
  if (cuda::toolkit_hidden()) why = "the flag cuda_root is none: CUDA is done without";
  print(State::missing, "NVRTC", why);
  return State::missing;
}

std::string describe_device(int index) {
  const std::shared_ptr<cuda::Device> device = cuda::Device::open(index);
  const cuda::DeviceFacts& facts = device->facts();
  return fmt::format("cuda{}: {}, compute capability {}.{}, {}, {} multiprocessors, PCI {}", index, facts.name,
                     facts.major, facts.minor, bytes_text(facts.memory_bytes), facts.multiprocessors, facts.pci_id);
}

State check_driver() {
  cuda::set_cuda_root(base::config().cuda_root);
  cuda::set_driver_library(base::config().cuda_driver);
  std::string why;
  if (!cuda::Driver::available(&why)) {
    // One that is not installed is missing; one that is there and refuses is to be put right.
    const bool hidden = cuda::toolkit_hidden();
    if (hidden) why = "the flag cuda_root is none: CUDA is done without";
    const State state = cuda::Driver::found() ? State::wrong : State::missing;
    print(state, "CUDA driver", why);
    return state;
  }
  const cuda::Driver& driver = cuda::Driver::instance();
  const int count = driver.device_count();
  State state = count == 0 ? State::missing : State::ok;
  std::string text =
      fmt::format("for CUDA {}.{}, at {}", driver.version().first, driver.version().second, driver.path().string());
  if (count == 0) {
    text +=
        "\nno device: there is no GPU, or none that this process may see (look at nvidia-smi and "
        "CUDA_VISIBLE_DEVICES)";
  }
  for (int i = 0; i < count; ++i) {
    try {
      text += "\n" + describe_device(i);
    } catch (const Error& error) {
      text += fmt::format("\ncuda{}: {}", i, error.what());
      state = State::wrong;
    }
  }
  if (state == State::ok) text += "\nthis version does not run kernels on GPUs yet";
  print(state, "CUDA driver", text);
  return state;
}

State check_profiling() {
  std::string why;
  const bool disassembler = cuda::can_disassemble(&why);
  const std::string ranges = cuda::has_nvtx()
                                 ? "NVTX is built in (the flag nvtx names functions in a profile)"
                                 : "NVTX is not built in: its headers were missing when Croton was configured";
  print(disassembler && cuda::has_nvtx() ? State::ok : State::missing, "profiling",
        ranges + "\n" + (disassembler ? "nvdisasm at " + cuda::find_nvdisasm().path.string() : why));
  return State::ok;
}

/// `Library`: BlasLt or Dnn.
template <class Library>
State check_helper(const char* name) {
  std::string why;
  if (Library::available(&why)) {
    print(State::ok, name, Library::installed());
    return State::ok;
  }
  if (cuda::toolkit_hidden()) why = "the flag cuda_root is none: CUDA is done without";
  print(State::missing, name, why);
  return State::missing;
}

State check_blaslt() { return check_helper<cuda::BlasLt>("cuBLASLt"); }
State check_cudnn() { return check_helper<cuda::Dnn>("cuDNN"); }

State check_cache() {
  if (!base::config().cache) {
    print(State::missing, "kernel cache", "the flag cache is false: every program compiles its kernels anew");
    return State::missing;
  }
  const std::filesystem::path folder = cache_folder();
  std::error_code error;
  if (folder.empty() || !std::filesystem::exists(folder, error)) {
    print(folder.empty() ? State::missing : State::ok, "kernel cache",
          folder.empty() ? "you have no home folder; name a folder by the flag cache_dir"
                         : folder.string() + ": will be made when it is first needed");
    return State::ok;
  }
  std::string warnings;
  runtime::KernelCache cache(folder);
  cache.set_warning_sink([&](const std::string& warning) { warnings += "\n" + warning; });
  const std::size_t entries = cache.list().size();
  const State state = warnings.empty() ? State::ok : State::wrong;
  print(state, "kernel cache",
        fmt::format("{}: {} entries, {}{}", folder.string(), entries, bytes_text(cache.size()), warnings));
  return state;
}

}  // namespace

int doctor() {
  fmt::print("Croton {}\n\n", CROTON_VERSION);
  struct Part {
    const char* name;
    State (*check)();
  };
  constexpr Part parts[]{{"flags", check_flags},
                         {"flags from", check_flag_files},
                         {"CPU compiler", check_compiler},
                         {"processor", check_processor},
                         {"BLAS", check_blas},
                         {"oneDNN", check_dnn},
                         {"kernel cache", check_cache},
                         {"NVRTC", check_nvrtc},
                         {"profiling", check_profiling},
                         {"cuBLASLt", check_blaslt},
                         {"cuDNN", check_cudnn},
                         {"CUDA driver", check_driver}};
  bool wrong = false, flags_are_right = true;
  for (const Part& part : parts) {
    State state = State::wrong;
    try {
      state = part.check();
    } catch (const ConfigError& error) {
      print(State::wrong, part.name, flags_are_right ? error.what() : "not looked at until the flags are right");
      flags_are_right = false;
    } catch (const Error& error) {
      print(State::wrong, part.name, error.what());
    }
    wrong = wrong || state == State::wrong;
  }
  fmt::print("\n{}\n", wrong ? "Something is to be put right: see WRONG above."
                             : "Croton can work here. What is missing above is needed for its purpose only.");
  return wrong ? 1 : 0;
}

}  // namespace croton::tool
