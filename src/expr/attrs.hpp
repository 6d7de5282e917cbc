// Attributes: the parameters of a node that are not inputs (axes, a dtype, a constant's value), by name. All ops use
// the same generic form, so that printing, parsing, hashing and comparison are written once.
#pragma once

#include <croton/error.hpp>
#include <croton/type.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace croton::expr {

class Body;  // body.hpp
using BodyPtr = std::shared_ptr<const Body>;
std::uint64_t hash_of(const Body& body);
bool same(const Body& a, const Body& b);
const std::string& text_of(const Body& body);

using Ints = std::vector<std::int64_t>;
/// `double` compares and hashes by its bits: two NaNs are the same attribute, 0.0 and -0.0 are not. Bodies are compared
/// by content.
using AttrVariant = std::variant<std::int64_t, double, DType, Ints, std::string, BodyPtr>;
struct AttrValue : AttrVariant {
  using AttrVariant::AttrVariant;
  /// Unsigned counts and indices become int64.
  template <std::unsigned_integral T>
    requires(!std::constructible_from<AttrVariant, T>)
  AttrValue(T number) : AttrVariant(static_cast<std::int64_t>(number)) {}
};

/// An attribute that is absent or of another kind than its op takes: a bug in Croton, unless the attributes come from
/// a text.
class AttrFault : public InternalError {
 public:
  explicit AttrFault(const std::string& text) : InternalError(text), fault(text) {}
  std::string fault;
};

/// A short list of (name, value), sorted by name.
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string_view, AttrValue>> items);

  void set(std::string_view name, AttrValue value);
  const AttrValue* find(std::string_view name) const;
  bool empty() const { return items_.empty(); }
  const auto& items() const { return items_; }

  /// The value of that name; AttrFault if it is absent or of another kind.
  std::int64_t integer(std::string_view name) const;
  std::size_t index(std::string_view name) const;  ///< an integer that is not negative
  int axis(std::string_view name = "axis") const;  ///< an integer that fits in an int
  double real(std::string_view name) const;
  DType dtype(std::string_view name) const;
  const Ints& ints(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const BodyPtr& body(std::string_view name) const;
  /// As `integer`, or `otherwise` if absent.
  std::int64_t integer_or(std::string_view name, std::int64_t otherwise) const;

  std::uint64_t hash() const;
  friend bool operator==(const Attrs& a, const Attrs& b);

 private:
  template <class T>
  const T& get(std::string_view name) const;
  template <class To>
  To number(std::string_view name) const;
  std::vector<std::pair<std::string, AttrValue>> items_;
};

/// The text of a value, as it is printed and parsed: "[0, 1]", "f32", "0.5".
std::string to_string(const AttrValue& value);

}  // namespace croton::expr
