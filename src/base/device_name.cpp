#include "base/device_name.hpp"

#include <croton/error.hpp>

#include "base/characters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <mutex>
#include <optional>
#include <vector>

#include "base/fork_safe_mutex.hpp"

namespace croton::base {
namespace {

constexpr std::size_t max_kinds = 255;

/// The words of kinds, by their number; none is ever removed.
struct Kinds {
  ForkSafeMutex& mutex = *new ForkSafeMutex;
  std::vector<std::string> words{"cpu", "cuda"};

  static Kinds& instance() {
    static auto& kinds = *new Kinds;  // never destroyed: arrays of static objects have devices
    return kinds;
  }
  std::string word(DeviceName::Kind kind) {
    const std::lock_guard lock(mutex);
    return words.at(static_cast<std::size_t>(kind));
  }
  std::optional<DeviceName::Kind> find(std::string_view word) {
    const std::lock_guard lock(mutex);
    const auto at = std::ranges::find(words, word);
    if (at == words.end()) return std::nullopt;
    return static_cast<DeviceName::Kind>(at - words.begin());
  }
};

}  // namespace

DeviceName::Kind add_device_kind(std::string_view word) {
  Kinds& kinds = Kinds::instance();
  if (const auto known = kinds.find(word)) return *known;
  const std::lock_guard lock(kinds.mutex);
  if (kinds.words.size() == max_kinds) throw InternalError("there are too many kinds of devices");
  kinds.words.emplace_back(word);
  return static_cast<DeviceName::Kind>(kinds.words.size() - 1);
}

std::string DeviceName::to_string() const {
  if (kind == Kind::cpu) return index == 0 ? "cpu" : fmt::format("cpu{}", index);
  return fmt::format("{}{}", Kinds::instance().word(kind), index);
}

DeviceName parse_device(std::string_view text) {
  const auto refuse = [&] {
    return ValueError(fmt::format(
        "'{}' is not the name of a device; write cpu, cuda0, cuda1, ... (gpu, gpu,0, /gpu:0 and /cpu:0 are understood)",
        text));
  };
  std::string_view rest = text;
  if (rest.starts_with('/')) rest.remove_prefix(1);
  std::string word;
  while (!rest.empty() && is_letter(rest.front())) {
    word += lower(rest.front());
    rest.remove_prefix(1);
  }
  DeviceName name;
  const auto kind = Kinds::instance().find(word == "gpu" ? "cuda" : word);
  if (!kind) throw refuse();
  name.kind = *kind;
  if (rest.empty()) return name;
  if (rest.front() == ':' || rest.front() == ',') rest.remove_prefix(1);
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), name.index);
  if (rest.empty() || error != std::errc() || end != rest.data() + rest.size()) throw refuse();
  if (name.index < 0 || name.index >= DeviceName::max_devices) throw refuse();
  return name;
}

}  // namespace croton::base
