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

/// The mathematical value, its 64 bits, and whether an intermediate value did not fit.
struct Number {
  std::optional<Wide> exact;  // none if not even 128 bits hold it
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

/// The result of an operation on two exact values.
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

/// The sum of two of them with equal signs wraps to a small number, which could pass for a size.
std::int64_t end_of_range(Random& random, bool high) {
  return high ? std::numeric_limits<std::int64_t>::max() - random.whole(0, 2)
              : std::numeric_limits<std::int64_t>::min() + random.whole(0, 2);
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
      return end_of_range(random, random.chance(0.5));
    default:
      return random.whole(1, 1000);
  }
}

/// The use of the sizes.
enum class Use {
  alloc,
  concatenate,
  alloc_matrix,
  reshape,
  tile,
  repeat,
  pad,
  outer,
  dot,
  stack,
  eye,
  one_hot,
  repeat_alloc,
  concatenate_columns,
  alloc_unsigned,
  pool,
  arange,
  last = arange
};

class Program {
 public:
  explicit Program(Random& random) : random_(random) {
    const bool at_ends = random_.chance(0.2), high = random_.chance(0.5);
    for (const char* name : {"i", "j"}) {
      const Variable input = ct::lscalar(name);
      inputs_.push_back(input);
      const std::int64_t value = at_ends ? end_of_range(random_, high) : some_number(random_);
      arguments_.emplace_back(Array(value));
      leaves_.push_back({input, Number::of(value), fmt::format("{}", name)});
      given_ += fmt::format("{}{} = {}", given_.empty() ? "" : ", ", name, value);
    }
    size_ = term(static_cast<int>(random_.whole(1, 3)));
    other_ = term(static_cast<int>(random_.whole(0, 2)));
    use_ = static_cast<Use>(random_.whole(0, static_cast<int>(Use::last)));
  }

  /// The fault under the current flags; empty if there is none.
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
        const std::int64_t value = random_.chance(0.3) ? some_number(random_) : random_.whole(-1, 5);
        return {ct::constant(Array(value)), Number::of(value), std::to_string(value)};
      }
      return leaves_[static_cast<std::size_t>(random_.whole(0, 1))];
    }
    const Term a = term(depth - 1), b = term(static_cast<int>(random_.whole(0, depth - 1)));
    switch (random_.whole(0, 8)) {
      case 0:
      case 7:
      case 8:
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
    static constexpr const char* forms[] = {"alloc(i8, {0}).shape(0)",
                                            "concatenate(alloc(i8, {0}), alloc(i8, {1})).shape(0)",
                                            "alloc(i8, {0}, {1}).size",
                                            "reshape(zeros(6), ({0}, {1})).shape(0)",
                                            "tile(zeros(3), {0}).shape(0)",
                                            "repeat(zeros(3), {0}).shape(0)",
                                            "pad(zeros(3), ({0}, {1})).shape(0)",
                                            "outer(alloc(i8, {0}), alloc(i8, {1})).size",
                                            "dot(alloc(i8, {0}, 2), alloc(i8, 2, {1})).size",
                                            "stack(alloc(i8, {0}), alloc(i8, {0}), alloc(i8, {0})).size",
                                            "eye({0}, {1}).size",
                                            "one_hot(zeros(3), {0}).size",
                                            "repeat(alloc(i8, {0}), {1}).size",
                                            "concatenate(alloc(i8, 2, {0}), alloc(i8, 2, {1}), axis=1).size",
                                            "alloc(i8, cast({0}, uint64)).shape(0)",
                                            "pool(zeros(1, 1, 5), (1,), border={0}).shape(2)",
                                            "arange(0, {0}, 2).shape(0)"};
    static_assert(std::size(forms) == static_cast<std::size_t>(Use::last) + 1);
    return fmt::format(fmt::runtime(forms[static_cast<std::size_t>(use_)]), size_.text, other_.text);
  }

  static Variable bytes(std::vector<ct::Operand> shape) {
    return ct::alloc(ct::constant(Array(std::int8_t{1})), std::move(shape));
  }

  Variable used() const {
    const Variable &a = size_.variable, &b = other_.variable;
    switch (use_) {
      case Use::alloc:
        return bytes({a}).shape(0);
      case Use::concatenate:
        return ct::concatenate({bytes({a}), bytes({b})}, 0).shape(0);
      case Use::alloc_matrix:
        return bytes({a, b}).size();
      case Use::reshape:
        return ct::reshape(ct::constant(Array::zeros(DType::int8, {6})), {a, b}).shape(0);
      case Use::tile:
        return ct::tile(three_, {a}).shape(0);
      case Use::repeat:
        return ct::repeat(three_, a, 0).shape(0);
      case Use::pad:
        return ct::pad(three_, std::vector<std::pair<ct::Operand, ct::Operand>>{{a, b}}).shape(0);
      case Use::outer:
        return ct::outer(bytes({a}), bytes({b})).size();
      case Use::dot:
        return ct::dot(bytes({a, 2}), bytes({2, b})).size();
      case Use::stack:
        return ct::stack({bytes({a}), bytes({a}), bytes({a})}, 0).size();
      case Use::eye:
        return ct::eye(a, b).size();
      case Use::one_hot:
        return ct::one_hot(ct::cast(three_, DType::int32), a).size();
      case Use::repeat_alloc:
        return ct::repeat(bytes({a}), b, 0).size();
      case Use::concatenate_columns:
        return ct::concatenate({bytes({2, a}), bytes({2, b})}, 1).size();
      case Use::alloc_unsigned:
        return bytes({ct::cast(a, DType::uint64)}).shape(0);
      case Use::pool:
        return ct::nnet::pool(ct::constant(Array::zeros(DType::float32, {1, 1, 5})), {1},
                              {.border = ct::nnet::Border(ct::Operand(a))})
            .shape(2);
      case Use::arange:
        break;
    }
    return ct::arange(0, a, 2).shape(0);
  }

  /// The result of `used`; nothing if it must raise.
  std::optional<Wide> wanted() const {
    const std::optional<Wide>&a = size_.value.exact, &b = other_.value.exact;
    const auto is_size = [](const std::optional<Wide>& x) { return x && *x >= 0 && *x <= highest; };
    const auto size = [&](const std::optional<Wide>& x) { return is_size(x) ? x : std::nullopt; };
    if (use_ == Use::arange)
      return a && *a <= highest && *a >= lowest ? std::optional((std::max<Wide>(*a, 0) + 1) / 2) : std::nullopt;
    // -1 is the remaining number of elements.
    if (use_ == Use::reshape && a && *a == -1) return is_size(b) && *b > 0 && 6 % *b == 0 ? size(6 / *b) : std::nullopt;
    if (use_ == Use::reshape && b && *b == -1) return is_size(a) && *a > 0 && 6 % *a == 0 ? a : std::nullopt;
    if (!is_size(a)) return std::nullopt;
    switch (use_) {
      case Use::alloc:
      case Use::alloc_unsigned:
        return a;
      case Use::pool:
        return size(5 + 2 * *a);
      case Use::tile:
      case Use::repeat:
      case Use::stack:
      case Use::one_hot:
        return size(3 * *a);
      default:
        break;
    }
    if (!is_size(b)) return std::nullopt;
    switch (use_) {
      case Use::concatenate:
        return size(*a + *b);
      case Use::concatenate_columns:
        return size(*a + *b) ? size(2 * (*a + *b)) : std::nullopt;
      case Use::pad:
        return size(*a + *b + 3);
      case Use::reshape:
        return *a * *b == 6 ? a : std::nullopt;
      case Use::dot:  // the factors are arrays, too, and the sum
        return size(2 * *a) && size(2 * *b) && size(2 * *a * *b) ? size(*a * *b) : std::nullopt;
      default:
        break;
    }
    return size(*a * *b);
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
    // A value that wrapped in between may raise although the result fits again.
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
  Use use_ = Use::alloc;
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
