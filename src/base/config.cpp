// The values of flags that each thread sees: settings of the process, changes by scopes of a thread, and the
// resulting Flags.
#include <croton/config.hpp>
#include <croton/error.hpp>

#include "base/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/config_file.hpp"
#include "base/environment.hpp"
#include "base/flag_table.hpp"
#include "base/fork_safe_mutex.hpp"

namespace croton::base {

namespace detail {
constinit thread_local ConfigView config_view;
constinit std::atomic<std::uint64_t> config_generation{1};
}  // namespace detail

namespace {

using Texts = std::array<std::string, flag_count>;

struct Setting {
  std::string value;
  std::string origin;
};
using Settings = std::array<Setting, flag_count>;

using detail::Change;

/// The value of `device` in the innermost scope of this thread that sets it; empty if none does.
std::string& thread_device() {
  thread_local std::string device;
  return device;
}

/// The changes by the scopes of this thread, outermost first.
std::vector<Change>& thread_changes() {
  thread_local std::vector<Change> changes;
  return changes;
}

void find_scoped_device() {
  static const std::size_t index = flag_index("device", "change_flags");
  std::string& device = thread_device();
  device.clear();
  for (const Change& change : thread_changes()) {
    if (change.flag == index) device = change.value;
  }
}

void apply_assignments(Settings& settings, const std::vector<FlagAssignment>& assignments) {
  for (const FlagAssignment& assignment : assignments) {
    const std::size_t index = flag_index(assignment.name, assignment.origin);
    settings[index] = {canonical_value(flag_rows[index], assignment.value, assignment.origin), assignment.origin};
  }
}

Settings settings_from_outside(std::vector<std::string>& warnings) {
  Settings settings;
  for (std::size_t i = 0; i < flag_count; ++i) settings[i] = {std::string(flag_rows[i].default_value), "default"};
  apply_assignments(settings, read_flag_file(flag_file_places(), warnings));
  if (const auto list = environment("CROTON_FLAGS"))
    apply_assignments(settings, parse_flag_list(*list, "CROTON_FLAGS"));
  return settings;
}

/// The mutex of the Registry. It is not a member, because a Registry whose constructor throws is destroyed, and a
/// ForkSafeMutex must not be.
ForkSafeMutex& settings_mutex() {
  static ForkSafeMutex& mutex = *new ForkSafeMutex;
  return mutex;
}

/// The settings of the process, and every Flags that was ever used.
class Registry {
 public:
  Registry() { load(); }

  void load() {
    std::vector<std::string> warnings;
    Settings loaded = settings_from_outside(warnings);
    const bool warn = typed_flags(texts_of(loaded)).warn;
    for (const std::string& warning : warnings) {
      if (warn) std::fputs(fmt::format("croton: warning: {}\n", warning).c_str(), stderr);
    }
    const std::lock_guard lock(settings_mutex());
    settings_ = std::move(loaded);
    detail::config_generation.fetch_add(1, std::memory_order_release);
  }

  void set(std::size_t flag, Setting setting) {
    const std::lock_guard lock(settings_mutex());
    settings_[flag] = std::move(setting);
    detail::config_generation.fetch_add(1, std::memory_order_release);
  }

  Settings settings() {
    const std::lock_guard lock(settings_mutex());
    return settings_;
  }

  /// The flags with these changes, and the generation that they belong to.
  detail::ConfigView view(const std::vector<Change>& changes) {
    const std::lock_guard lock(settings_mutex());
    Texts texts = texts_of(settings_);
    for (const Change& change : changes) texts[change.flag] = change.value;
    return {&interned(std::move(texts)), detail::config_generation.load(std::memory_order_relaxed)};
  }

 private:
  static Texts texts_of(const Settings& settings) {
    Texts texts;
    std::transform(settings.begin(), settings.end(), texts.begin(), [](const Setting& s) { return s.value; });
    return texts;
  }

  const Flags& interned(Texts texts) {
    std::string key;
    for (const std::string& text : texts) key.append(text).push_back('\0');  // no value contains a NUL
    std::unique_ptr<const Flags>& flags = seen_[key];
    if (!flags) flags = std::make_unique<const Flags>(typed_flags(std::move(texts)));
    return *flags;
  }

  Settings settings_;
  std::unordered_map<std::string, std::unique_ptr<const Flags>> seen_;
};

/// Constructed at first use; if that raises a ConfigError, each later use raises it too. Never destroyed: destructors
/// of static objects may still read flags.
Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

}  // namespace

namespace detail {

const Flags& refresh_config_view() {
  config_view = registry().view(thread_changes());
  return *config_view.flags;
}

}  // namespace detail

const Flags& process_config() { return *registry().view({}).flags; }

bool has_word(std::string_view list, std::string_view word) {
  if (list.empty()) return false;
  const auto words = split_words(list, "+");
  return std::any_of(words.begin(), words.end(), [word](std::string_view w) { return w == "all" || w == word; });
}

std::string flags_markdown() {
  std::string page =
      "# Flags\n\n"
      "A flag has its default unless it is set by a file, by the environment variable `CROTON_FLAGS`\n"
      "(`CROTON_FLAGS=device=cuda0,floatX=float64`; a value with commas is in quotes), by code (`set_flag`) or, for "
      "one thread and\n"
      "scope, by `change_flags`; each of these overrides the ones before it. The file is "
      "`$XDG_CONFIG_HOME/croton/crotonrc`\n"
      "(`~/.config/croton/crotonrc` if the variable is unset), or else `~/.crotonrc`. It has lines `name = value` and "
      "comments\n"
      "after `#`. It is ignored, with a warning, unless it belongs to the user (or root), is not writable by everybody "
      "and has at\n"
      "most 64 KiB; the current folder is never searched. Programs that run with more rights than their caller "
      "(set-user-id) ignore\n"
      "file and environment.\n\n"
      "*Read at* is the time at which a flag takes effect: when a graph is built, when `function` compiles, or at each "
      "call.\n\n"
      "| Flag | Type | Default | Accepted | Read at | Meaning |\n"
      "|---|---|---|---|---|---|\n";
  for (const FlagRow& row : flag_rows) {
    const std::string shown_default = row.default_value.empty() ? "" : fmt::format("`{}`", row.default_value);
    page += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", row.name, type_text(row.kind), shown_default,
                        accepted_text(row), read_at_text(row.read_at), row.doc);
  }
  return page;
}

const std::string& scoped_device() { return thread_device(); }

namespace {
void set_scopes(std::vector<Change> changes) {
  thread_changes() = std::move(changes);
  find_scoped_device();
  detail::config_view.generation = 0;  // no generation is 0, so the next config() refreshes the view
}
}  // namespace

ThreadScopes::ThreadScopes() : changes_(thread_changes()) {}

ScopesApplied::ScopesApplied(const ThreadScopes& scopes) { set_scopes(scopes.changes_); }
ScopesApplied::~ScopesApplied() { set_scopes({}); }

void reload_config() { registry().load(); }

}  // namespace croton::base

namespace croton {

using base::flag_rows;
using base::detail::Change;

std::string flag(std::string_view name) { return base::config().texts[base::flag_index(name, "flag")]; }

void set_flag(std::string_view name, std::string_view value) {
  const std::size_t index = base::flag_index(name, "set_flag");
  base::registry().set(index, {base::canonical_value(flag_rows[index], value, "set_flag"), "set_flag"});
}

change_flags::change_flags(std::string_view settings) {
  static std::atomic<std::uint64_t> last_scope{0};
  scope_ = ++last_scope;
  std::vector<Change> changes = base::thread_changes();
  for (const base::FlagAssignment& assignment : base::parse_flag_list(settings, "change_flags")) {
    const std::size_t index = base::flag_index(assignment.name, assignment.origin);
    changes.push_back({scope_, index, base::canonical_value(flag_rows[index], assignment.value, assignment.origin)});
  }
  base::detail::config_view = base::registry().view(changes);  // the last step that may raise
  base::thread_changes().swap(changes);
  base::find_scoped_device();
}

change_flags::~change_flags() {
  std::erase_if(base::thread_changes(), [this](const Change& change) { return change.scope == scope_; });
  base::find_scoped_device();
  base::detail::config_view.generation = 0;  // no generation is 0, so the next config() refreshes the view
}

std::vector<FlagInfo> flags() {
  const base::Flags& values = base::config();
  const base::Settings settings = base::registry().settings();
  std::vector<FlagInfo> infos;
  for (std::size_t i = 0; i < base::flag_count; ++i) {
    const base::FlagRow& row = flag_rows[i];
    const auto& changes = base::thread_changes();
    const bool scoped =
        std::any_of(changes.begin(), changes.end(), [i](const Change& change) { return change.flag == i; });
    infos.push_back({std::string(row.name), std::string(base::type_text(row.kind)), values.texts[i],
                     scoped ? "change_flags" : settings[i].origin, std::string(row.doc), std::string(row.default_value),
                     std::string(base::read_at_text(row.read_at)), base::accepted_text(row)});
  }
  return infos;
}

}  // namespace croton
