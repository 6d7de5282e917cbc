// Flags as the compiler and the runtime read them: one plain struct of typed values. Reading it on every call costs a
// few nanoseconds (one thread-local and one atomic load). The table is flags.def; who may set a flag is in
// <croton/config.hpp>.
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
enum class OptimizerMode { fast_run, fast_compile, none };
enum class SpecialValues { theano, ieee };
enum class UnusedInput { raise, warn, ignore };
enum class DeviceThreads { automatic, on, off };

inline constexpr std::size_t flag_count = 0
#define CROTON_FLAG(...) +1
#include "base/flags.def"
#undef CROTON_FLAG
    ;

/// The values of all flags. Immutable and never freed, and equal values are one object: a Flags may be kept by
/// reference, and its address tells whether anything differs.
struct Flags {
#define CROTON_FLAG(kind, type, name, ...) type name{};
#include "base/flags.def"
#undef CROTON_FLAG
  /// floatX, under a name in the style of this code.
  DType float_x() const { return floatX; }

  /// The same values as text, in the order of flags.def.
  std::array<std::string, flag_count> texts;
};

namespace detail {

struct ConfigView {
  const Flags* flags = nullptr;
  std::uint64_t generation = 0;
};

/// A setting of a scope of a thread.
struct Change {
  std::uint64_t scope;
  std::size_t flag;
  std::string value;
};

/// What this thread saw last; valid while its generation is that of the process. Trivial, so that no guard is tested.
extern constinit thread_local ConfigView config_view;
/// Goes up with every set_flag; never 0.
extern constinit std::atomic<std::uint64_t> config_generation;
const Flags& refresh_config_view();

}  // namespace detail

/// The flags that the calling thread sees now. ConfigError if the file or CROTON_FLAGS hold something that is not
/// understood.
inline const Flags& config() {
  const detail::ConfigView view = detail::config_view;
  if (view.generation == detail::config_generation.load(std::memory_order_acquire)) [[likely]]
    return *view.flags;
  return detail::refresh_config_view();
}

/// The value that a scope of this thread (change_flags) has given the flag `device`; empty: none has. A scope says
/// something by being there, also where it says what the process says.
const std::string& scoped_device();

/// The scopes that a thread is in (change_flags), for another that works for it.
class ThreadScopes {
 public:
  /// Those of this thread, now.
  ThreadScopes();

 private:
  friend class InScopes;
  std::vector<detail::Change> changes_;  // outermost first
};

/// While it lives, this thread, which is in no scopes of its own, sees the flags as in those.
class InScopes {
 public:
  explicit InScopes(const ThreadScopes& scopes);
  ~InScopes();
  InScopes(const InScopes&) = delete;
  InScopes& operator=(const InScopes&) = delete;
};

/// Goes up whenever a flag of the process is set.
inline std::uint64_t config_generation() { return detail::config_generation.load(std::memory_order_acquire); }

/// The flags of the process, without the scopes of this thread: what worker threads see.
const Flags& process_config();

/// True if the value of a flag of kind list ("graph+plan") holds the word, or the word all.
bool has_word(std::string_view list, std::string_view word);

/// docs/use/flags.md: what `croton flags --markdown` writes.
std::string flags_markdown();

/// Forgets what code has set and reads file and environment again. For tests; no other thread may use flags meanwhile.
void reload_config();

}  // namespace croton::base
