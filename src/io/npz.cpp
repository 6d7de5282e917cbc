// .npz archives, read and written by libzip in memory: only base/ touches files.
#include <croton/archive.hpp>

#include <fmt/format.h>

#include "base/characters.hpp"
#include "base/index.hpp"
#include "base/npy.hpp"
#include "base/output.hpp"
#include "io/shown.hpp"

#ifdef CROTON_WITH_LIBZIP
#include <zip.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>
#endif

namespace croton::io {

#ifdef CROTON_WITH_LIBZIP

namespace {

constexpr std::string_view suffix = ".npy";

template <auto release>
struct Release {
  template <class T>
  void operator()(T* object) const {
    release(object);
  }
};
using Source = std::unique_ptr<zip_source_t, Release<zip_source_free>>;
using Zip = std::unique_ptr<zip_t, Release<zip_discard>>;
using Member = std::unique_ptr<zip_file_t, Release<zip_fclose>>;

/// libzip's description of an error.
class ZipError {
 public:
  ZipError() { zip_error_init(&error_); }
  ~ZipError() { zip_error_fini(&error_); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;

  zip_error_t* get() { return &error_; }
  std::string text() { return zip_error_strerror(&error_); }

 private:
  zip_error_t error_{};
};

[[noreturn]] void fault(const std::string& text) { throw FileError(text); }

/// An archive in the memory of `source`, which it keeps alive.
Zip open_archive(Source& source, int flags) {
  ZipError error;
  Zip archive(zip_open_from_source(source.get(), flags, error.get()));
  if (!archive) fault(error.text());
  zip_source_keep(source.get());  // a second reference: the archive owns the first one
  return archive;
}

Source source_of(std::span<const std::byte> content) {
  ZipError error;
  Source source(zip_source_buffer_create(content.data(), content.size(), 0, error.get()));
  if (!source) fault(error.text());
  return source;
}

/// The reason why the name of an array is not valid; empty if it is. Names never lead to other folders.
std::string_view why_invalid(std::string_view name) {
  const auto is_control = [](char c) { return base::code_of(c) < ' ' || c == '\x7F'; };
  constexpr std::size_t most = 65'535;  // libzip writes the lowest 16 bits of a length
  if (name.empty()) return "is empty";
  if (name.size() + suffix.size() > most) return "is too long";
  // Names of weights contain slashes; names with ".." would write outside of the folder if the file is unpacked.
  if (name.front() == '/' || name.find('\\') != std::string_view::npos || name.starts_with("../") ||
      name.find("/../") != std::string_view::npos)
    return "is a path that leads elsewhere";
  if (std::any_of(name.begin(), name.end(), is_control)) return "has a control character";
  return "";
}

// ---- reading ----

void read_exactly(zip_file_t* member, std::span<std::byte> into) {
  while (!into.empty()) {
    const zip_int64_t count = zip_fread(member, into.data(), into.size());
    if (count < 0) fault(zip_file_strerror(member));
    if (count == 0) fault("it is shorter than the size that the archive states");
    into = into.subspan(base::to_size(count));
  }
}

Array read_array(zip_t* archive, const zip_stat_t& status) {
  const Member member(zip_fopen_index(archive, status.index, 0));
  if (!member) fault(zip_strerror(archive));
  std::string start(std::min<std::size_t>(status.size, base::most_npy_header_bytes), '\0');
  read_exactly(member.get(), std::as_writable_bytes(std::span(start)));
  std::string_view rest = start;
  const base::NpyHeader header = base::take_npy_header(rest, status.size);
  return base::npy_array(header, [&](std::span<std::byte> elements) {
    std::memcpy(elements.data(), rest.data(), rest.size());
    read_exactly(member.get(), elements.subspan(rest.size()));
    // libzip compares the checksum only at the end.
    char more = 0;
    const zip_int64_t count = zip_fread(member.get(), &more, 1);
    if (count < 0) fault(zip_file_strerror(member.get()));
    if (count > 0) fault("it is longer than the size that the archive states");
  });
}

/// Rejects sizes that the compressed bytes cannot produce, so that a small file cannot allocate much memory.
void check_member(const zip_stat_t& status) {
  constexpr zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((status.valid & needed) != needed) fault("its sizes are not known");
  if ((status.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && status.encryption_method != ZIP_EM_NONE)
    fault("it is encrypted");
  if (status.comp_method == ZIP_CM_STORE) {
    if (status.size != status.comp_size) fault("it is not compressed, but its sizes differ");
  } else if (status.comp_method == ZIP_CM_DEFLATE) {
    constexpr zip_uint64_t max_ratio = 1032;  // deflate's best: 258 bytes in two bits
    if (status.size / max_ratio > status.comp_size)
      fault(fmt::format("{} compressed bytes cannot hold {}", status.comp_size, status.size));
  } else {
    fault(fmt::format("it is compressed by method {}; 0 (stored) and 8 (deflate) are read", status.comp_method));
  }
}

NamedArrays parse(std::span<const std::byte> content) {
  if (content.empty()) fault("it is empty");  // libzip would accept it as an archive without members
  Source source = source_of(content);
  const Zip archive = open_archive(source, ZIP_RDONLY | ZIP_CHECKCONS);
  NamedArrays arrays;
  std::set<std::string> names;
  std::uint64_t compressed = 0;
  const std::size_t count = base::to_size(zip_get_num_entries(archive.get(), 0));
  for (std::size_t i = 0; i < count; ++i) {
    zip_stat_t status{};
    if (zip_stat_index(archive.get(), i, 0, &status) != 0) fault(zip_strerror(archive.get()));
    std::string name = status.name;
    if (!name.ends_with(suffix)) fault(fmt::format("its member {} is no {} file", shown(name), suffix));
    name.resize(name.size() - suffix.size());
    try {
      if (const std::string_view reason = why_invalid(name); !reason.empty()) fault(fmt::format("its name {}", reason));
      if (!names.insert(name).second) fault("its name occurs twice");
      check_member(status);
      // Members that share bytes would let a small file become large.
      compressed += status.comp_size;
      if (status.comp_size > content.size() || compressed > content.size())
        fault("the archive is too short for its members");
      arrays.emplace_back(name, read_array(archive.get(), status));
    } catch (const FileError& error) {
      fault(fmt::format("array {}: {}", shown(name), error.what()));
    }
  }
  return arrays;
}

// ---- writing ----

/// The headers and elements of the members; libzip reads both when the archive is closed.
struct Parts {
  std::vector<std::string> headers;
  std::vector<Array> elements;
};

Parts parts_of(const NamedArrays& arrays) {
  Parts parts;
  std::set<std::string_view> seen;
  for (const auto& [name, array] : arrays) {
    if (const std::string_view reason = why_invalid(name); !reason.empty())
      throw ValueError(fmt::format("the name {} of an array for a .npz archive {}", shown(name), reason));
    if (!seen.insert(name).second)
      throw ValueError(fmt::format("two arrays for a .npz archive are called {}", shown(name)));
    if (array.dtype() == DType::bfloat16)
      throw TypeError(fmt::format("array {}: a .npz archive cannot hold bfloat16", shown(name)));
    parts.headers.push_back(base::npy_header(array));
    parts.elements.push_back(array.to_host().contiguous());
  }
  return parts;
}

void add_member(zip_t* archive, const std::string& name, std::string& header, const Array& elements) {
  // libzip only reads through the pointers, but its struct has no const.
  const zip_buffer_fragment_t fragments[] = {
      {reinterpret_cast<zip_uint8_t*>(header.data()), header.size()},
      {static_cast<zip_uint8_t*>(const_cast<void*>(elements.raw())), elements.bytes()}};
  Source source(zip_source_buffer_fragment(archive, fragments, std::size(fragments), 0));
  if (!source) fault(zip_strerror(archive));
  const zip_int64_t index = zip_file_add(archive, (name + std::string(suffix)).c_str(), source.get(), ZIP_FL_ENC_UTF_8);
  if (index < 0 && zip_error_code_zip(zip_get_error(archive)) == ZIP_ER_INVAL)
    throw ValueError(fmt::format("the name {} of an array for a .npz archive is not UTF-8", shown(name)));
  if (index < 0) fault(zip_strerror(archive));
  zip_source_keep(source.get());  // as in open_archive
  const std::size_t member = base::to_size(index);
  constexpr zip_uint16_t first_of_1980 = 1 << 5 | 1;  // as NumPy does: the same arrays give the same bytes
  if (zip_set_file_compression(archive, member, ZIP_CM_STORE, 0) != 0 ||
      zip_file_set_dostime(archive, member, 0, first_of_1980, 0) != 0)
    fault(zip_strerror(archive));
}

std::vector<std::byte> content_of(zip_source_t* source) {
  const auto check = [source](bool good) {
    if (!good) fault(zip_error_strerror(zip_source_error(source)));
  };
  zip_stat_t status{};
  check(zip_source_stat(source, &status) == 0);
  std::vector<std::byte> content(status.size);
  check(zip_source_open(source) == 0);
  const zip_int64_t count = zip_source_read(source, content.data(), content.size());
  zip_source_close(source);
  check(count == std::ssize(content));
  return content;
}

std::vector<std::byte> archive_of(const NamedArrays& arrays, Parts& parts) {
  if (arrays.empty()) {  // libzip would write nothing: the record that ends every archive
    std::vector<std::byte> end(22);
    std::memcpy(end.data(), "PK\5\6", 4);
    return end;
  }
  Source source = source_of({});
  Zip archive = open_archive(source, ZIP_CREATE | ZIP_TRUNCATE);
  for (std::size_t i = 0; i < arrays.size(); ++i)
    add_member(archive.get(), arrays[i].first, parts.headers[i], parts.elements[i]);
  zip_t* const complete = archive.release();  // zip_close frees it, unless it fails
  if (zip_close(complete) != 0) {
    const Zip failed(complete);
    fault(zip_strerror(failed.get()));
  }
  return content_of(source.get());
}

}  // namespace

NamedArrays load_npz(const std::filesystem::path& file) {
  const auto content = base::read_file(file, std::numeric_limits<std::size_t>::max());
  if (!content) throw FileError(fmt::format("cannot open {}: there is no such file", file.string()));
  try {
    return parse(*content);
  } catch (const FileError& error) {
    throw FileError(fmt::format("{} is not a .npz archive that can be read: {}", file.string(), error.what()));
  }
}

void save_npz(const std::filesystem::path& file, const NamedArrays& arrays) {
  Parts parts = parts_of(arrays);
  std::vector<std::byte> content;
  try {
    content = archive_of(arrays, parts);
  } catch (const FileError& error) {
    throw FileError(fmt::format("cannot write {}: {}", file.string(), error.what()));
  }
  base::write_file(file, content);
}

#else

NamedArrays load_npz(const std::filesystem::path& file) {
  throw FileError(fmt::format("cannot read {}: Croton was built without libzip", file.string()));
}

void save_npz(const std::filesystem::path& file, const NamedArrays&) {
  throw FileError(fmt::format("cannot write {}: Croton was built without libzip", file.string()));
}

#endif

}  // namespace croton::io
