// The header is a Python literal; a small parser reads it, and nothing is executed. Every number in it is checked
// against the length of the file before memory is allocated.
#include "base/npy.hpp"

#include "base/array_bytes.hpp"
#include "base/characters.hpp"
#include "base/index.hpp"
#include "base/output.hpp"
#include "base/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>

namespace croton::base {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written as they are in memory");

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t most_axes = 64;
constexpr std::size_t most_header_bytes = most_npy_header_bytes - 12;

[[noreturn]] void fault(const std::string& text) { throw FileError(text); }

/// Parses a type description such as '<f4'.
void read_descr(std::string_view descr, NpyHeader& header) {
  const auto refuse = [descr] {
    fault(fmt::format("elements of type '{}' are not read; bool, integers, float16 to float64 and complex are", descr));
  };
  if (descr.size() < 3 || std::string_view("<>=|").find(descr[0]) == std::string_view::npos) refuse();
  static constexpr std::pair<std::string_view, DType> codes[] = {
      {"b1", DType::bool_},     {"i1", DType::int8},       {"i2", DType::int16},   {"i4", DType::int32},
      {"i8", DType::int64},     {"u1", DType::uint8},      {"u2", DType::uint16},  {"u4", DType::uint32},
      {"u8", DType::uint64},    {"f2", DType::float16},    {"f4", DType::float32}, {"f8", DType::float64},
      {"c8", DType::complex64}, {"c16", DType::complex128}};
  const auto* code =
      std::find_if(std::begin(codes), std::end(codes), [&](const auto& c) { return c.first == descr.substr(1); });
  if (code == std::end(codes)) refuse();
  header.dtype = code->second;
  header.big_endian = descr[0] == '>';
}

/// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, keys in any order.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  NpyHeader read() {
    expect('{');
    while (!accept('}')) {
      entry();
      if (accept('}')) break;
      expect(',');
    }
    skip_spaces();
    if (at_ != text_.size()) fail("nothing more");
    if (!has_descr_ || !has_order_ || !has_shape_) fault("the header lacks one of 'descr', 'fortran_order', 'shape'");
    return header_;
  }

 private:
  [[noreturn]] void fail(std::string_view expected) {
    fault(fmt::format("byte {} of the header should be {}", at_, expected));
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }

  bool accept(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}'", c));
  }

  bool accept_word(std::string_view word) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::string_view string() {
    skip_spaces();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) fail("a string");
    const char quote = text_[at_++];
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("a string with an end");
    const std::string_view inside = text_.substr(at_, end - at_);
    const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '\\'; };
    if (!std::all_of(inside.begin(), inside.end(), plain)) fail("a string of plain characters");
    at_ = end + 1;
    return inside;
  }

  void once(bool& seen, std::string_view key) {
    if (seen) fault(fmt::format("the header has '{}' twice", key));
    seen = true;
  }

  void entry() {
    const std::string_view key = string();
    expect(':');
    if (key == "descr") {
      once(has_descr_, key);
      skip_spaces();
      if (at_ < text_.size() && text_[at_] == '[') fault("structured elements are not read");
      read_descr(string(), header_);
    } else if (key == "fortran_order") {
      once(has_order_, key);
      header_.fortran_order = accept_word("True");
      if (!header_.fortran_order && !accept_word("False")) fail("True or False");
    } else if (key == "shape") {
      once(has_shape_, key);
      shape();
    } else {
      fault(fmt::format("the header has the unknown key '{}'", key));
    }
  }

  void shape() {
    expect('(');
    bool needs_comma = false;
    while (!accept(')')) {
      if (needs_comma) {
        expect(',');
        if (accept(')')) return;
      }
      if (header_.shape.size() == most_axes) fault(fmt::format("the array has more than {} axes", most_axes));
      header_.shape.push_back(size());
      needs_comma = true;
    }
    // (3) is a number in Python, (3,) a tuple; both mean the same shape here.
  }

  std::int64_t size() {
    skip_spaces();
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) fail("a size from 0 to 2^63 - 1");
    at_ += to_size(end - begin);
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers with an L
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  NpyHeader header_;
  bool has_descr_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

/// The first `count` bytes as a little-endian number.
std::size_t read_number(std::string_view bytes, std::size_t count) {
  std::size_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | code_of(bytes[i]);
  return value;
}

/// Reverses the byte order of numbers; a complex number is two of them.
void swap_bytes(std::span<std::byte> bytes, DType dtype) {
  const std::size_t width = is_complex(dtype) ? size_of(dtype) / 2 : size_of(dtype);
  for (std::size_t i = 0; i < bytes.size(); i += width) std::ranges::reverse(bytes.subspan(i, width));
}

std::size_t checked_byte_count(const NpyHeader& header) {
  try {
    return byte_count(header.shape, header.dtype);
  } catch (const ShapeError& error) {
    fault(error.what());
  }
}

char kind_of(DType dtype) {
  if (is_bool(dtype)) return 'b';
  if (is_signed_int(dtype)) return 'i';
  if (is_unsigned_int(dtype)) return 'u';
  return is_float(dtype) ? 'f' : 'c';
}

/// The Python literal, padded as the format asks: elements start at a multiple of 64, the header ends with a newline.
std::string header_text(const Array& array) {
  const std::size_t size = size_of(array.dtype());
  std::string text = fmt::format("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': {}, }}", size == 1 ? '|' : '<',
                                 kind_of(array.dtype()), size, shape_text(array.shape()));
  const std::size_t before = magic.size() + 2 + 2;
  const std::size_t padded = (before + text.size() + 1 + 63) / 64 * 64;
  text.append(padded - before - text.size() - 1, ' ');
  return text + "\n";
}

}  // namespace

NpyHeader take_npy_header(std::string_view& start, std::uint64_t size) {
  const std::size_t given = start.size();
  if (!start.starts_with(magic)) fault("it does not start as a .npy file does (\\x93NUMPY)");
  start.remove_prefix(magic.size());
  if (start.size() < 2) fault("it ends within the header");
  const int major = code_of(start[0]), minor = code_of(start[1]);
  if (major < 1 || major > 3 || minor != 0)
    fault(fmt::format("format {}.{} is not known; 1.0, 2.0 and 3.0 are", major, minor));
  start.remove_prefix(2);
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  if (start.size() < length_bytes) fault("it ends within the header");
  const std::size_t length = read_number(start, length_bytes);
  start.remove_prefix(length_bytes);
  if (length > most_header_bytes)
    fault(fmt::format("its header of {} bytes is longer than {}", length, most_header_bytes));
  if (start.size() < length) fault("it ends within the header");
  NpyHeader header = HeaderReader(start.substr(0, length)).read();
  start.remove_prefix(length);
  header.bytes = checked_byte_count(header);
  const std::uint64_t follow = size - (given - start.size());
  if (follow != header.bytes) {
    fault(fmt::format("shape {} of {} takes {} bytes, but {} follow the header", shape_text(header.shape),
                      name_of(header.dtype), header.bytes, follow));
  }
  return header;
}

Array npy_array(const NpyHeader& header, const std::function<void(std::span<std::byte>)>& fill) {
  Sizes shape = header.shape;
  if (header.fortran_order) std::reverse(shape.begin(), shape.end());
  Array array = Array::empty(header.dtype, std::move(shape));
  const std::span<std::byte> elements(writable_bytes_of(array), header.bytes);
  fill(elements);
  if (header.big_endian) swap_bytes(elements, header.dtype);
  if (is_bool(header.dtype))
    std::for_each(elements.begin(), elements.end(), [](std::byte& b) { b = b == std::byte{0} ? b : std::byte{1}; });
  return header.fortran_order ? array.transpose().copy() : array;
}

std::string npy_header(const Array& array) {
  if (array.dtype() == DType::bfloat16)
    throw TypeError("a .npy file cannot hold bfloat16: NumPy lacks it; astype to float32 loses nothing");
  if (array.shape().size() > most_axes)
    throw ShapeError(fmt::format("a .npy file holds at most {} axes, not {}", most_axes, array.rank()));
  const std::string text = header_text(array);
  const char version_and_length[] = {1, 0, static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  return std::string(magic).append(version_and_length, sizeof(version_and_length)) + text;
}

}  // namespace croton::base

namespace croton {

Array load_npy(const std::filesystem::path& file) {
  const auto content = base::read_file(file, std::numeric_limits<std::size_t>::max());
  if (!content) throw FileError(fmt::format("cannot open {}: there is no such file", file.string()));
  try {
    std::string_view rest(reinterpret_cast<const char*>(content->data()), content->size());
    const base::NpyHeader header = base::take_npy_header(rest, content->size());
    return base::npy_array(
        header, [rest](std::span<std::byte> elements) { std::memcpy(elements.data(), rest.data(), elements.size()); });
  } catch (const FileError& error) {
    throw FileError(fmt::format("{} is not a .npy file that can be read: {}", file.string(), error.what()));
  }
}

void save_npy(const std::filesystem::path& file, const Array& array) {
  const std::string header = base::npy_header(array);
  const Array elements = array.contiguous();
  const std::byte* bytes = base::bytes_of(elements);
  const std::span<const std::byte> start = std::as_bytes(std::span(header));
  std::vector<std::byte> content;
  content.reserve(header.size() + elements.bytes());
  content.insert(content.end(), start.begin(), start.end());
  content.insert(content.end(), bytes, bytes + elements.bytes());
  base::write_file(file, content);
}

}  // namespace croton
