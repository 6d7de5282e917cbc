#include "sizes.hpp"

#include <croton/croton.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

namespace differential {
namespace {

__extension__ typedef __int128 Wide;
constexpr Wide highest = std::numeric_limits<std::int64_t>::max(), lowest = std::numeric_limits<std::int64_t>::min();

/// A value as it should be, as 64 bits hold it, and whether anything on the way did not fit.
struct Number {
  std::optional<Wide> exact;  // none: not even 128 bits hold it
  std::uint64_t wrapped = 0;
  bool fits = true;

  static Number of(std::int64_t value) { return {Wide{value}, static_cast<std::uint64_t>(value), true}; }
  std::int64_t as_data() const { return static_cast<std::int64_t>(wrapped); }
};

struct Term {
  Variable variable;
  Number value;
  std::string text;
};

/// The result of an operation of two that are exact.
Number combined(const Number& a, const Number& b, std::uint64_t wrapped, auto&& exactly) {
  Number result{std::nullopt, wrapped, a.fits && b.fits};
  Wide exact = 0;
  if (a.exact && b.exact && exactly(*a.exact, *b.exact, &exact)) result.exact = exact;
  result.fits = result.fits && result.exact && *result.exact <= highest && *result.exact >= lowest;
  return result;
}
Number added(const Number& a, const Number& b) {
  return combined(a, b, a.wrapped + b.wrapped,
                  [](Wide x, Wide y, Wide* z) { return !__builtin_add_overflow(x, y, z); });
}
Number subtracted(const Number& a, const Number& b) {
  return combined(a, b, a.wrapped - b.wrapped,
                  [](Wide x, Wide y, Wide* z) { return !__builtin_sub_overflow(x, y, z); });
}
Number multiplied(const Number& a, const Number& b) {
  return combined(a, b, a.wrapped * b.wrapped,
                  [](Wide x, Wide y, Wide* z) { return !__builtin_mul_overflow(x, y, z); });
}

std::int64_t some_number(Random& random) {
  static constexpr std::int64_t near_roots[] = {3037000499, 3037000500, 2097151, 2097152, 55108, 55109};  // of 2^63
  switch (random.whole(0, 4)) {
    case 0:
      return random.whole(-2, 6);
    case 1:
      return (std::int64_t{1} << random.whole(20, 62)) + random.whole(-1, 1);
    case 2:
      return near_roots[random.whole(0, std::size(near_roots) - 1)];
    case 3:
      return random.chance(0.5) ? std::numeric_limits<std::int64_t>::max() - random.whole(0, 2)
                                : std::numeric_limits<std::int64_t>::min() + random.whole(0, 2);
    default:
      return random.whole(1, 1000);
  }
}

class Program {
 public:
  explicit Program(Random& random) : random_(random) {
    for (const char* name : {"i", "j"}) {
      const Variable input = ct::lscalar(name);
      inputs_.push_back(input);
      const std::int64_t value = some_number(random_);
      arguments_.emplace_back(Array(value));
      leaves_.push_back({input, Number::of(value), fmt::format("{}", name)});
      given_ += fmt::format("{}{} = {}", given_.empty() ? "" : ", ", name, value);
    }
    size_ = term(static_cast<int>(random_.whole(1, 3)));
    other_ = term(static_cast<int>(random_.whole(0, 2)));
    use_ = static_cast<int>(random_.whole(0, 6));
  }

  /// What is wrong under the present flags; empty where nothing is.
  std::string check(const std::string& setting) const {
    try {
      const std::string fault = check_size() + check_data();
      return fault.empty() ? "" : fmt::format("{} ({}; {}): {}", text(), given_, setting, fault);
    } catch (const ct::Error& error) {
      return fmt::format("{} ({}; {}): raises {}", text(), given_, setting, error.what());
    }
  }

 private:
  Term term(int depth) {
    if (depth == 0) {
      if (random_.chance(0.25)) {
        const std::int64_t value = random_.whole(-1, 5);
        return {ct::constant(Array(value)), Number::of(value), std::to_string(value)};
      }
      return leaves_[static_cast<std::size_t>(random_.whole(0, 1))];
    }
    const Term a = term(depth - 1), b = term(static_cast<int>(random_.whole(0, depth - 1)));
    switch (random_.whole(0, 6)) {
      case 0:
        return {a.variable + b.variable, added(a.value, b.value), fmt::format("({} + {})", a.text, b.text)};
      case 1:
        return {a.variable - b.variable, subtracted(a.value, b.value), fmt::format("({} - {})", a.text, b.text)};
      case 2:
        return {a.variable * a.variable, multiplied(a.value, a.value), fmt::format("({0} * {0})", a.text)};
      case 3:
        return {ct::sqr(ct::sqr(a.variable)), multiplied(multiplied(a.value, a.value), multiplied(a.value, a.value)),
                fmt::format("sqr(sqr({}))", a.text)};
      case 4:
        return {ct::cast(a.variable * b.variable, DType::int64), multiplied(a.value, b.value),
                fmt::format("cast({} * {}, int64)", a.text, b.text)};
      default:
        return {a.variable * b.variable, multiplied(a.value, b.value), fmt::format("({} * {})", a.text, b.text)};
    }
  }

  std::string text() const {
    const char* forms[] = {"alloc(i8, {0}).shape(0)",           "concatenate(alloc(i8, {0}), alloc(i8, {1})).shape(0)",
                           "alloc(i8, {0}, {1}).size",          "reshape(zeros(6), ({0}, {1})).shape(0)",
                           "tile(zeros(3), {0}).shape(0)",      "repeat(zeros(3), {0}).shape(0)",
                           "pad(zeros(3), ({0}, {1})).shape(0)"};
    return fmt::format(fmt::runtime(forms[use_]), size_.text, other_.text);
  }

  Variable used() const {
    const Variable byte = ct::constant(Array(std::int8_t{1}));
    switch (use_) {
      case 0:
        return ct::alloc(byte, {size_.variable}).shape(0);
      case 1:
        return ct::concatenate({ct::alloc(byte, {size_.variable}), ct::alloc(byte, {other_.variable})}, 0).shape(0);
      case 2:
        return ct::alloc(byte, {size_.variable, other_.variable}).size();
      case 4:
        return ct::tile(three_, {size_.variable}).shape(0);
      case 5:
        return ct::repeat(three_, size_.variable, 0).shape(0);
      case 6:
        return ct::pad(three_, std::vector<std::pair<ct::Operand, ct::Operand>>{{size_.variable, other_.variable}})
            .shape(0);
      default:
        return ct::reshape(ct::constant(Array::zeros(DType::int8, {6})), {size_.variable, other_.variable}).shape(0);
    }
  }

  /// What `used` gives; nothing where it must raise.
  std::optional<Wide> wanted() const {
    const std::optional<Wide>&a = size_.value.exact, &b = other_.value.exact;
    const auto is_size = [](const std::optional<Wide>& x) { return x && *x >= 0 && *x <= highest; };
    const bool both = use_ != 0 && use_ != 4 && use_ != 5;
    if (!is_size(a) || (both && !is_size(b))) {
      // -1 is what is left.
      if (use_ == 3 && a && b && ((*a == -1 && is_size(b) && *b > 0 && 6 % *b == 0))) return 6 / *b;
      if (use_ == 3 && a && b && *b == -1 && is_size(a) && *a > 0 && 6 % *a == 0) return *a;
      return std::nullopt;
    }
    if (use_ == 4 || use_ == 5) return 3 * *a <= highest ? std::optional(3 * *a) : std::nullopt;
    if (use_ == 6) return *a + *b + 3 <= highest ? std::optional(*a + *b + 3) : std::nullopt;
    if (use_ == 1) return *a + *b <= highest ? std::optional(*a + *b) : std::nullopt;
    if (use_ == 2) return *a == 0 || *b <= highest / *a ? std::optional(*a * *b) : std::nullopt;
    if (use_ == 3 && *a * *b != 6) return std::nullopt;
    return a;
  }

  std::string check_size() const {
    const std::optional<Wide> right = wanted();
    std::optional<std::int64_t> found;
    try {
      found = ct::function(ins(), used(), options())(arguments_[0].array(), arguments_[1].array()).item<std::int64_t>();
    } catch (const ct::ShapeError&) {
    } catch (const ct::ValueError&) {  // negative sizes
      if (right) throw;
    }
    if (found && right && Wide{*found} == *right) return "";
    // What wrapped on the way may raise though it would come back.
    if (!found && (!right || !size_.value.fits || !other_.value.fits)) return "";
    return fmt::format("gives {}, where {} is right; ", found ? std::to_string(*found) : "ShapeError",
                       right ? std::to_string(static_cast<std::int64_t>(*right)) : "ShapeError");
  }

  std::string check_data() const {
    const std::int64_t found = ct::function(ins(), size_.variable * std::int64_t{3} + other_.variable, options())(
                                   arguments_[0].array(), arguments_[1].array())
                                   .item<std::int64_t>();
    const auto right = static_cast<std::int64_t>(size_.value.wrapped * 3 + other_.value.wrapped);
    return found == right
               ? ""
               : fmt::format("as data 3 {} + {} is {}, where {} is right; ", size_.text, other_.text, found, right);
  }

  std::vector<ct::In> ins() const { return {inputs_[0], inputs_[1]}; }
  static ct::FunctionOptions options() { return {.on_unused_input = ct::UnusedInput::ignore}; }

  Random& random_;
  std::vector<Variable> inputs_;
  std::vector<ct::Argument> arguments_;
  std::vector<Term> leaves_;
  Term size_, other_;
  Variable three_ = ct::constant(Array::zeros(DType::int8, {3}));
  std::string given_;
  int use_ = 0;
};

}  // namespace

std::vector<std::string> check_sizes(Random& random, std::span<const Setting> settings, int count) {
  std::vector<std::string> faults;
  for (int i = 0; i < count; ++i) {
    const Program program(random);
    for (const Setting& setting : settings) {
      const ct::change_flags flags(setting.flags);
      if (std::string fault = program.check(setting.name); !fault.empty()) faults.push_back(std::move(fault));
    }
  }
  return faults;
}

}  // namespace differential
