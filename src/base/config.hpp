// Flags as the compiler and the runtime read them: one plain struct of typed values. Reading it on every call costs a
// few nanoseconds (one thread-local and one atomic load). The table is flags.def; <croton/config.hpp> lists the ways to
// set a flag.
#pragma once

#include <croton/type.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace croton::base {

enum class MathMode { accurate, fast };
enum class RunMode { run, reference, simulate, verify };
enum class OptimizerMode { fast_run, fast_compile, none };  // in the order of fewer rewrites
enum class SpecialValues { theano, ieee };
enum class UnusedInput { raise, warn, ignore };
enum class DeviceThreads { automatic, on, off };
enum class SimulatedArchitecture : std::uint8_t { sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120 };
inline constexpr std::size_t simulated_architectures = 7;

inline constexpr std::size_t flag_count = 0
#define CROTON_FLAG(...) +1
#include "base/flags.def"
#undef CROTON_FLAG
    ;

/// The values of all flags. Objects are immutable and never freed, and equal values are one object: code may keep a
/// reference to a Flags, and two addresses are equal if and only if all values are.
struct Flags {
#define CROTON_FLAG(kind, type, name, ...) type name{};
#include "base/flags.def"
#undef CROTON_FLAG
  /// floatX, by a name in the style of this code.
  DType float_x() const { return floatX; }

  /// The same values as text, in the order of flags.def.
  std::array<std::string, flag_count> texts;
};

namespace detail {

struct ConfigView {
  const Flags* flags = nullptr;
  std::uint64_t generation = 0;
};

/// A value that a scope of a thread sets.
struct Change {
  std::uint64_t scope;
  std::size_t flag;
  std::string value;
};

/// The flags that this thread read last; valid while the generation is that of the process. The type is trivial, so
/// that access needs no initialization guard.
extern constinit thread_local ConfigView config_view;
/// Increases with every set_flag; never 0.
extern constinit std::atomic<std::uint64_t> config_generation;
const Flags& refresh_config_view();

}  // namespace detail

/// The flags that the calling thread sees now. ConfigError if the file or CROTON_FLAGS cannot be parsed or has an
/// unknown flag or value.
inline const Flags& config() {
  const detail::ConfigView view = detail::config_view;
  if (view.generation == detail::config_generation.load(std::memory_order_acquire)) [[likely]]
    return *view.flags;
  return detail::refresh_config_view();
}

/// The value of the flag `device` that a scope of this thread (change_flags) has set; empty if none has. A scope counts
/// even if its value equals that of the process.
const std::string& scoped_device();

/// The scopes (change_flags) of a thread, for another thread that works for it.
class ThreadScopes {
 public:
  /// The current scopes of this thread.
  ThreadScopes();

 private:
  friend class ScopesApplied;
  std::vector<detail::Change> changes_;  // outermost first
};

/// While it lives, this thread, which must have no scopes itself, sees the flags as in `scopes`.
class ScopesApplied {
 public:
  explicit ScopesApplied(const ThreadScopes& scopes);
  ~ScopesApplied();
  ScopesApplied(const ScopesApplied&) = delete;
  ScopesApplied& operator=(const ScopesApplied&) = delete;
};

/// Increases whenever a flag of the process is set.
inline std::uint64_t config_generation() { return detail::config_generation.load(std::memory_order_acquire); }

/// The flags of the process, without the scopes of this thread, as worker threads see them.
const Flags& process_config();

/// True if the value of a flag of kind list ("graph+plan") holds the word, or the word all.
bool has_word(std::string_view list, std::string_view word);

/// The text of docs/use/flags.md, which `croton flags --markdown` writes.
std::string flags_markdown();

/// Discards values that code has set and reads file and environment again. For tests; no other thread may use
/// flags meanwhile.
void reload_config();

}  // namespace croton::base
