#include "runtime/cuda/inspect/facts.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "runtime/cuda/inspect/cubin.hpp"

namespace croton::runtime::cuda {
namespace {

/// The number before these words: "184" of "184 bytes stack frame".
std::optional<std::int64_t> number_before(std::string_view line, std::string_view words) {
  const std::size_t end = line.find(words);
  if (end == line.npos) return std::nullopt;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  std::int64_t number = 0;
  if (std::from_chars(line.data() + begin, line.data() + end, number).ec != std::errc()) return std::nullopt;
  return number;
}

/// The text between the first two quotes after these words: "k" of "entry function 'k' for".
std::string_view quoted_after(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  if (at == line.npos) return {};
  const std::size_t open = line.find('\'', at + words.size());
  const std::size_t close = open == line.npos ? open : line.find('\'', open + 1);
  return close == line.npos ? std::string_view() : line.substr(open + 1, close - open - 1);
}

}  // namespace

std::vector<KernelFacts> parse_log(std::string_view log) {
  std::vector<KernelFacts> all;
  bool of_entry = false;  // the properties are the entry's, not those of a function that it calls
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    if (const std::string_view entry = quoted_after(line, "Compiling entry function"); !entry.empty()) {
      all.push_back({.entry = std::string(entry)});
      continue;
    }
    if (all.empty()) continue;
    KernelFacts& facts = all.back();
    constexpr std::string_view properties = "Function properties for ";
    if (const std::size_t at = line.find(properties); at != line.npos)
      of_entry = line.substr(at + properties.size()) == facts.entry;
    const auto take = [&](std::int64_t& to, std::string_view words) {
      if (const auto number = number_before(line, words)) to = *number;
    };
    if (of_entry) {
      take(facts.stack_bytes, " bytes stack frame");
      take(facts.spill_store_bytes, " bytes spill stores");
      take(facts.spill_load_bytes, " bytes spill loads");
    }
    take(facts.registers, " registers");
    take(facts.shared_bytes, " bytes smem");
  }
  return all;
}

std::vector<KernelFacts> collect_facts(std::string_view log, std::span<const std::byte> cubin) {
  std::vector<KernelFacts> all = parse_log(log);
  const std::vector<CubinEntry> entries = read_cubin(cubin);
  bool understood = !all.empty();
  for (KernelFacts& facts : all) {
    const auto at = std::ranges::find(entries, facts.entry, &CubinEntry::name);
    understood = understood && at != entries.end() && facts.registers > 0;
    if (understood) facts.constant_bytes = static_cast<std::int64_t>(at->constant_bytes);
  }
  if (!understood)
    throw DeviceError(fmt::format("the log of this NVRTC does not say how its kernels were compiled:\n{}", log));
  std::ranges::sort(all, {}, &KernelFacts::entry);
  return all;
}

std::string write_facts(std::span<const KernelFacts> facts) {
  std::string text;
  for (const KernelFacts& f : facts) {
    text += fmt::format("{} {} {} {} {} {} {}\n", f.entry, f.registers, f.shared_bytes, f.stack_bytes,
                        f.spill_store_bytes, f.spill_load_bytes, f.constant_bytes);
  }
  return text;
}

std::vector<KernelFacts> read_facts(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::vector<KernelFacts> all;
  for (KernelFacts f; words >> f.entry;) {
    if (!(words >> f.registers >> f.shared_bytes >> f.stack_bytes >> f.spill_store_bytes >> f.spill_load_bytes >>
          f.constant_bytes))
      throw InternalError("facts of a kernel in the cache are damaged");
    all.push_back(f);
  }
  return all;
}

}  // namespace croton::runtime::cuda

namespace croton {

std::string to_string(const KernelFacts& facts) {
  const auto spills =
      facts.spill_store_bytes + facts.spill_load_bytes == 0
          ? "no spills"
          : fmt::format("spills {} bytes and reads {} back", facts.spill_store_bytes, facts.spill_load_bytes);
  return fmt::format(
      "{}: {} registers, {} bytes of static shared memory, a stack of {} bytes, {}, {} bytes of constants", facts.entry,
      facts.registers, facts.shared_bytes, facts.stack_bytes, spills, facts.constant_bytes);
}

}  // namespace croton
