#include "runtime/cuda/compiler.hpp"

#include <fmt/format.h>

#include <chrono>
#include <span>

#include "base/config.hpp"
#include "base/stage.hpp"
#include "runtime/cuda/inspect/facts.hpp"
#include "runtime/cuda/libraries/nvrtc.hpp"
#include "runtime/support/cache.hpp"

namespace croton::runtime::cuda {
namespace {

std::string_view name_of(Form form) { return form == Form::ptx ? "ptx" : form == Form::facts ? "facts" : "cubin"; }

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// The file in a table of lines: the one that dump_kernels writes, so that profilers find it; else one that does not
/// exist. Always a full path, or the compiler would add the current folder.
std::string file_of(std::string_view name) {
  const std::string& folder = base::config().dump_kernels;
  return (folder.empty() ? "/croton" : folder) + "/" + std::string(name) + ".cu";
}

}  // namespace

std::vector<std::byte> compile(std::string_view unit, std::string_view digest, std::string_view prelude,
                               const std::string& architecture, Form form, std::string_view name, bool* from_cache) {
  const base::StageTimer timer(base::Stage::compile);
  if (from_cache != nullptr) *from_cache = false;
  const Nvrtc& nvrtc = Nvrtc::instance();
  const bool lines = form == Form::lined_cubin || (form != Form::facts && base::config().lineinfo);
  std::vector<std::string> extra;
  if (lines) extra.emplace_back("--generate-line-info");
  if (form == Form::facts) extra.emplace_back("--ptxas-options=--verbose");
  const std::string file = lines ? file_of(name) : "kernel.cu";
  CacheKey key;
  key.add("kernel", digest).add("prelude", prelude).add("architecture", architecture).add("form", name_of(form));
  key.add("compiler", nvrtc.identity());
  for (const std::string& option : nvrtc.options()) key.add("option", option);
  for (const std::string& option : extra) key.add("option", option);
  // Comments move lines, so with a table of lines the whole text counts.
  if (lines) key.add("text", unit).add("file", file);
  KernelCache* cache = configured_cache();
  if (cache != nullptr) {
    if (auto found = cache->find(key.digest())) {
      if (from_cache != nullptr) *from_cache = true;
      base::show(base::Stage::compile, [&] { return fmt::format("  {}: cached\n", name); });
      return *found;
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  const Nvrtc::Result result = nvrtc.compile(unit, architecture, extra, form == Form::ptx, file);
  base::StageTimer::note("NVRTC", std::chrono::steady_clock::now() - begin);
  base::show(base::Stage::compile, [&] { return fmt::format("  {}: for {} by NVRTC\n", name, architecture); });
  const std::vector<std::byte> code = form == Form::ptx ? bytes_of(result.ptx)
                                      : form == Form::facts
                                          ? bytes_of(write_facts(collect_facts(result.log, result.cubin)))
                                          : result.cubin;
  if (cache != nullptr) cache->store(key.digest(), code);
  return code;
}

}  // namespace croton::runtime::cuda
