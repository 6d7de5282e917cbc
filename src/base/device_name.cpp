#include "base/device_name.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace croton::base {
namespace {

constexpr int max_devices = 256;  // of one kind

}  // namespace

std::string DeviceName::to_string() const {
  if (kind == Kind::cpu) return index == 0 ? "cpu" : fmt::format("cpu{}", index);
  return fmt::format("cuda{}", index);
}

std::uint16_t DeviceName::place() const {
  return static_cast<std::uint16_t>(1 + (kind == Kind::cuda ? max_devices : 0) + index);
}

DeviceName DeviceName::of_place(std::uint16_t place) {
  if (place == 0) throw InternalError("a free place is no device");
  const int number = place - 1;
  return number < max_devices ? DeviceName{Kind::cpu, number} : DeviceName{Kind::cuda, number - max_devices};
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
  while (!rest.empty() && std::isalpha(static_cast<unsigned char>(rest.front()))) {
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(rest.front())));
    rest.remove_prefix(1);
  }
  DeviceName name;
  if (word == "cuda" || word == "gpu")
    name.kind = DeviceName::Kind::cuda;
  else if (word != "cpu")
    throw refuse();
  if (rest.empty()) return name;
  if (rest.front() == ':' || rest.front() == ',') rest.remove_prefix(1);
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), name.index);
  if (rest.empty() || error != std::errc() || end != rest.data() + rest.size()) throw refuse();
  if (name.index < 0 || name.index >= max_devices) throw refuse();
  return name;
}

}  // namespace croton::base
