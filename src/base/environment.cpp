#include "base/environment.hpp"

#include <sys/auxv.h>

#include <cstdlib>

namespace croton::base {

bool secure_execution() { return getauxval(AT_SECURE) != 0; }

std::optional<std::string> environment(const char* name) {
  if (secure_execution()) return std::nullopt;
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::vector<std::filesystem::path> environment_folders(const char* name) {
  std::vector<std::filesystem::path> folders;
  std::string rest = environment(name).value_or("");
  while (!rest.empty()) {
    const std::string entry = rest.substr(0, rest.find(':'));
    rest.erase(0, entry.size() + 1);
    if (std::filesystem::path(entry).is_absolute()) folders.emplace_back(entry);
  }
  return folders;
}

}  // namespace croton::base
