// A file has the length of the header (8 bytes, little-endian), the header in JSON, and the elements of all arrays
// without gaps. The header is read as a stream of events, so that nothing is built from parts that the format does
// not have.
#include <croton/archive.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "base/output.hpp"
#include "base/shape.hpp"
#include "io/shown.hpp"

namespace croton::io {
namespace {

using Json = nlohmann::json;
using Metadata = std::map<std::string, std::string>;

static_assert(std::endian::native == std::endian::little, "elements are written as they are in memory");

constexpr std::size_t most_header_bytes = 100'000'000;
constexpr std::size_t most_axes = 64;
constexpr std::string_view metadata_key = "__metadata__";

constexpr std::pair<std::string_view, DType> dtype_names[] = {
    {"BOOL", DType::bool_},  {"U8", DType::uint8},     {"I8", DType::int8},       {"U16", DType::uint16},
    {"I16", DType::int16},   {"F16", DType::float16},  {"BF16", DType::bfloat16}, {"U32", DType::uint32},
    {"I32", DType::int32},   {"F32", DType::float32},  {"U64", DType::uint64},    {"I64", DType::int64},
    {"F64", DType::float64}, {"C64", DType::complex64}};

/// An array in the header; `offsets` are the begin and end of its elements, in bytes after the header.
struct Entry {
  std::string name;
  std::optional<DType> dtype;
  std::optional<Sizes> shape;
  std::optional<std::array<std::uint64_t, 2>> offsets;
};

[[noreturn]] void fault(const std::string& text) { throw FileError(text); }

[[noreturn]] void fault(const std::string& name, const std::string& text) {
  fault(fmt::format("array {}: {}", shown(name), text));
}

// ---- reading ----

/// Handles the header's events. The object or list that contains an event decides whether it is allowed; these nest in
/// only one way.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  std::vector<Entry> entries;
  Metadata metadata;

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) {
      place_ = Place::header;
    } else if (place_ == Place::header && key_ == metadata_key) {
      place_ = Place::metadata;
    } else if (place_ == Place::header) {
      place_ = Place::entry;
      entries.push_back({.name = key_, .dtype = {}, .shape = {}, .offsets = {}});
    } else {
      refuse("an object");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::entry) {
      const Entry& entry = entries.back();
      if (!entry.dtype || !entry.shape || !entry.offsets)
        fault(entry.name, "it lacks one of \"dtype\", \"shape\", \"data_offsets\"");
    }
    place_ = place_ == Place::header ? Place::outside : Place::header;
    return true;
  }

  bool key(std::string& key) override {
    if (place_ == Place::header && !names_.insert(key).second)
      fault(fmt::format("{} is in the header twice", shown(key)));
    if (place_ == Place::metadata && metadata.contains(key))
      fault(fmt::format("{} is in \"__metadata__\" twice", shown(key)));
    key_ = std::move(key);
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::metadata) {
      metadata.emplace(key_, std::move(value));
    } else if (place_ == Place::entry && key_ == "dtype") {
      once(entries.back().dtype) = dtype_of_name(value);
    } else {
      refuse("a string");
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::entry || (key_ != "shape" && key_ != "data_offsets")) refuse("a list");
    place_ = Place::list;
    numbers_.clear();
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (place_ != Place::list) refuse("a number");
    if (numbers_.size() == most_axes) fault(entries.back().name, fmt::format("it has more than {} axes", most_axes));
    numbers_.push_back(value);
    return true;
  }

  bool end_array() override {
    place_ = Place::entry;
    Entry& entry = entries.back();
    if (key_ == "shape") {
      once(entry.shape).emplace(numbers_.begin(), numbers_.end());
      if (std::any_of(numbers_.begin(), numbers_.end(),
                      [](std::uint64_t n) { return !std::in_range<std::int64_t>(n); }))
        fault(entry.name, "a size is over 2^63 - 1");
    } else {
      if (numbers_.size() != 2)
        fault(entry.name, fmt::format("\"data_offsets\" has {} numbers instead of two", numbers_.size()));
      once(entry.offsets) = {numbers_[0], numbers_[1]};
    }
    return true;
  }

  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("true or false"); }
  bool number_integer(std::int64_t) override { refuse("a negative number"); }
  bool number_float(double, const std::string&) override { refuse("a number with a fraction or an exponent"); }
  bool binary(Json::binary_t&) override { refuse("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    fault(fmt::format("byte {} of the header is not valid in JSON in UTF-8", position));
  }

 private:
  enum class Place { outside, header, metadata, entry, list };

  [[noreturn]] void refuse(std::string_view what) const {
    const std::string text = fmt::format("{} is not allowed there", what);
    if (place_ == Place::outside) fault(text);
    if (place_ == Place::header) fault(key_, text);
    if (place_ == Place::metadata) fault(fmt::format("\"__metadata__\", {}: {}", shown(key_), text));
    fault(entries.back().name, fmt::format("{}: {}", shown(key_), text));
  }

  /// The field, which must not have a value yet.
  template <class T>
  std::optional<T>& once(std::optional<T>& field) const {
    if (field) fault(entries.back().name, fmt::format("{} occurs twice", shown(key_)));
    return field;
  }

  DType dtype_of_name(const std::string& name) const {
    for (const auto& [known, dtype] : dtype_names) {
      if (name == known) return dtype;
    }
    fault(entries.back().name, fmt::format("Croton has no dtype {}", shown(name)));
  }

  Place place_ = Place::outside;
  std::string key_;  // the last key that was read
  std::set<std::string> names_;
  std::vector<std::uint64_t> numbers_;  // the numbers of the current list
};

/// Checks that the elements of all arrays fill the file after the header; the order in the header does not matter.
void check_layout(const std::vector<Entry>& entries, std::size_t data_bytes) {
  std::vector<const Entry*> by_offset;
  by_offset.reserve(entries.size());
  for (const Entry& entry : entries) by_offset.push_back(&entry);
  std::sort(by_offset.begin(), by_offset.end(),
            [](const Entry* a, const Entry* b) { return *a->offsets < *b->offsets; });
  std::uint64_t reached = 0;
  for (const Entry* entry : by_offset) {
    const auto [begin, end] = *entry->offsets;
    if (begin != reached)
      fault(entry->name, fmt::format("its elements begin at byte {}, where {} is the next free one", begin, reached));
    if (end < begin) fault(entry->name, fmt::format("its elements end at byte {}, before they begin", end));
    if (end > data_bytes)
      fault(entry->name, fmt::format("its elements end at byte {}, but {} follow the header", end, data_bytes));
    std::size_t bytes = 0;
    try {
      bytes = base::byte_count(*entry->shape, *entry->dtype);
    } catch (const ShapeError& error) {
      fault(entry->name, error.what());
    }
    if (end - begin != bytes) {
      fault(entry->name, fmt::format("shape {} of {} takes {} bytes, but its offsets say {}",
                                     base::shape_text(*entry->shape), name_of(*entry->dtype), bytes, end - begin));
    }
    reached = end;
  }
  if (reached != data_bytes)
    fault(fmt::format("{} bytes follow the header, but the arrays take {}", data_bytes, reached));
}

Array array_of(const Entry& entry, const std::byte* data) {
  // A bool in a file may be any byte; in memory it must be 0 or 1.
  if (is_bool(*entry.dtype)) return Array::copy_of(data, DType::uint8, *entry.shape).astype(DType::bool_);
  Array array = Array::empty(*entry.dtype, *entry.shape);
  if (array.bytes() > 0) std::memcpy(array.raw(), data, array.bytes());  // `data` may not be aligned
  return array;
}

Archive parse(std::span<const std::byte> content) {
  std::uint64_t header_bytes = 0;
  if (content.size() < sizeof(header_bytes)) fault("it is too short for the length of a header");
  std::memcpy(&header_bytes, content.data(), sizeof(header_bytes));
  content = content.subspan(sizeof(header_bytes));
  if (header_bytes > most_header_bytes)
    fault(fmt::format("its header of {} bytes is longer than {}", header_bytes, most_header_bytes));
  if (header_bytes > content.size()) fault(fmt::format("its header of {} bytes is longer than the file", header_bytes));
  const std::string_view header(reinterpret_cast<const char*>(content.data()), header_bytes);
  const std::span<const std::byte> data = content.subspan(header_bytes);
  if (!header.starts_with('{')) fault("its header does not begin with '{'");
  // The parser treats a zero byte as the end of the text, and would ignore everything after it.
  if (const std::size_t zero = header.find('\0'); zero != std::string_view::npos)
    fault(fmt::format("byte {} of the header is zero", zero));

  HeaderReader reader;
  Json::sax_parse(header, &reader);
  check_layout(reader.entries, data.size());
  Archive archive{.arrays = {}, .metadata = std::move(reader.metadata)};
  for (const Entry& entry : reader.entries)
    archive.arrays.emplace_back(entry.name, array_of(entry, data.data() + (*entry.offsets)[0]));
  return archive;
}

// ---- writing ----

std::string_view dtype_name(const std::string& name, DType dtype) {
  for (const auto& [known, its_dtype] : dtype_names) {
    if (dtype == its_dtype) return known;
  }
  throw TypeError(fmt::format("array {}: a safetensors file cannot hold {}", shown(name), name_of(dtype)));
}

/// The value in JSON; ValueError if a text in it is not UTF-8.
std::string json_text(const Json& value, std::string_view what) {
  try {
    return value.dump();
  } catch (const Json::type_error&) {
    throw ValueError(fmt::format("{} of a safetensors file must be UTF-8", what));
  }
}

void check_names(const NamedArrays& arrays) {
  std::set<std::string_view> seen;
  for (const auto& [name, array] : arrays) {
    if (name == metadata_key) throw ValueError("no array of a safetensors file can be called __metadata__");
    if (!seen.insert(name).second)
      throw ValueError(fmt::format("two arrays for a safetensors file are called {}", shown(name)));
    if (array.shape().size() > most_axes)
      throw ShapeError(fmt::format("array {} has {} axes, over {}", shown(name), array.rank(), most_axes));
  }
}

/// The offset of each array after the header. Arrays with larger elements come first, so that each array is aligned for
/// readers that map the file into memory; otherwise the given order is kept.
std::vector<std::size_t> lay_out(const NamedArrays& arrays) {
  std::vector<std::size_t> order(arrays.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto element = [&](std::size_t i) { return size_of(arrays[i].second.dtype()); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return element(a) > element(b); });
  std::vector<std::size_t> begins(arrays.size());
  std::size_t at = 0;
  for (const std::size_t i : order) {
    begins[i] = at;
    at += arrays[i].second.bytes();
  }
  return begins;
}

std::string header_text(const NamedArrays& arrays, std::span<const std::size_t> begins, const Metadata& metadata) {
  std::vector<std::string> parts;
  if (!metadata.empty()) parts.push_back(fmt::format("\"{}\":{}", metadata_key, json_text(metadata, "metadata")));
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const auto& [name, array] = arrays[i];
    parts.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                json_text(name, "names of arrays"), dtype_name(name, array.dtype()),
                                fmt::join(array.shape(), ","), begins[i], begins[i] + array.bytes()));
  }
  std::string text = fmt::format("{{{}}}", fmt::join(parts, ","));
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > most_header_bytes)
    throw ValueError(fmt::format("names, shapes and metadata take {} bytes, over {}", text.size(), most_header_bytes));
  return text;
}

}  // namespace

Archive load_safetensors(const std::filesystem::path& file) {
  const auto content = base::read_file(file, std::numeric_limits<std::size_t>::max());
  if (!content) throw FileError(fmt::format("cannot open {}: there is no such file", file.string()));
  try {
    return parse(*content);
  } catch (const FileError& error) {
    throw FileError(fmt::format("{} is not a safetensors file that can be read: {}", file.string(), error.what()));
  }
}

void save_safetensors(const std::filesystem::path& file, const NamedArrays& arrays, const Metadata& metadata) {
  check_names(arrays);
  const std::vector<std::size_t> begins = lay_out(arrays);
  const std::string header = header_text(arrays, begins, metadata);
  const std::uint64_t header_bytes = header.size();
  std::size_t data_bytes = 0;
  for (const auto& [name, array] : arrays) data_bytes += array.bytes();

  std::vector<std::byte> content(sizeof(header_bytes) + header.size() + data_bytes);
  std::memcpy(content.data(), &header_bytes, sizeof(header_bytes));
  std::memcpy(content.data() + sizeof(header_bytes), header.data(), header.size());
  std::byte* data = content.data() + sizeof(header_bytes) + header.size();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Array elements = arrays[i].second.to_host().contiguous();
    if (elements.bytes() > 0) std::memcpy(data + begins[i], elements.raw(), elements.bytes());
  }
  base::write_file(file, content);
}

}  // namespace croton::io
