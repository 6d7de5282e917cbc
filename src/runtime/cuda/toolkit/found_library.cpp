#include "runtime/cuda/toolkit/found_library.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace croton::runtime::cuda {
namespace fs = std::filesystem;
namespace {

std::vector<SearchFolder> folders_of(const LibraryDescription& description, const ToolkitSettings& settings) {
  const fs::path named = settings.file(description.part);
  if (!named.empty()) return {{named.parent_path(), Place::named}};
  return search_folders(description.part, settings);
}

SharedLibrary::Search search_for(const LibraryDescription& description, const ToolkitSettings& settings,
                                 const std::vector<SearchFolder>& folders) {
  const fs::path named = settings.file(description.part);
  SharedLibrary::Search search{.title = description.title(),
                               .names = description.files,
                               .folders = {},
                               .system = named.empty() && search_system(settings),
                               .package = description.package};
  if (!named.empty()) search.names = {named.filename().string()};
  for (const SearchFolder& folder : folders) search.folders.push_back(folder.path);
  return search;
}

}  // namespace

FoundLibrary::FoundLibrary(const LibraryDescription& description, const ToolkitSettings& settings)
    : folders_(folders_of(description, settings)),
      file_(std::make_shared<SharedLibrary>(search_for(description, settings, folders_))) {}

Place FoundLibrary::place() const {
  // The last attempt has loaded the library; from the system's loader it is a name without a folder.
  const fs::path loaded = file_->tried().back().candidate;
  const auto folder = std::ranges::find(folders_, loaded.parent_path(), &SearchFolder::path);
  return folder == folders_.end() ? Place::system : folder->place;
}

void throw_unusable(ToolkitPart part, const std::string& file, const std::string& why) {
  throw ConfigError(fmt::format("{}={}: {}", flag_of(part), file, why));
}

}  // namespace croton::runtime::cuda
