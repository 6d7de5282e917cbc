#include "runtime/support/library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <croton/error.hpp>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/hash.hpp"

namespace croton::runtime {
namespace fs = std::filesystem;
namespace {

std::string loader_error() {
  const char* text = ::dlerror();
  return text == nullptr ? "unknown reason" : text;
}

const link_map* map_of(void* handle) {
  link_map* map = nullptr;
  return ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map : nullptr;
}

// ---- the build id: a note of the linker, which is mapped into memory with the library ----

std::optional<std::string> build_id_in(std::span<const unsigned char> notes) {
  constexpr std::string_view owner("GNU", 4);
  const auto padded = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof note);
    const std::size_t name_at = sizeof note, text_at = name_at + padded(note.n_namesz);
    const std::size_t end = text_at + padded(note.n_descsz);
    if (end > notes.size()) return std::nullopt;
    const std::string_view name(reinterpret_cast<const char*>(notes.data() + name_at), note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && name == owner) {
      std::string id;
      for (unsigned char byte : notes.subspan(text_at, note.n_descsz)) id += fmt::format("{:02x}", byte);
      return id;
    }
    notes = notes.subspan(end);
  }
  return std::nullopt;
}

struct BuildQuery {
  std::string_view file;
  std::string answer;
};

int answer_build(dl_phdr_info* info, std::size_t, void* data) {
  auto& query = *static_cast<BuildQuery*>(data);
  if (info->dlpi_name == nullptr || query.file != info->dlpi_name) return 0;
  std::uint64_t layout = 0;
  for (const ElfW(Phdr) & header : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    layout = base::hash_combine(layout, header.p_vaddr);
    layout = base::hash_combine(layout, header.p_memsz);
    if (header.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const unsigned char*>(info->dlpi_addr + header.p_vaddr);
    if (const auto id = build_id_in({notes, header.p_memsz})) {
      query.answer = *id;
      return 1;
    }
  }
  query.answer = fmt::format("layout-{:016x}", layout);
  return 1;
}

}  // namespace

SharedLibrary::SharedLibrary(Search search) : search_(std::move(search)) {}

bool SharedLibrary::load() {
  std::call_once(once_, [this] { search_all(); });
  return handle_ != nullptr;
}

void SharedLibrary::search_all() {
  for (const fs::path& folder : search_.folders) {
    if (try_folder(folder)) return;
  }
  if (!search_.system) return;
  for (const std::string& name : search_.names) {
    if (try_open(name)) return;
  }
}

bool SharedLibrary::try_folder(const fs::path& folder) {
  if (!folder.is_absolute()) {
    tried_.push_back({folder.string(), "refused: not an absolute path"});
    return false;
  }
  for (const std::string& name : search_.names) {
    const fs::path file = folder / name;
    std::error_code error;
    if (!fs::exists(file, error)) {
      tried_.push_back({file.string(), error ? error.message() : "no such file"});
      continue;
    }
    if (const std::string reason = base::why_untrusted(file); !reason.empty()) {
      tried_.push_back({file.string(), "refused: " + reason});
      continue;
    }
    if (try_open(file.string())) return true;
  }
  return false;
}

bool SharedLibrary::try_open(const std::string& candidate) {
  handle_ = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
  tried_.push_back({candidate, handle_ != nullptr ? "loaded" : loader_error()});
  return handle_ != nullptr;
}

void SharedLibrary::require() {
  if (!load()) throw DeviceError(explain());
}

fs::path SharedLibrary::path() {
  if (!load()) return {};
  const link_map* map = map_of(handle_);
  if (map == nullptr) return tried_.back().candidate;
  std::error_code error;
  const fs::path real = fs::canonical(map->l_name, error);
  return error ? fs::path(map->l_name) : real;
}

bool SharedLibrary::load_companion(const std::string& name) {
  const fs::path file = path().parent_path() / name;
  std::error_code error;
  // The loader recognises a loaded library by its name (DT_SONAME), wherever its file is.
  return fs::exists(file, error) && base::why_untrusted(file).empty() &&
         ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr;
}

std::string SharedLibrary::build() {
  if (!load()) return {};
  const link_map* map = map_of(handle_);
  if (map == nullptr) return {};
  BuildQuery query{map->l_name, {}};
  ::dl_iterate_phdr(answer_build, &query);
  return query.answer;
}

std::vector<SharedLibrary::Attempt> SharedLibrary::tried() {
  load();
  return tried_;
}

std::string SharedLibrary::explain() {
  if (load()) return fmt::format("{}: loaded from {}", search_.title, path().string());
  std::string text = fmt::format("{} was not found. Tried:\n", search_.title);
  for (const Attempt& attempt : tried_) text += fmt::format("  {}: {}\n", attempt.candidate, attempt.outcome);
  return text + fmt::format("It is part of: {}", search_.package);
}

void* SharedLibrary::address_or_null(const char* name) { return load() ? ::dlsym(handle_, name) : nullptr; }

void* SharedLibrary::address(const char* name) {
  require();
  void* found = address_or_null(name);
  if (found == nullptr) {
    throw DeviceError(fmt::format("{} at {} lacks the function {}: it is too old or too new; install {}", search_.title,
                                  path().string(), name, search_.package));
  }
  return found;
}

}  // namespace croton::runtime
