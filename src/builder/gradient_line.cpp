#include "builder/gradient_line.hpp"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/fork_safe_mutex.hpp"

namespace croton::builder {
namespace {

/// The marked files by op and text, and the ops by the address of the marked text. Never freed, because lines live as
/// long as the process.
struct Marks {
  base::ForkSafeMutex& mutex = *new base::ForkSafeMutex;
  std::map<std::pair<std::string, std::string>, const std::string*> files;
  std::map<const char*, std::string_view> ops;
};
Marks& marks() {
  static auto* all = new Marks;
  return *all;
}

}  // namespace

Where in_gradient_of(std::string_view op, Where where) {
  if (!where.known()) return where;
  const std::lock_guard lock(marks().mutex);
  const auto [at, fresh] = marks().files.try_emplace({std::string(op), where.file()}, nullptr);
  if (fresh) {
    at->second = new std::string(where.file());
    marks().ops[at->second->c_str()] = at->first.first;
  }
  return {at->second->c_str(), where.line()};
}

std::string_view gradient_of(Where where) {
  const std::lock_guard lock(marks().mutex);
  const auto at = marks().ops.find(where.file());
  return at == marks().ops.end() ? std::string_view() : at->second;
}

}  // namespace croton::builder
