// A library of CUDA as the flags of one moment find it: the file that a flag names, or else the first one that the
// search finds. LibraryBySettings keeps one for each setting that was in force.
#pragma once

#include <croton/error.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/libraries/toolkit.hpp"
#include "runtime/support/library.hpp"

namespace croton::runtime::cuda {

/// How messages call a library, and by what names its file is there.
struct LibraryDescription {
  ToolkitPart part;
  std::string name;                ///< "NVRTC"
  std::string purpose;             ///< "the run-time compiler of CUDA"
  std::vector<std::string> files;  ///< file names, the preferred first
  std::string package;             ///< what to install

  std::string title() const { return name + " (" + purpose + ")"; }
};

class FoundLibrary {
 public:
  /// Looks for nothing yet.
  FoundLibrary(const LibraryDescription& description, const ToolkitSettings& settings);

  const std::shared_ptr<SharedLibrary>& file() const { return file_; }

  /// Where the file was found; it must have been loaded.
  Place place() const;

 private:
  std::vector<SearchFolder> folders_;
  std::shared_ptr<SharedLibrary> file_;
};

/// The error that a flag names a file which cannot be used: ConfigError with the flag and `why`.
[[noreturn]] void throw_unusable(ToolkitPart part, const std::string& file, const std::string& why);

/// The entry points of a library of CUDA, loaded when they are first asked for under each setting. Never destroyed:
/// work may run while the process ends. `Entries` is made of a std::shared_ptr<SharedLibrary>; LibraryBySettings must
/// be able to call that constructor.
template <class Entries>
class LibraryBySettings {
 public:
  explicit LibraryBySettings(LibraryDescription description) : description_(std::move(description)) {}

  /// DeviceError where the library is hidden, missing or too old. ConfigError where a flag names a file that is
  /// missing, refused or too old: what the user named is never replaced by something else.
  const Entries& get() {
    const std::lock_guard lock(mutex_);
    return *load().entries;
  }

  /// Where the library of get() was found; raises what get() does.
  Place place() {
    const std::lock_guard lock(mutex_);
    return load().library->place();
  }

  /// Every place tried under the present settings; empty where the library is hidden.
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
