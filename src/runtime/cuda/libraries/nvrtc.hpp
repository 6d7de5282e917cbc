// NVRTC, the run-time compiler of CUDA: from the text of a kernel to machine code of one GPU architecture. It is loaded
// at its first use and needs neither a GPU nor a driver nor CUDA headers: nvrtc.cpp declares its few entry points.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/cuda/toolkit/toolkit.hpp"
#include "runtime/support/library.hpp"

namespace croton::runtime::cuda {

template <class Entries>
class LibraryBySettings;

class Nvrtc {
 public:
  struct Result {
    std::vector<std::byte> cubin;  ///< machine code; empty for a virtual architecture ("compute_90")
    std::string ptx;               ///< empty unless wanted
    std::string log;               ///< warnings; usually empty
  };

  /// The compiler under the current settings (toolkit.hpp); loads it. References stay valid for the life of the
  /// process. Throws DeviceError, with every place searched, if there is none, and ConfigError if the flag cuda_nvrtc
  /// names a file that cannot be used.
  static const Nvrtc& instance();

  /// Whether instance() would succeed; if not, `why` (may be null) gets the reason. Throws the same ConfigError.
  static bool available(std::string* why = nullptr);

  /// Version, file and kind of place of instance(), which may throw.
  static FoundPart found();

  /// Every place tried under the current settings; empty if the toolkit is hidden.
  static std::vector<SharedLibrary::Attempt> list_tried();

  Nvrtc(const Nvrtc&) = delete;
  Nvrtc& operator=(const Nvrtc&) = delete;
  ~Nvrtc();

  /// (major, minor), such as (13, 0).
  std::pair<int, int> version() const;

  /// Version and build of the compiler, for cache keys: they tell two compilers apart.
  std::string identity() const;

  /// The file of the library.
  std::filesystem::path path() const;

  /// The real architectures for cubins, ascending: "sm_75", ... Variants such as "sm_90a" exist as well.
  std::vector<std::string> architectures() const;

  /// The options of every compilation, in order, without the architecture: part of a cache key.
  std::vector<std::string> options() const;

  /// Compiles one program for `arch` ("sm_90", "sm_90a" or "compute_90"). Several threads may compile at once, and they
  /// run in parallel. Throws DeviceError for an architecture that this compiler does not know, and InternalError, with
  /// the log and the lines that it names, if the text does not compile: all text comes from Croton. `program_name` is
  /// the file in messages and line tables.
  Result compile(std::string_view source, const std::string& arch, std::span<const std::string> extra_options = {},
                 bool want_ptx = true, const std::string& program_name = "kernel.cu") const;

 private:
  struct Functions;

  template <class Entries>
  friend class LibraryBySettings;
  static LibraryBySettings<Nvrtc>& libraries();
  explicit Nvrtc(std::shared_ptr<SharedLibrary> library);
  void check_architecture(const std::string& arch) const;

  std::shared_ptr<SharedLibrary> library_;
  std::unique_ptr<const Functions> functions_;
  std::pair<int, int> version_;
  std::vector<int> architectures_;
};

/// The log of a failed compilation and, for each line of the program that it names (`name(12): error`), that line with
/// its neighbours and numbers. Public for tests.
std::string explain_failure(std::string_view source, std::string_view program_name, std::string_view log);

}  // namespace croton::runtime::cuda
