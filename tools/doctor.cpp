#include "doctor.hpp"

#include <croton/config.hpp>
#include <croton/error.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/bytes_text.hpp"
#include "base/config.hpp"
#include "base/config_file.hpp"
#include "base/environment.hpp"
#include "io/json_text.hpp"
#include "kernel_cache.hpp"
#include "runtime/cpu/blas/blas.hpp"
#include "runtime/cpu/blas/openblas.hpp"
#include "runtime/cpu/compiler.hpp"
#include "runtime/cpu/dnn/dnn.hpp"
#include "runtime/cpu/threads/threads.hpp"
#include "runtime/cuda/driver/context.hpp"
#include "runtime/cuda/driver/driver.hpp"
#include "runtime/cuda/inspect/program.hpp"
#include "runtime/cuda/libraries/blaslt.hpp"
#include "runtime/cuda/libraries/dnn.hpp"
#include "runtime/cuda/libraries/nvrtc.hpp"
#include "runtime/cuda/nvtx.hpp"
#include "runtime/cuda/toolkit/toolkit.hpp"

namespace croton::tool {
namespace {

namespace cpu = runtime::cpu;
namespace cuda = runtime::cuda;

/// ok; missing: not needed; wrong: must be corrected.
enum class State { ok, missing, wrong };

std::string_view word_of(State state) {
  constexpr std::array<std::string_view, 3> words{"ok", "missing", "WRONG"};
  return words[static_cast<std::size_t>(state)];
}

struct DeviceLine {
  std::string name, capability;
  std::uint64_t memory_bytes = 0;
  int multiprocessors = 0;
};

/// The result of a check. Version, place and path are empty if they do not apply.
struct Finding {
  State state = State::wrong;
  std::string text;
  std::string version = {}, place = {}, path = {};
  std::optional<std::vector<DeviceLine>> devices = {};  // of a driver that runs
};

void print_text(const std::string& part, const Finding& finding) {
  fmt::print("[{:^7}] {:17} ", word_of(finding.state), part);
  // Further lines are aligned with the first.
  for (const char c : finding.text) c == '\n' ? fmt::print("\n{:28}", "") : fmt::print("{}", c);
  fmt::print("\n");
}

std::string json_of(const DeviceLine& device) {
  return fmt::format(R"({{"name": {}, "capability": {}, "memory_bytes": {}, "multiprocessors": {}}})",
                     io::json_text(device.name), io::json_text(device.capability), device.memory_bytes,
                     device.multiprocessors);
}

void print_json(const std::string& part, const Finding& finding) {
  std::string fields = fmt::format(R"("part": {}, "state": "{}")", io::json_text(part), word_of(finding.state));
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) fields += fmt::format(R"(, "{}": {})", name, io::json_text(text));
  };
  add("version", finding.version);
  add("place", finding.place);
  add("path", finding.path);
  if (finding.devices) {
    std::vector<std::string> all;
    for (const DeviceLine& device : *finding.devices) all.push_back(json_of(device));
    fields += fmt::format(R"(, "devices": [{}])", fmt::join(all, ", "));
  }
  fmt::print("{{{}, \"text\": {}}}\n", fields, io::json_text(finding.text));
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

Finding check_flags() {
  std::vector<std::string> lines;
  for (const FlagInfo& flag : flags()) {
    if (flag.origin != "default") lines.push_back(fmt::format("{}={} ({})", flag.name, flag.value, flag.origin));
  }
  return {State::ok, lines.empty() ? "all have their defaults" : joined(lines, "\n")};
}

Finding check_flag_files() {
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
  return {warnings.empty() ? State::ok : State::wrong, joined(lines, "\n")};
}

Finding check_compiler() {
  std::string why;
  if (!cpu::Compiler::available(&why))
    return {State::wrong, why + "\nWithout it kernels run in the reference evaluator, which is slow."};
  const std::string identity = cpu::Compiler::instance().identity();
  return {State::ok, identity.substr(0, identity.rfind(' '))};  // without the long list of features
}

Finding check_processor() {
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
  return {State::ok, fmt::format("{} usable core(s), {} thread(s)\n{}", cpu::ThreadPool::usable_cores(),
                                 wanted == 0 ? cpu::ThreadPool::usable_cores() : wanted,
                                 features.empty() ? "its features are not looked at" : joined(features, " "))};
}

std::string describe_blas(const cpu::Blas& blas) {
  std::string text = blas.name() + (blas.core().empty() ? "" : ", kernels for " + blas.core());
  const std::string better = cpu::better_core(blas.core(), cpu::vector_width());
  if (!blas.detected_core().empty()) {
    text += "\nCroton asked for them: this version takes the processor for " + blas.detected_core();
  } else if (!better.empty()) {
    text +=
        base::environment("OPENBLAS_CORETYPE")
            ? "\nOPENBLAS_CORETYPE asks for them in the environment: with " + better + " products are faster"
            : "\nthis processor could run those for " + better +
                  ", which are faster: this build has others only\n(pip install scipy-openblas32 for one that does)";
  }
  return text;
}

/// A line for each other library whose products are faster by more than noise.
std::string describe_faster_blas() {
  constexpr double noticeable = 1.05;
  std::string text;
  for (const cpu::OtherBlas& other : cpu::Blas::others()) {
    if (other.speed < noticeable) continue;
    text += fmt::format(
        "\n{} is here, too: {:.2f} times as fast for a float32 product of 512 x 512\n(CROTON_FLAGS=blas={})",
        other.name, other.speed, other.place);
  }
  return text;
}

Finding check_blas() {
  cpu::Blas::configure(base::config().blas);
  std::string why;
  if (cpu::Blas::available(&why)) {
    return {State::ok,
            describe_blas(cpu::Blas::instance()) + (base::config().blas == "auto" ? describe_faster_blas() : "")};
  }
  if (base::config().blas == "none") why = "the flag blas is none: products run in Croton's own loop, which is slow";
  return {State::missing, why};
}

Finding check_dnn() {
  cpu::Dnn::configure(base::config().dnn);
  std::string why;
  if (cpu::Dnn::available(&why)) return {State::ok, cpu::Dnn::instance().name()};
  if (base::config().dnn == "none") why = "the flag dnn is none: convolutions run in Croton's own kernels and products";
  return {State::missing, why};
}

constexpr const char* hidden_reason = "the flag cuda_root is none: CUDA is done without";

Finding finding_of(const cuda::FoundPart& part) {
  const std::string_view place = cuda::name_of(part.place);
  const std::string version = part.version.empty() ? "" : part.version + " ";
  return {.state = State::ok,
          .text = fmt::format("{}at {} ({})", version, part.path.string(), place),
          .version = part.version,
          .place = std::string(place),
          .path = part.path.string()};
}

/// The result of `find` for a part of CUDA: missing if it is not found; wrong if a flag names a part that cannot be
/// used.
Finding check_part(const std::function<cuda::FoundPart()>& find) {
  cuda::set_toolkit(base::config());
  try {
    return finding_of(find());
  } catch (const ConfigError& error) {
    return {State::wrong, error.what()};
  } catch (const DeviceError& error) {
    return {State::missing, cuda::toolkit_hidden() ? hidden_reason : error.what()};
  }
}

Finding check_nvrtc() {
  Finding finding = check_part(cuda::Nvrtc::found);
  if (finding.state == State::ok) finding.text += "\nfor " + joined(cuda::Nvrtc::instance().architectures(), " ");
  return finding;
}

cuda::FoundPart found_program(cuda::ToolkitPart part) {
  const cuda::ProgramSearch search = cuda::require_program(part);
  return {cuda::version_of_program(search.path), search.path, search.place};
}

Finding check_nvdisasm() {
  return check_part([] { return found_program(cuda::ToolkitPart::nvdisasm); });
}
Finding check_sanitizer() {
  return check_part([] { return found_program(cuda::ToolkitPart::sanitizer); });
}
Finding check_blaslt() { return check_part(cuda::BlasLt::found); }
Finding check_cudnn() { return check_part(cuda::Dnn::found); }

Finding check_profiling() {
  if (cuda::has_nvtx()) return {State::ok, "NVTX is built in (the flag nvtx names functions in a profile)"};
  return {State::missing, "NVTX is not built in: its headers were missing when Croton was configured"};
}

std::string describe_device(int index, const cuda::GpuFacts& facts) {
  return fmt::format("cuda{}: {}, compute capability {}.{}, {}, {} multiprocessors, PCI {}", index, facts.name,
                     facts.major, facts.minor, base::bytes_text(facts.memory_bytes), facts.multiprocessors,
                     facts.pci_id);
}

/// Adds the driver's devices to its finding.
void add_devices(const cuda::Driver& driver, Finding& finding) {
  const int count = driver.device_count();
  finding.devices.emplace();
  if (count == 0) {
    finding.state = State::missing;
    finding.text +=
        "\nno device: there is no GPU, or none that this process may see (look at nvidia-smi and "
        "CUDA_VISIBLE_DEVICES)";
  }
  for (int i = 0; i < count; ++i) {
    try {
      const cuda::GpuFacts facts = cuda::Context::open(i)->facts();
      finding.text += "\n" + describe_device(i, facts);
      finding.devices->push_back(
          {facts.name, fmt::format("{}.{}", facts.major, facts.minor), facts.memory_bytes, facts.multiprocessors});
    } catch (const Error& error) {
      finding.text += fmt::format("\ncuda{}: {}", i, error.what());
      finding.state = State::wrong;
    }
  }
}

Finding check_driver() {
  const base::Flags& flags = base::config();
  cuda::set_toolkit(flags);
  cuda::set_driver_library(flags.cuda_driver);
  std::string why;
  if (!cuda::Driver::available(&why)) {
    // A missing driver is optional; an installed one that refuses must be corrected.
    if (cuda::toolkit_hidden()) why = hidden_reason;
    return {cuda::Driver::found() ? State::wrong : State::missing, why};
  }
  const cuda::Driver& driver = cuda::Driver::instance();
  const auto [major, minor] = driver.version();
  const cuda::Place place = flags.cuda_driver.empty() ? cuda::Place::system : cuda::Place::named;
  Finding finding{.state = State::ok,
                  .text = fmt::format("for CUDA {}.{}, at {}", major, minor, driver.path().string()),
                  .version = fmt::format("{}.{}", major, minor),
                  .place = std::string(cuda::name_of(place)),
                  .path = driver.path().string()};
  add_devices(driver, finding);
  return finding;
}

Finding check_cache() {
  if (!base::config().cache)
    return {State::missing, "the flag cache is false: every program compiles its kernels again"};
  const std::filesystem::path folder = cache_folder();
  if (folder.empty()) return {State::missing, "you have no home folder; name a folder by the flag cache_dir"};
  std::error_code error;
  if (!std::filesystem::exists(folder, error))
    return {State::ok, folder.string() + ": will be made when it is first needed"};
  std::string warnings;
  runtime::KernelCache cache(folder);
  cache.set_warning_sink([&](const std::string& warning) { warnings += "\n" + warning; });
  const std::size_t entries = cache.list().size();
  const std::string size = base::bytes_text(cache.size());
  return {warnings.empty() ? State::ok : State::wrong,
          fmt::format("{}: {} entries, {}{}", folder.string(), entries, size, warnings)};
}

struct Check {
  const char* part;
  Finding (*run)();
};

constexpr Check checks[]{{"flags", check_flags},
                         {"flags from", check_flag_files},
                         {"CPU compiler", check_compiler},
                         {"processor", check_processor},
                         {"BLAS", check_blas},
                         {"oneDNN", check_dnn},
                         {"kernel cache", check_cache},
                         {"NVRTC", check_nvrtc},
                         {"nvdisasm", check_nvdisasm},
                         {"compute-sanitizer", check_sanitizer},
                         {"profiling", check_profiling},
                         {"cuBLASLt", check_blaslt},
                         {"cuDNN", check_cudnn},
                         {"CUDA driver", check_driver}};

/// Wrong flags make most checks fail: the first one gives the reason, the others refer to it.
Finding run_check(const Check& check, bool& flags_are_right) try {
  return check.run();
} catch (const ConfigError& error) {
  const bool first = std::exchange(flags_are_right, false);
  return {State::wrong, first ? error.what() : "not looked at until the flags are right"};
} catch (const Error& error) {
  return {State::wrong, error.what()};
}

}  // namespace

int doctor(DoctorForm form) {
  const bool json = form == DoctorForm::json;
  if (json)
    print_json("Croton", {.state = State::ok, .text = "Croton " CROTON_VERSION, .version = CROTON_VERSION});
  else
    fmt::print("Croton {}\n\n", CROTON_VERSION);
  bool wrong = false, flags_are_right = true;
  for (const Check& check : checks) {
    const Finding finding = run_check(check, flags_are_right);
    json ? print_json(check.part, finding) : print_text(check.part, finding);
    wrong = wrong || finding.state == State::wrong;
  }
  if (!json) {
    fmt::print("\n{}\n", wrong ? "Something must be corrected: see WRONG above."
                               : "Croton can work here. The missing parts above are needed for their purposes only.");
  }
  return wrong ? 1 : 0;
}

}  // namespace croton::tool
