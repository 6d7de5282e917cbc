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

/// The kernel and its compiler.
struct Request {
  std::string_view unit, digest, prelude, name;
  const std::string& architecture;
  const Nvrtc& nvrtc;
};

bool has_lines(Form form) { return form == Form::lined_cubin || (form != Form::facts && base::config().lineinfo); }

std::string key_of(const Request& request, Form form) {
  CacheKey key;
  key.add("kernel", request.digest).add("prelude", request.prelude).add("architecture", request.architecture);
  key.add("form", name_of(form)).add("compiler", request.nvrtc.identity());
  for (const std::string& option : request.nvrtc.options()) key.add("option", option);
  // Comments move lines, so with a table of lines the whole text counts.
  if (has_lines(form)) key.add("text", request.unit).add("file", file_of(request.name));
  return key.digest();
}

}  // namespace

std::vector<std::byte> compile(std::string_view unit, std::string_view digest, std::string_view prelude,
                               const std::string& architecture, Form form, std::string_view name, bool* from_cache) {
  const base::StageTimer timer(base::Stage::compile);
  if (from_cache != nullptr) *from_cache = false;
  const Request request{unit, digest, prelude, name, architecture, Nvrtc::instance()};
  KernelCache* cache = configured_cache();
  const std::string key = key_of(request, form);
  if (cache != nullptr) {
    if (auto found = cache->find(key)) {
      if (from_cache != nullptr) *from_cache = true;
      base::show(base::Stage::compile, [&] { return fmt::format("  {}: cached\n", name); });
      return *found;
    }
  }
  // Who wants a table of lines wants the facts, too, which are the same with it.
  const bool with_facts = form == Form::facts || form == Form::lined_cubin;
  std::vector<std::string> extra;
  if (has_lines(form)) extra.emplace_back("--generate-line-info");
  if (with_facts) extra.emplace_back("--ptxas-options=--verbose");
  const auto begin = std::chrono::steady_clock::now();
  const Nvrtc::Result result = request.nvrtc.compile(unit, architecture, extra, form == Form::ptx,
                                                     has_lines(form) ? file_of(name) : "kernel.cu");
  base::StageTimer::note("NVRTC", std::chrono::steady_clock::now() - begin);
  base::show(base::Stage::compile, [&] { return fmt::format("  {}: for {} by NVRTC\n", name, architecture); });
  const std::vector<std::byte> facts =
      with_facts ? bytes_of(write_facts(collect_facts(result.log, result.cubin))) : std::vector<std::byte>();
  if (cache != nullptr && form == Form::lined_cubin) cache->store(key_of(request, Form::facts), facts);
  const std::vector<std::byte> code = form == Form::ptx     ? bytes_of(result.ptx)
                                      : form == Form::facts ? facts
                                                            : result.cubin;
  if (cache != nullptr) cache->store(key, code);
  return code;
}

}  // namespace croton::runtime::cuda
