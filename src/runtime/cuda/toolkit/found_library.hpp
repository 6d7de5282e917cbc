// A library of CUDA under certain flags: the file that a flag names, or else the first one that the search finds.
// LibraryBySettings keeps one for each value of the flags so far.
#pragma once

#include <croton/error.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/toolkit/toolkit.hpp"
#include "runtime/support/library.hpp"

namespace croton::runtime::cuda {

/// The name of a library in messages, and the names of its file.
struct LibraryDescription {
  ToolkitPart part;
  std::string name;                ///< "NVRTC"
  std::string purpose;             ///< "the run-time compiler of CUDA"
  std::vector<std::string> files;  ///< file names, the preferred first
  std::string package;             ///< to be installed

  std::string title() const { return name + " (" + purpose + ")"; }
};

class FoundLibrary {
 public:
  /// Does not search yet.
  FoundLibrary(const LibraryDescription& description, const ToolkitSettings& settings);

  const std::shared_ptr<SharedLibrary>& file() const { return file_; }

  /// The kind of place of the file, which must have been loaded.
  Place place() const;

 private:
  std::vector<SearchFolder> folders_;
  std::shared_ptr<SharedLibrary> file_;
};

/// Throws the error that a flag names an unusable file: ConfigError with the flag and `why`.
[[noreturn]] void throw_unusable(ToolkitPart part, const std::string& file, const std::string& why);

/// The entry points of a library of CUDA, loaded at their first use under each setting. Never destroyed: work may run
/// while the process ends. `Entries` is constructed from a std::shared_ptr<SharedLibrary>; LibraryBySettings must be
/// able to call that constructor.
template <class Entries>
class LibraryBySettings {
 public:
  explicit LibraryBySettings(LibraryDescription description) : description_(std::move(description)) {}

  /// DeviceError if the library is hidden, missing or too old. ConfigError if a flag names a file that is missing,
  /// refused or too old: another file never replaces the one that the user named.
  const Entries& get() {
    const std::lock_guard lock(mutex_);
    return *load().entries;
  }

  /// The kind of place of the library of get(); raises the same errors.
  Place place() {
    const std::lock_guard lock(mutex_);
    return load().library->place();
  }

  /// Every place tried under the current settings; empty if the library is hidden.
  std::vector<SharedLibrary::Attempt> list_tried() {
    if (toolkit_hidden()) return {};
    const std::lock_guard lock(mutex_);
    return loaded_for(toolkit()).library->file()->tried();
  }

 private:
  struct Loaded {
    std::optional<FoundLibrary> library;
    std::unique_ptr<const Entries> entries;
  };

  Loaded& loaded_for(const ToolkitSettings& settings) {
    Loaded& loaded = by_settings_[{settings.root, settings.file(description_.part)}];
    if (!loaded.library) loaded.library.emplace(description_, settings);
    return loaded;
  }

  Loaded& load() {
    const ToolkitSettings settings = toolkit();
    if (settings.root == "none")
      throw DeviceError(description_.title() +
                        " is hidden by cuda_root=none; set cuda_root to a folder, or leave it empty");
    Loaded& loaded = loaded_for(settings);
    if (loaded.entries) return loaded;
    try {
      loaded.library->file()->require();
      loaded.entries.reset(new Entries(loaded.library->file()));
    } catch (const DeviceError& error) {
      const std::string& named = settings.file(description_.part);
      if (named.empty()) throw;
      throw_unusable(description_.part, named, error.what());
    }
    return loaded;
  }

  const LibraryDescription description_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Loaded> by_settings_;
};

}  // namespace croton::runtime::cuda
