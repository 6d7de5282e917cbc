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

}  // namespace croton::base
