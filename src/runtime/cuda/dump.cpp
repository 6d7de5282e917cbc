#include "runtime/cuda/dump.hpp"

#include <atomic>
#include <cstdio>
#include <exception>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/config.hpp"
#include "base/file.hpp"
#include "codegen/standalone.hpp"
#include "runtime/cuda/compiler.hpp"
#include "runtime/cuda/libraries/nvrtc.hpp"

namespace croton::runtime::cuda {
namespace {

void warn_once(std::string_view reason) {
  static std::atomic<bool> warned{false};
  if (!base::config().warn || warned.exchange(true)) return;
  std::fputs(fmt::format("croton: warning: dump_kernels: {}; continuing without that file\n", reason).c_str(), stderr);
}

/// True once for each folder and file: a second compilation costs time, and another process may read the file now.
bool is_first(const std::string& folder, const std::string& file) {
  static std::mutex mutex;
  static auto* written = new std::set<std::pair<std::string, std::string>>;
  const std::lock_guard lock(mutex);
  return written->emplace(folder, file).second;
}

/// Runs it; a failure becomes a warning.
void attempt_dump(const std::function<void()>& work) noexcept {
  try {
    try {
      work();
    } catch (const std::exception& error) {
      warn_once(error.what());
    }
  } catch (...) {  // even the warning failed
  }
}

void dump_text(const codegen::Text& text, std::span<const codegen::StandalonePart> parts,
               const std::string& architecture) {
  const base::Flags& flags = base::config();
  const std::string unit = codegen::prelude(codegen::Target::cuda) + text.code;
  const auto write = [&](std::string_view form, const std::string& ending, auto content) {
    attempt_dump([&] {
      const std::string file = text.name + ending;
      if (!base::has_word(flags.dump_forms, form) || !is_first(flags.dump_kernels, file)) return;
      // Published by a rename: other processes may write the same kernel now, and readers never see half of it.
      const auto made = content();
      base::Folder::open_private(flags.dump_kernels).publish(file, std::as_bytes(std::span(made)));
    });
  };
  write("text", ".cu", [&] { return unit; });
  if (!parts.empty()) write("main", "_main.cu", [&] { return codegen::standalone_program(text, parts); });
  if (!base::has_word(flags.dump_forms, "ptx") && !base::has_word(flags.dump_forms, "cubin")) return;
  if (!Nvrtc::available()) return;
  const auto compiled = [&](Form form) {
    return compile(unit, text.digest, codegen::prelude(codegen::Target::cuda), architecture, form, text.name);
  };
  write("ptx", ".ptx", [&] { return compiled(Form::ptx); });
  write("cubin", ".cubin", [&] { return compiled(Form::cubin); });
}

}  // namespace

void dump(const DumpedTexts& texts, const std::string& architecture) noexcept {
  attempt_dump([&] {
    for (const DumpedText& dumped : texts(codegen::Target::cuda)) dump_text(dumped.text, dumped.parts, architecture);
  });
}

}  // namespace croton::runtime::cuda
