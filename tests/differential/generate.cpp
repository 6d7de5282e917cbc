#include "generate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "builder/node.hpp"
#include "known_faults.hpp"
#include "patterns.hpp"
#include "rows.hpp"

namespace differential {
namespace {

constexpr std::int64_t most_elements = 3000;

const DType all_dtypes[] = {DType::bool_,    DType::int8,    DType::int16,  DType::int32,  DType::int64,
                            DType::uint8,    DType::uint16,  DType::uint32, DType::uint64, DType::float16,
                            DType::bfloat16, DType::float32, DType::float64};

std::int64_t elements(const ct::Sizes& shape) {
  std::int64_t total = 1;
  for (const std::int64_t size : shape) total *= size;
  return total;
}

double awkward_float(Random& random, DType dtype) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  static const double nan = std::nan("");
  const double top = largest(dtype);
  const double least = dtype == DType::float16    ? 5.9604644775390625e-08
                       : dtype == DType::bfloat16 ? 9.183549615799121e-41
                       : dtype == DType::float32  ? 1.401298464324817e-45
                                                  : 4.9406564584124654e-324;
  const double values[] = {nan,  inf, -inf, 0,     -0.0,   1,    -1,  2,    0.5, -0.5, 1.5, 2.5,
                           -2.5, top, -top, least, -least, 1e-7, -20, 30.5, 88,  -104, 1000};
  return random.of(values);
}

std::int64_t awkward_integer(Random& random, DType dtype) {
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  const bool negative = ct::is_signed_int(dtype);
  const auto high = static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - bits + (negative ? 1 : 0)));
  const std::int64_t low = negative ? -high - 1 : 0;
  const std::int64_t values[] = {0, 1, 2, 3, 7, 8, 63, 100, high, high - 1, high / 2, low, low + 1, negative ? -1 : 5};
  return random.of(values);
}

}  // namespace

Generator::Generator(std::uint64_t seed, const Profile& profile) : random(seed), profile_(profile) {
  case_.seed = seed;
  case_.special = profile.special;
  case_.smooth = profile.smooth;
  static constexpr std::int64_t usual[] = {2, 3, 5, 7}, wide[] = {33, 40}, large[] = {70, 130};
  for (int i = 0; i < 3; ++i) {
    const double u = random.unit();
    sizes_.push_back(profile.smooth ? random.of(usual)
                     : u < 0.05     ? 0
                     : u < 0.15     ? 1
                     : u < 0.65     ? random.of(usual)
                     : u < 0.85     ? random.of(wide)
                     : u < 0.99     ? random.of(large)
                                    : 1100);
  }
  const double u = random.unit();
  float_ = profile.smooth ? DType::float64
           : u < 0.65     ? DType::float32
           : u < 0.85     ? DType::float64
           : u < 0.93     ? DType::float16
                          : DType::bfloat16;
  has_shared_ = random.chance(0.4);
}

std::int64_t Generator::some_size() { return random.of(sizes_); }

DType Generator::some_dtype(bool (*takes)(DType)) {
  if (takes(float_) && (profile_.smooth || random.chance(0.7))) return float_;
  while (true) {
    const DType dtype = random.of(all_dtypes);
    if (takes(dtype) && (!profile_.smooth || !ct::is_float(dtype) || dtype == float_)) return dtype;
  }
}

int Generator::find(const Accept& accept) {
  std::vector<int> found;
  for (int node = 0; node < count(); ++node) {
    if (accept(node)) found.push_back(node);
  }
  if (found.empty()) return -1;
  return found[std::max(random.below(found.size()), random.below(found.size()))];
}

int Generator::operand(bool (*takes)(DType), int least_rank, int most_rank) {
  const int node = random.chance(0.15)
                       ? -1
                       : find([&](int i) { return takes(dtype(i)) && rank(i) >= least_rank && rank(i) <= most_rank; });
  if (node >= 0) return node;
  static constexpr int ranks[] = {0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4};
  const int rank = std::clamp(random.of(ranks), least_rank, most_rank);
  ct::Sizes shape;
  for (int axis = 0; axis < rank; ++axis) {
    std::int64_t size = some_size();
    if (elements(shape) * size > most_elements) size = 2;
    shape.push_back(size);
  }
  return input(some_dtype(takes), shape);
}

bool Generator::sizes_fit(int a, int b) const {
  const ct::Type &s = variable(a).type(), &t = variable(b).type();
  for (std::size_t back = 1; back <= std::min(s.rank(), t.rank()); ++back) {
    const std::size_t i = s.rank() - back, j = t.rank() - back;
    if (s.broadcasts(i) || t.broadcasts(j)) continue;
    if (value(a).shape()[i] != value(b).shape()[j]) return false;
  }
  return true;
}

int Generator::broadcastable(int like, bool (*takes)(DType)) {
  if (!random.chance(0.2)) {
    const int node = find([&](int i) { return takes(dtype(i)) && sizes_fit(like, i); });
    if (node >= 0) return node;
  }
  ct::Sizes shape = value(like).shape();
  if (!shape.empty() && random.chance(0.2)) shape.erase(shape.begin());  // repeated along the first axis
  DType t = takes(dtype(like)) && random.chance(0.7) ? dtype(like) : some_dtype(takes);
  return input(t, shape);
}

Array Generator::numbers(DType dtype, const ct::Sizes& shape, std::optional<ct::expr::Domain> domain) {
  const bool special = profile_.special && random.chance(0.6), whole = !profile_.smooth && random.chance(0.12);
  if (ct::is_float(dtype)) {
    const auto [low, high] = domain.value_or(ct::expr::Domain{-3, 3});
    Array out = Array::empty(DType::float64, shape);
    for (std::int64_t i = 0; i < out.size(); ++i) {
      double x = random.between(low, high);
      if (whole && !domain) x = std::round(x);
      if (special && random.chance(0.3)) x = awkward_float(random, dtype);
      out.data<double>()[static_cast<std::size_t>(i)] = x;
    }
    return out.astype(dtype);
  }
  Array out = Array::empty(DType::int64, shape);
  std::int64_t low = ct::is_signed_int(dtype) ? -9 : 0, high = ct::is_bool(dtype) ? 1 : 12;
  if (domain && !ct::is_bool(dtype)) {
    low = std::max(low, static_cast<std::int64_t>(std::ceil(domain->low)));
    high = std::max(low, static_cast<std::int64_t>(std::floor(domain->high)));
  }
  for (std::int64_t i = 0; i < out.size(); ++i) {
    std::int64_t x = random.whole(low, high);
    if (special && !ct::is_bool(dtype) && random.chance(0.3)) x = awkward_integer(random, dtype);
    out.data<std::int64_t>()[static_cast<std::size_t>(i)] = x;
  }
  if (dtype != DType::uint64) return out.astype(dtype);
  return Array::copy_of(out.raw(), DType::uint64, shape);  // patterns, not numbers
}

Array Generator::ends_of(DType dtype, const ct::Sizes& shape) {
  Array out = Array::empty(DType::int64, shape);
  for (std::int64_t& x : out.data<std::int64_t>())
    x = random.chance(0.8) ? awkward_integer(random, dtype) : static_cast<std::int64_t>(random.bits());
  if (dtype != DType::uint64) return out.astype(dtype);
  return Array::copy_of(out.raw(), DType::uint64, shape);  // patterns, not numbers
}

int Generator::input(DType dtype, const ct::Sizes& shape, std::optional<ct::expr::Domain> domain) {
  Leaf leaf;
  leaf.value = numbers(dtype, shape, domain);
  leaf.type = {dtype, {}};
  const bool stated = random.chance(0.25);
  for (const std::int64_t size : shape)
    leaf.type.shape.push_back(stated || (size == 1 && random.chance(0.5)) ? size : ct::unknown_size);
  if (has_shared_ && !stated && random.chance(0.4)) {
    leaf.role = Leaf::Role::shared;
    leaf.type.shape.assign(shape.size(), ct::unknown_size);
  } else if (random.chance(0.3)) {
    leaf.layout = static_cast<Layout>(random.below(static_cast<std::size_t>(Layout::count)));
  }
  return add_leaf(std::move(leaf));
}

int Generator::shared(DType dtype, const ct::Sizes& shape) {
  Leaf leaf;
  leaf.role = Leaf::Role::shared;
  leaf.value = numbers(dtype, shape);
  leaf.type = {dtype, ct::Sizes(shape.size(), ct::unknown_size)};
  return add_leaf(std::move(leaf));
}

int Generator::constant(const Array& value) {
  Leaf leaf;
  leaf.role = Leaf::Role::constant;
  leaf.value = value;
  leaf.type = {value.dtype(), value.shape()};
  return add_leaf(std::move(leaf));
}

int Generator::argument(const Array& value) {
  Leaf leaf;
  leaf.value = value;
  leaf.type = {value.dtype(), ct::Sizes(value.shape().size(), ct::unknown_size)};
  return add_leaf(std::move(leaf));
}

int Generator::add_leaf(Leaf leaf) {
  Item item{make_leaf(leaf, "x" + std::to_string(count())), leaf.value};
  values_.known[item.variable.node()] = leaf.value;
  items_.push_back(std::move(item));
  Node node;
  node.leaf = std::move(leaf);
  case_.nodes.push_back(std::move(node));
  return count() - 1;
}

int Generator::within(int node, const ct::expr::Domain& domain) {
  if (profile_.special && random.chance(0.5)) return node;
  const Array& x = value(node);
  bool inside = true;
  for (std::int64_t i = 0; i < x.size() && inside; ++i)
    inside = x.as_double(i) >= domain.low && x.as_double(i) <= domain.high;
  if (inside) return node;
  if (!ct::is_float(x.dtype()) || random.chance(0.3)) {
    const ct::expr::Domain whole{std::max(domain.low, -9.0), std::min(domain.high, 9.0)};
    return input(x.dtype(), x.shape(), whole);
  }
  Step step{&squash_row(), {node}, {}};
  step.p.real = {domain.low, domain.high - domain.low};
  step.p.dtype = x.dtype();
  const int squashed = add(step);
  return squashed >= 0 ? squashed : node;
}

bool Generator::is_useful(const Array& value, const Step& step) const {
  if (value.size() > 4 * most_elements) return false;
  if (profile_.special || !ct::is_float(value.dtype())) return true;
  const double limit = value.dtype() == DType::float16 ? 500 : 20000;
  for (std::int64_t i = 0; i < value.size(); ++i) {
    if (!(std::abs(value.as_double(i)) <= limit)) {
      for (const int input : step.inputs) {
        const Array& x = this->value(input);
        for (std::int64_t k = 0; k < x.size(); ++k) {
          if (!std::isfinite(x.as_double(k))) return true;
        }
      }
      return false;
    }
  }
  return true;
}

int Generator::add(const Step& step) {
  Operands operands;
  for (const int input : step.inputs) operands.push_back(variable(input));
  try {
    Item item;
    item.variable = differential::make(step, operands);
    if (!item.variable.defined()) return -1;
    item.value = values_.of(item.variable);
    if (ct::is_complex(item.value.dtype())) return -1;  // tests/ops has separate tests for these
    // A constant, or one of the operands itself, is no new step.
    if (item.variable.is_constant() || std::ranges::find(operands, item.variable) != operands.end()) return -1;
    if (!is_useful(item.value, step) || has_known_fault(item.variable, values_.known)) return -1;
    items_.push_back(std::move(item));
  } catch (const ct::InternalError&) {
    throw;
  } catch (const ct::Error&) {
    return -1;
  }
  Node node;
  node.step = step;
  case_.nodes.push_back(std::move(node));
  return count() - 1;
}

void Generator::try_row(const Row& row) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    Step step{&row, {}, {}};
    if (row.sample(*this, step) && add(step) >= 0) return;
  }
}

void Generator::choose_outputs() {
  std::vector<bool> used(case_.nodes.size(), false);
  for (const Node& node : case_.nodes) {
    for (const int input : node.step.inputs) used[static_cast<std::size_t>(input)] = true;
  }
  for (int i = 0; i < count(); ++i) {
    // A value that only an update needs can be computed in the variable's own memory.
    const bool updates = std::ranges::any_of(case_.updates, [&](const Update& update) { return update.value == i; });
    if (updates && random.chance(0.8)) continue;
    if (!is_leaf(i) && (!used[static_cast<std::size_t>(i)] || random.chance(0.1))) case_.outputs.push_back(i);
  }
}

void Generator::choose_updates() {
  for (int leaf = 0; leaf < count(); ++leaf) {
    if (!is_leaf(leaf) || case_.nodes[static_cast<std::size_t>(leaf)].leaf.role != Leaf::Role::shared) continue;
    const auto fits = [&](int i) {
      return !is_leaf(i) && variable(i).dtype() == variable(leaf).dtype() &&
             variable(i).rank() == variable(leaf).rank() && this->value(i).shape() == this->value(leaf).shape() &&
             std::ranges::find(variable(i).type().shape, 1) == variable(i).type().shape.end();
    };
    // A step of gradient descent is the typical update of shared variables.
    const int descent = find([&](int i) {
      const Step& step = case_.nodes[static_cast<std::size_t>(i)].step;
      return fits(i) && step.row->name == "weight_step" && step.inputs[0] == leaf;
    });
    const int value = descent >= 0 ? descent : find(fits);
    if (value >= 0) case_.updates.push_back({leaf, value});
  }
}

Case Generator::run() {
  operand(any_dtype, 1, 3);
  operand(float_dtype, 1, 2);
  for (const Row* row : profile_.deal) try_row(*row);
  for (const ct::rewrite::Rule* rule : profile_.patterns) plant(*this, *rule);
  if (profile_.loop != nullptr) try_row(*profile_.loop);
  for (int attempt = 0; attempt < 60; ++attempt) {
    std::size_t steps = 0;
    for (const Node& node : case_.nodes) steps += node.is_leaf() ? 0 : 1;
    if (steps >= profile_.steps) break;
    try_row(*random.of(all_rows()));
  }
  choose_updates();
  choose_outputs();
  if (case_.outputs.empty()) case_.outputs.push_back(0);
  return case_.pruned();
}

}  // namespace differential
