#include "expr/attrs.hpp"

#include "base/checked.hpp"
#include "base/index.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace croton::expr {
namespace {

std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  seed ^= value + 0x9E3779B97F4A7C15ull + (seed << 6) + (seed >> 2);
  return seed * 0xFF51AFD7ED558CCDull;
}

std::uint64_t hash_of(const AttrValue& value) {
  const std::uint64_t kind = value.index();
  if (const auto* i = std::get_if<std::int64_t>(&value)) return mix(kind, std::bit_cast<std::uint64_t>(*i));
  if (const auto* d = std::get_if<double>(&value)) return mix(kind, std::bit_cast<std::uint64_t>(*d));
  if (const auto* t = std::get_if<DType>(&value)) return mix(kind, base::ordinal(*t));
  if (const auto* s = std::get_if<std::string>(&value)) return mix(kind, std::hash<std::string>{}(*s));
  if (const auto* b = std::get_if<BodyPtr>(&value)) return mix(kind, hash_of(**b));
  std::uint64_t seed = kind;
  for (const std::int64_t i : std::get<Ints>(value)) seed = mix(seed, std::bit_cast<std::uint64_t>(i));
  return seed;
}

bool same(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* body = std::get_if<BodyPtr>(&a)) return expr::same(**body, *std::get<BodyPtr>(b));
  if (const auto* d = std::get_if<double>(&a)) {
    return std::bit_cast<std::uint64_t>(*d) == std::bit_cast<std::uint64_t>(std::get<double>(b));
  }
  return a == b;
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? "\\n" : std::string(1, c);
  }
  return result + '"';
}

}  // namespace

Attrs::Attrs(std::initializer_list<std::pair<std::string_view, AttrValue>> items) {
  for (const auto& [name, value] : items) set(name, value);
}

void Attrs::set(std::string_view name, AttrValue value) {
  auto at = std::ranges::lower_bound(items_, name, {}, [](const auto& item) { return std::string_view(item.first); });
  if (at != items_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    items_.emplace(at, std::string(name), std::move(value));
  }
}

const AttrValue* Attrs::find(std::string_view name) const {
  for (const auto& item : items_) {
    if (item.first == name) return &item.second;
  }
  return nullptr;
}

template <class T>
const T& Attrs::get(std::string_view name) const {
  const AttrValue* value = find(name);
  if (value == nullptr) throw AttrFault(fmt::format("the attribute '{}' is missing", name));
  if (const T* typed = std::get_if<T>(value)) return *typed;
  throw AttrFault(fmt::format("the attribute '{}' may not be {}", name, to_string(*value)));
}

std::int64_t Attrs::integer(std::string_view name) const { return get<std::int64_t>(name); }
template <class To>
To Attrs::number(std::string_view name) const {
  const std::int64_t value = integer(name);
  if (const auto fitting = base::checked_cast<To>(value)) return *fitting;
  throw AttrFault(fmt::format("the attribute '{}' may not be {}", name, value));
}
std::size_t Attrs::index(std::string_view name) const { return number<std::size_t>(name); }
int Attrs::axis(std::string_view name) const { return number<int>(name); }
double Attrs::real(std::string_view name) const { return get<double>(name); }
DType Attrs::dtype(std::string_view name) const { return get<DType>(name); }
const Ints& Attrs::ints(std::string_view name) const { return get<Ints>(name); }
const std::string& Attrs::text(std::string_view name) const { return get<std::string>(name); }
const BodyPtr& Attrs::body(std::string_view name) const { return get<BodyPtr>(name); }

std::int64_t Attrs::integer_or(std::string_view name, std::int64_t otherwise) const {
  return find(name) ? integer(name) : otherwise;
}

std::uint64_t Attrs::hash() const {
  std::uint64_t seed = items_.size();
  for (const auto& [name, value] : items_) seed = mix(mix(seed, std::hash<std::string>{}(name)), hash_of(value));
  return seed;
}

bool operator==(const Attrs& a, const Attrs& b) {
  return std::ranges::equal(
      a.items_, b.items_, [](const auto& x, const auto& y) { return x.first == y.first && same(x.second, y.second); });
}

std::string to_string(const AttrValue& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *i);
  if (const auto* d = std::get_if<double>(&value)) {
    if (std::isnan(*d)) return "nan";
    if (std::isinf(*d)) return *d > 0 ? "inf" : "-inf";
    std::string text = fmt::format("{}", *d);
    // A real number always has a point or exponent: "1.0", never "1", so that text parses back to the same kind.
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  if (const auto* t = std::get_if<DType>(&value)) return std::string(short_name_of(*t));
  if (const auto* s = std::get_if<std::string>(&value)) return quoted(*s);
  if (const auto* b = std::get_if<BodyPtr>(&value)) return fmt::format("{{\n{}}}", text_of(**b));
  return fmt::format("[{}]", fmt::join(std::get<Ints>(value), ", "));
}

}  // namespace croton::expr
