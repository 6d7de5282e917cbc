// The generator: typed random graphs over all rows. Every step is computed by the reference evaluator as soon as it is
// made, so that later choices can use the values: operands whose sizes fit, indices that exist, numbers in the domain
// of a function. A step that raises is removed.
#pragma once

#include "case.hpp"
#include "random.hpp"
#include "tolerance.hpp"

#include <functional>
#include <optional>

namespace croton::rewrite {
struct Rule;
}

namespace differential {

/// The kind of graph to make.
struct Profile {
  bool special = false;                            // inputs hold nan, infinities, extreme integers
  bool smooth = false;                             // float64 throughout, for gradients against differences
  std::vector<const Row*> deal;                    // rows that it must try to use
  std::vector<const ct::rewrite::Rule*> patterns;  // rules whose left side it must try to contain
  const Row* loop = nullptr;                       // one of loop_rows(), or none
  std::size_t steps = 14;                          // at least
};

class Generator {
 public:
  Generator(std::uint64_t seed, const Profile& profile);
  Case run();

  // Functions for samplers. Nodes are numbers; -1 is none.
  Random random;
  const Profile& profile() const { return profile_; }
  int count() const { return static_cast<int>(items_.size()); }
  const Variable& variable(int node) const { return items_[static_cast<std::size_t>(node)].variable; }
  const Array& value(int node) const { return items_[static_cast<std::size_t>(node)].value; }
  DType dtype(int node) const { return value(node).dtype(); }
  int rank(int node) const { return value(node).rank(); }
  bool is_leaf(int node) const { return case_.nodes[static_cast<std::size_t>(node)].is_leaf(); }
  bool is_constant(int node) const { return variable(node).is_constant(); }

  using Accept = std::function<bool(int)>;
  /// One of the accepted nodes, later ones more often.
  int find(const Accept& accept);
  /// One of the nodes with an accepted dtype; sometimes, or if there is none, a new input.
  int operand(bool (*takes)(DType), int least_rank = 0, int most_rank = 4);
  /// A node of an accepted dtype whose sizes broadcast with those of `like`, or a new input.
  int broadcastable(int like, bool (*takes)(DType));
  /// A new input of this shape and dtype.
  int input(DType dtype, const ct::Sizes& shape, std::optional<ct::expr::Domain> domain = {});
  /// A shared variable.
  int shared(DType dtype, const ct::Sizes& shape);
  int constant(const Array& value);
  /// An argument of unknown sizes.
  int argument(const Array& value);
  DType some_dtype(bool (*takes)(DType));
  /// Whole numbers, many of them at the ends of the dtype's range.
  Array ends_of(DType dtype, const ct::Sizes& shape);
  std::int64_t some_size();
  /// Numbers for an input.
  Array numbers(DType dtype, const ct::Sizes& shape, std::optional<ct::expr::Domain> domain = {});
  /// The node, or a new one of the same shape with numbers in the domain.
  int within(int node, const ct::expr::Domain& domain);
  /// Adds the step; -1 if it raises, or if its values are useless.
  int add(const Step& step);
  bool sizes_fit(int a, int b) const;

 private:
  struct Item {
    Variable variable;
    Array value;
  };
  int add_leaf(Leaf leaf);
  void try_row(const Row& row);
  bool is_useful(const Array& value, const Step& step) const;
  void choose_outputs();
  void choose_updates();

  Profile profile_;
  Case case_;
  std::vector<Item> items_;
  Values values_;
  ct::Sizes sizes_;  // that the graph prefers
  DType float_;      // that the graph prefers
  bool has_shared_;
};

inline bool any_dtype(DType t) { return !ct::is_complex(t); }
inline bool float_dtype(DType t) { return ct::is_float(t); }
inline bool wide_float(DType t) { return t == DType::float32 || t == DType::float64; }
inline bool integer_dtype(DType t) { return ct::is_integer(t); }
inline bool number_dtype(DType t) { return ct::is_integer(t) || ct::is_float(t); }
inline bool bool_dtype(DType t) { return ct::is_bool(t); }

}  // namespace differential
