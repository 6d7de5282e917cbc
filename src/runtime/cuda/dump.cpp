#include "runtime/cuda/dump.hpp"

#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/config.hpp"
#include "base/file.hpp"

namespace croton::runtime::cuda {

bool dumps() { return !base::config().dump_kernels.empty(); }

void dump(const codegen::Text& text) noexcept {
  static std::atomic<bool> warned{false};
  try {
    const std::string& folder = base::config().dump_kernels;
    if (folder.empty()) return;
    static std::mutex mutex;
    static auto* written = new std::set<std::pair<std::string, std::string>>;  // folder and kernel
    const std::lock_guard lock(mutex);
    if (!written->emplace(folder, text.name).second) return;
    const std::string unit = codegen::prelude(codegen::Target::cuda) + text.code;
    // Published by a rename: other processes may write the same kernel now, and readers never see half of it.
    base::Folder::open_private(folder).publish(text.name + ".cu", std::as_bytes(std::span(unit)));
  } catch (const std::exception& error) {
    if (!base::config().warn || warned.exchange(true)) return;
    for (const char* part : {"croton: warning: dump_kernels: ", error.what(), "; going on without that file\n"})
      std::fputs(part, stderr);
  }
}

}  // namespace croton::runtime::cuda
