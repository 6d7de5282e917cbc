#include "runtime/cpu/dnn/dnn.hpp"

#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

#include <croton/error.hpp>

#include "runtime/cpu/dnn/dnn_library.hpp"
#include "runtime/cpu/dnn/dnn_prepared.hpp"
#include "runtime/support/library.hpp"

namespace croton::runtime::cpu {
namespace fs = std::filesystem;
namespace {

constexpr const char* title = "oneDNN (convolutions and products on the CPU)";
constexpr const char* packages =
    "install libdnnl2 (Debian 12), libdnnl3 (Ubuntu 24.04) or onednn-cpu-gomp (PyPI), or name a library by the flag "
    "dnn=PATH";

/// The folders where PyPI's packages have it: lib of the environment of our own package, and of an active one.
std::vector<fs::path> python_folders() {
  std::vector<fs::path> folders;
  Dl_info here{};
  if (dladdr(reinterpret_cast<void*>(&python_folders), &here) != 0 && here.dli_fname != nullptr) {
    // lib/python3.11/site-packages/croton/...
    std::error_code error;
    fs::path folder = fs::canonical(here.dli_fname, error).parent_path();
    while (!error && folder.has_relative_path() && folder.filename() != "site-packages") folder = folder.parent_path();
    if (!error && folder.has_relative_path()) folders.push_back(folder.parent_path().parent_path());
  }
  // Ignored in programs that run with more rights than their user.
  if (const char* environment = secure_getenv("VIRTUAL_ENV"); environment != nullptr && environment[0] == '/')
    folders.push_back(fs::path(environment) / "lib");
  return folders;
}

/// Each is a search of its own, since the first file that loads may be a build that cannot be used.
std::vector<SharedLibrary::Search> places(const std::string& choice) {
  if (choice != "auto") {
    const fs::path file = choice;
    return {{title, {file.filename().string()}, {file.parent_path()}, false, packages}};
  }
  std::vector<SharedLibrary::Search> list;
  for (const fs::path& folder : python_folders()) list.push_back({title, {"libdnnl.so.3"}, {folder}, false, packages});
  for (const char* name : {"libdnnl.so.3", "libdnnl.so.2"}) list.push_back({title, {name}, {}, true, packages});
  return list;
}

std::string outcomes(SharedLibrary& file) {
  std::string text;
  for (const SharedLibrary::Attempt& attempt : file.tried()) {
    // The loader's own messages begin with the name.
    const bool named = attempt.outcome.starts_with(attempt.candidate);
    text += (text.empty() ? "" : "; ") + (named ? attempt.outcome : attempt.candidate + ": " + attempt.outcome);
  }
  return text;
}

struct Choice {
  std::mutex mutex;
  std::string library = "auto";
  std::atomic<const Dnn*> loaded{nullptr};
  std::vector<std::unique_ptr<const Dnn>> all;  // earlier ones too: another thread may use them
};

Choice& choice() {
  static Choice* kept = new Choice;  // convolutions may run while static objects are destroyed
  return *kept;
}

}  // namespace

/// Makes a Dnn from the first library that can be used.
struct DnnLoader {
  static std::unique_ptr<const Dnn> load(const std::string& wanted) {
    auto dnn = std::make_unique<Dnn>();
    if (wanted == "none") {
      dnn->missing_ = "dnn=none was set";
      return dnn;
    }
    std::string missing;
    for (SharedLibrary::Search& place : places(wanted)) {
      SharedLibrary file(std::move(place));
      std::string fault;
      if (file.load())
        dnn->library_ = dnn::Library::of(file, fault);
      else
        fault = outcomes(file);
      if (dnn->library_) {
        dnn->name_ = dnn->library_->name();
        return dnn;
      }
      missing += (missing.empty() ? "" : "; ") + fault;
    }
    if (wanted != "auto") throw DeviceError("dnn=" + wanted + ": " + missing + "; " + packages);
    dnn->missing_ = "no oneDNN: " + missing + "; " + packages;
    return dnn;
  }
};

void Dnn::configure(const std::string& library) {
  if (library.empty())
    throw ConfigError("dnn: the value is empty; \"auto\", \"none\" or the path of a library is accepted");
  std::lock_guard lock(choice().mutex);
  if (library == choice().library) return;
  choice().library = library;
  choice().loaded.store(nullptr, std::memory_order_release);
}

const Dnn& Dnn::instance() {
  Choice& current = choice();
  if (const Dnn* loaded = current.loaded.load(std::memory_order_acquire)) return *loaded;
  std::lock_guard lock(current.mutex);
  if (const Dnn* loaded = current.loaded.load(std::memory_order_acquire)) return *loaded;
  current.all.push_back(DnnLoader::load(current.library));
  current.loaded.store(current.all.back().get(), std::memory_order_release);
  return *current.all.back();
}

bool Dnn::available(std::string* why) {
  const Dnn& dnn = instance();
  if (why != nullptr) *why = dnn.missing_;
  return dnn.library_ != nullptr;
}

std::shared_ptr<const DnnConvolution> Dnn::prepare(const Convolution& convolution, std::string* why) const {
  std::string reason;
  const auto problem = dnn::recognise(convolution, &reason);
  std::unique_ptr<const dnn::PreparedConvolution> prepared;
  if (problem && !library_) reason = missing_;
  if (problem && library_) prepared = dnn::PreparedConvolution::of(library_, *problem, reason);
  if (why != nullptr) *why = reason;
  return prepared ? std::make_shared<const DnnConvolution>(std::move(prepared)) : nullptr;
}

bool Dnn::gemm(const MatrixProduct& product) const noexcept { return library_ && library_->multiply(product); }

DnnConvolution::DnnConvolution(std::unique_ptr<const dnn::PreparedConvolution> prepared)
    : prepared_(std::move(prepared)) {}
DnnConvolution::~DnnConvolution() = default;
void DnnConvolution::run(const ConvolutionArrays& arrays) const { prepared_->run(arrays); }
const std::string& DnnConvolution::routine() const { return prepared_->routine(); }
std::size_t DnnConvolution::pieces() const { return prepared_->pieces(); }

}  // namespace croton::runtime::cpu
