// The tool `croton`: a demo, the simulator, the flags, the kernel cache, and reports about this machine.
//
// Exit status: 0 success, 1 failure (with a message), 2 invalid command line.
#include <croton/croton.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "base/bytes_text.hpp"
#include "base/config.hpp"
#include "doctor.hpp"
#include "explain.hpp"
#include "inspect.hpp"
#include "kernel_cache.hpp"
#include "mlp_digits.hpp"
#include "simulate.hpp"

namespace croton::tool {
namespace {

using Arguments = std::vector<std::string>;

constexpr const char* help_text =
    "usage: croton COMMAND\n"
    "  demo mlp [options]   compile and train a small network, show the generated code (--help: its options)\n"
    "  devices              what programs can run on: name, memory, compute capability\n"
    "  doctor [--json]      what Croton finds on this machine, and how to get what is missing; --json: an object a "
    "line\n"
    "  inspect NAME ...     graph, plan and kernels of an example or a file, for any GPU (--help: its options)\n"
    "  explain NAME ...     time and limit of each step of an example or a file, on any GPU (--help: its options)\n"
    "  simulate FILE ...    run a CUDA kernel of your own in the simulator (--help: its options)\n"
    "  flags [--markdown]   all flags: values, who set them, what they mean\n"
    "  cache [list|clear]   the compiled kernels on disk\n"
    "  --version, --help\n";

int refuse(const std::string& message) {
  std::cerr << "croton: " << message << "\n" << help_text;
  return 2;
}

/// Reports an unknown option or word of a command.
int reject_word(const std::string& command, const std::string& word) {
  return refuse(fmt::format("{} does not take '{}'", command, word));
}

int demo(const Arguments& arguments) {
  if (arguments.empty()) return refuse("demo needs a name: mlp");
  if (arguments[0] != "mlp") return refuse(fmt::format("there is no demo '{}'; there is mlp", arguments[0]));
  return mlp_digits::main("croton demo mlp", {arguments.begin() + 1, arguments.end()});
}

int show_flags(const Arguments& arguments) {
  if (arguments.size() == 1 && arguments[0] == "--markdown") {
    std::cout << base::flags_markdown();
    return 0;
  }
  if (!arguments.empty()) return reject_word("flags", arguments[0]);
  for (const FlagInfo& flag : flags()) {
    std::cout << fmt::format("{}={}\n    set by {}; takes {}; read at {}\n    {}\n", flag.name, flag.value, flag.origin,
                             flag.accepted, flag.read_at, flag.doc);
  }
  return 0;
}

int show_cache(const Arguments& arguments) {
  const std::string action = arguments.empty() ? "list" : arguments[0];
  if (arguments.size() > 1 || (action != "list" && action != "clear")) return reject_word("cache", arguments.back());
  const std::filesystem::path folder = cache_folder();
  if (folder.empty())
    throw FileError("there is no cache folder: you have no home folder; name one by the flag cache_dir");
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) {
    std::cout << folder.string() << ": not there yet\n";
    return 0;
  }
  runtime::KernelCache cache(folder);
  bool warned = false;
  cache.set_warning_sink([&](const std::string& warning) {
    warned = true;
    std::cerr << "croton: " << warning << "\n";
  });
  if (action == "clear") {
    const std::size_t removed = cache.clear();
    std::cout << fmt::format("{}: {} entries removed\n", folder.string(), removed);
    return warned ? 1 : 0;
  }
  std::vector<runtime::KernelCache::Entry> entries = cache.list();
  std::ranges::sort(entries, {}, &runtime::KernelCache::Entry::digest);
  std::uint64_t bytes = 0;
  for (const auto& entry : entries) {
    std::cout << fmt::format("{}  {:>10}\n", entry.digest, base::bytes_text(entry.size));
    bytes += entry.size;
  }
  std::cout << fmt::format("{}: {} entries, {}\n", folder.string(), entries.size(), base::bytes_text(bytes));
  return warned ? 1 : 0;
}

int examine(const Arguments& arguments) {
  if (arguments.empty()) return doctor(DoctorForm::text);
  if (arguments[0] != "--json") return reject_word("doctor", arguments[0]);
  if (arguments.size() > 1) return reject_word("doctor", arguments[1]);
  return doctor(DoctorForm::json);
}

int show_devices(const Arguments& arguments) {
  if (!arguments.empty()) return reject_word("devices", arguments[0]);
  const std::vector<DeviceInfo> all = devices();
  for (const DeviceInfo& device : all) std::cout << device.to_string() << "\n";
  if (all.size() == 1) {
    std::cout
        << "There is no GPU (`croton doctor` tells why); CROTON_FLAGS=cuda_simulator=2 makes two simulated ones.\n";
  }
  return 0;
}

int print_version(const Arguments&) {
  std::cout << "croton " << CROTON_VERSION << "\n";
  return 0;
}

int print_help(const Arguments&) {
  std::cout << help_text;
  return 0;
}

struct Command {
  const char* name;
  int (*run)(const Arguments&);
};

constexpr std::array<Command, 12> commands{{{"demo", demo},
                                            {"devices", show_devices},
                                            {"doctor", examine},
                                            {"inspect", inspect},
                                            {"explain", explain},
                                            {"simulate", simulate},
                                            {"flags", show_flags},
                                            {"cache", show_cache},
                                            {"--version", print_version},
                                            {"--help", print_help},
                                            {"-h", print_help},
                                            {"help", print_help}}};

int run(const Arguments& arguments) {
  if (arguments.empty()) return refuse("a command is missing");
  for (const Command& command : commands) {
    if (arguments[0] == command.name) return command.run({arguments.begin() + 1, arguments.end()});
  }
  return refuse(fmt::format("there is no command '{}'", arguments[0]));
}

}  // namespace
}  // namespace croton::tool

int main(int argc, char** argv) {
  try {
    return croton::tool::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "croton: " << error.what() << "\n";
    return 1;
  }
}
