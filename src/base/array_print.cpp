// The text of an array, as NumPy 2 prints it: aligned elements, lines of at most 75 columns, and only three elements at
// each end of an axis if the array has more than 1000 elements.
#include <croton/array.hpp>

#include "base/array_bytes.hpp"
#include "base/convert.hpp"
#include "base/float_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <complex>

namespace croton {
namespace {

constexpr std::int64_t summary_threshold = 1000;
constexpr std::int64_t edge_items = 3;
constexpr std::size_t line_width = 75;

/// The elements that are printed, in C order: all, or those at the edges.
struct Printed {
  Sizes shape;                  ///< of the printed elements
  std::vector<bool> shortened;  ///< per axis, whether elements after the first three are omitted
  std::vector<const std::byte*> elements;
};

Printed printed_elements(const Array& array) {
  Printed printed;
  const bool summary = array.size() > summary_threshold;
  std::vector<const std::byte*> elements{base::bytes_of(array)};
  for (std::size_t axis = 0; axis < array.shape().size(); ++axis) {
    const std::int64_t size = array.shape()[axis];
    const bool shortened = summary && size > 2 * edge_items;
    const std::int64_t count = shortened ? 2 * edge_items : size;
    std::vector<const std::byte*> next;
    for (const std::byte* start : elements) {
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t index = shortened && i >= edge_items ? size - count + i : i;
        next.push_back(start + index * array.strides()[axis]);
      }
    }
    elements = std::move(next);
    printed.shape.push_back(count);
    printed.shortened.push_back(shortened);
  }
  printed.elements = std::move(elements);
  return printed;
}

template <class Wide>
Wide value_at(const std::byte* element, DType dtype, DType wide) {
  Wide value{};
  base::convert_elements({}, {&value, wide, {}}, {element, dtype, {}});
  return value;
}

std::vector<std::string> bool_texts(const std::vector<const std::byte*>& elements, bool scalar) {
  std::vector<std::string> texts;
  for (const std::byte* element : elements)
    texts.push_back(*element == std::byte{0} ? "False" : scalar ? "True" : " True");
  return texts;
}

std::vector<std::string> integer_texts(const std::vector<const std::byte*>& elements, DType dtype) {
  std::vector<std::string> texts;
  std::size_t width = 0;
  for (const std::byte* element : elements) {
    texts.push_back(dtype == DType::uint64 ? std::to_string(value_at<std::uint64_t>(element, dtype, DType::uint64))
                                           : std::to_string(value_at<std::int64_t>(element, dtype, DType::int64)));
    width = std::max(width, texts.back().size());
  }
  for (std::string& text : texts) text.insert(0, width - text.size(), ' ');
  return texts;
}

std::vector<std::string> float_texts(const std::vector<const std::byte*>& elements, DType dtype, bool scalar) {
  std::vector<double> values;
  for (const std::byte* element : elements) values.push_back(value_at<double>(element, dtype, DType::float64));
  if (scalar) return {base::scalar_float_text(values[0], dtype)};
  return base::aligned_float_texts(values, dtype);
}

std::string scalar_complex_text(std::complex<double> value, DType part) {
  const std::string imaginary = base::short_float_text(value.imag(), part) + "j";
  if (value.real() == 0 && !std::signbit(value.real())) return imaginary;
  const char* plus = std::signbit(value.imag()) && !std::isnan(value.imag()) ? "" : "+";
  return "(" + base::short_float_text(value.real(), part) + plus + imaginary + ")";
}

std::vector<std::string> complex_texts(const std::vector<const std::byte*>& elements, DType dtype, bool scalar) {
  const DType part = dtype == DType::complex64 ? DType::float32 : DType::float64;
  std::vector<double> real;
  std::vector<double> imaginary;
  for (const std::byte* element : elements) {
    const auto value = value_at<std::complex<double>>(element, dtype, DType::complex128);
    real.push_back(value.real());
    imaginary.push_back(value.imag());
  }
  if (scalar) return {scalar_complex_text({real[0], imaginary[0]}, part)};
  std::vector<std::string> texts = base::aligned_float_texts(real, part);
  std::vector<std::string> imaginary_texts = base::aligned_float_texts(imaginary, part, true);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    // The j follows the last digit, before the spaces of the alignment.
    std::string& text = imaginary_texts[i];
    text.insert(text.find_last_not_of(' ') + 1, "j");
    texts[i] += text;
  }
  return texts;
}

std::vector<std::string> element_texts(const Printed& printed, DType dtype) {
  const bool scalar = printed.shape.empty();
  if (is_bool(dtype)) return bool_texts(printed.elements, scalar);
  if (is_integer(dtype)) return integer_texts(printed.elements, dtype);
  if (is_float(dtype)) return float_texts(printed.elements, dtype, scalar);
  return complex_texts(printed.elements, dtype, scalar);
}

/// Joins the texts of elements with brackets and line breaks.
class Layout {
 public:
  Layout(const Printed& printed, std::vector<std::string> texts) : printed_(printed), texts_(std::move(texts)) {}

  std::string text() { return printed_.shape.empty() ? texts_[0] : block(0, line_width); }

 private:
  /// The elements of one index of the axes before `axis`; it consumes the texts in order.
  std::string block(std::size_t axis, std::size_t width) {
    return axis + 1 == printed_.shape.size() ? row(axis, width) : rows(axis, width);
  }

  std::string rows(std::size_t axis, std::size_t width) {
    const std::string indent(axis + 1, ' ');
    const std::string separator(printed_.shape.size() - axis - 1, '\n');
    std::string text = "[";
    for (std::int64_t i = 0; i < printed_.shape[axis]; ++i) {
      if (i > 0) text += separator + indent;
      if (i == edge_items && printed_.shortened[axis]) text += "..." + separator + indent;
      text += block(axis + 1, width - 1);
    }
    return text + "]";
  }

  std::string row(std::size_t axis, std::size_t width) {
    const std::string indent(axis + 1, ' ');
    std::string done;
    std::string line = indent;
    const auto add = [&](const std::string& word) {
      if (line.size() + word.size() > width - 1 && line.size() > indent.size()) {
        done += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line = indent;
      }
      line += word;
    };
    const std::int64_t count = printed_.shape[axis];
    for (std::int64_t i = 0; i < count; ++i) {
      if (i == edge_items && printed_.shortened[axis]) {
        add("...");
        line += ' ';
      }
      add(texts_[next_++]);
      if (i + 1 < count) line += ' ';
    }
    return "[" + (done + line).substr(indent.size()) + "]";
  }

  const Printed& printed_;
  std::vector<std::string> texts_;
  std::size_t next_ = 0;
};

}  // namespace

std::string Array::to_string() const {
  if (size() == 0) return "[]";
  const Printed printed = printed_elements(*this);
  return Layout(printed, element_texts(printed, dtype_)).text();
}

}  // namespace croton
