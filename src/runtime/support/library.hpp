// A shared library that is loaded when it is first needed, so that one binary of Croton runs on machines with and
// without it. It keeps all attempts and the reasons of failures: the message for a missing library has the places
// searched and the package that has it.
//
// Names are fixed sonames and folders are absolute, so that neither the current folder nor a relative entry of a search
// path can bring in other code; a file that any user of the machine could have written is refused. A loaded library
// stays loaded for the life of the process, because its threads and callbacks outlive any owner.
#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

namespace croton::runtime {

class SharedLibrary {
 public:
  /// The places to search: first the folders, in order, each for all names; then those of the system's loader.
  struct Search {
    std::string title;                           ///< its name in messages: "NVRTC (the run-time compiler of CUDA)"
    std::vector<std::string> names;              ///< file names, the preferred first: "libnvrtc.so.13"
    std::vector<std::filesystem::path> folders;  ///< absolute
    bool system = true;                          ///< whether the system's loader is asked at the end
    std::string package;                         ///< that has it: "pip install nvidia-cuda-nvrtc"
  };

  struct Attempt {
    std::string candidate;  ///< path or name
    std::string outcome;    ///< "loaded", or the reason of the failure
  };

  /// Loads nothing yet.
  explicit SharedLibrary(Search search);

  /// True if the library is loaded; the first call searches, later ones repeat its result. Thread-safe, as all below.
  bool load();

  /// Like load, but throws DeviceError with explain() if there is no such library.
  void require();

  /// The loaded file, with links resolved; empty if there is none.
  std::filesystem::path path();

  /// Loads another file of the loaded library's folder, which that library will ask the loader for by this name: it may
  /// be in no folder that the loader searches, as in Python's packages. False if it is not there, or refused.
  bool load_companion(const std::string& name);

  /// The build id of the loaded file as hexadecimal text, or else sizes that tell builds apart: two builds may have the
  /// same version.
  std::string build();

  /// Every place that was tried, in order.
  std::vector<Attempt> tried();

  /// Several lines: the missing library, the places searched and the package; or "loaded from ...".
  std::string explain();

  /// An entry point: `library.function<int(int*, int*)>("nvrtcVersion")`. Throws DeviceError if the library lacks it:
  /// it is too old.
  template <class Function>
  Function* function(const char* name) {
    return reinterpret_cast<Function*>(address(name));
  }

  /// An entry point that older versions lack: null if it is missing.
  template <class Function>
  Function* optional_function(const char* name) {
    return reinterpret_cast<Function*>(address_or_null(name));
  }

 private:
  void search_all();
  bool try_folder(const std::filesystem::path& folder);
  bool try_open(const std::string& candidate);
  void* address(const char* name);
  void* address_or_null(const char* name);

  Search search_;
  std::once_flag once_;
  void* handle_ = nullptr;
  std::vector<Attempt> tried_;
};

}  // namespace croton::runtime
