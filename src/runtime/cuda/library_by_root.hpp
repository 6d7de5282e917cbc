// The entries of a helper library of CUDA (cuBLASLt, cuDNN), looked for once under each `cuda_root`.
#pragma once

#include <croton/error.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/cuda/toolkit.hpp"
#include "runtime/library.hpp"

namespace croton::runtime::cuda {

/// Makes `Entries` of the library that `search()` describes when it is first asked for. Never destroyed: work may run
/// while the process ends.
template <class Entries>
class LibraryByRoot {
 public:
  LibraryByRoot(std::string name, SharedLibrary::Search (*search)()) : name_(std::move(name)), search_(search) {}

  /// DeviceError where the library is hidden, missing or too old.
  const Entries& get() {
    if (toolkit_hidden())
      throw DeviceError(name_ + " is hidden by cuda_root=none; set cuda_root to a folder, or leave it empty");
    const std::lock_guard lock(mutex_);
    Loaded& loaded = by_root_[cuda_root()];
    if (!loaded.file) loaded.file = std::make_shared<SharedLibrary>(search_());
    loaded.file->require();
    if (!loaded.entries) loaded.entries = std::make_unique<const Entries>(loaded.file);
    return *loaded.entries;
  }

 private:
  struct Loaded {
    std::shared_ptr<SharedLibrary> file;
    std::unique_ptr<const Entries> entries;
  };
  const std::string name_;
  SharedLibrary::Search (*const search_)();
  std::mutex mutex_;
  std::map<std::string, Loaded> by_root_;
};

}  // namespace croton::runtime::cuda
