// Shared variables: symbolic variables with a value that functions read and update.
#pragma once

#include <croton/variable.hpp>

#include <cstdint>
#include <vector>

namespace croton {

struct SharedOptions {
  std::string name = {};
  std::string target = {};  ///< device that stores it, always; empty: the configured device
  /// Keep the given array's memory instead of a copy. Functions then write into it; a function that updates a variable
  /// whose memory is another one's too raises ValueError when it is called.
  bool borrow = false;
  /// Which axes have the size 1 for good, so that they broadcast; empty: none. ShapeError for a value that has another
  /// size there, now or in set_value.
  std::vector<bool> broadcastable = {};
};

/// A variable whose value lives between calls. Its type is fixed (dtype and rank); sizes may change with set_value.
class SharedVariable : public Variable {
 public:
  SharedVariable() = default;
  /// A copy of the value (the memory itself with borrow).
  Array get_value(bool borrow = false) const;
  /// Replaces the value. Same rank; a dtype that casts safely is converted, else TypeError.
  void set_value(const Array& value, bool borrow = false);
  /// The device that stores it now, whether that is fixed, and how often it was written.
  std::string home() const;
  bool pinned() const;
  std::uint64_t version() const;
  /// The copies of the value that are kept on other devices, where it is mirrored (nn/strategy.hpp), each pinned there:
  /// what sets or updates the variable does so to all of them. To look at; their own set_value sets all too.
  std::vector<SharedVariable> copies() const;
  /// An update done by every function that uses the variable and has none of its own for it. It keeps the variables it
  /// needs, but those whose own default updates need this one: without a handle of these, function() raises ValueError.
  void set_default_update(const Variable& value);

  explicit SharedVariable(std::shared_ptr<builder::Node> node) : Variable(std::move(node)) {}
};

/// A shared variable with a copy of the value; the type states no sizes but those asked for. A 0-d value keeps its
/// dtype (3 -> int64 needs Array(int64)).
SharedVariable shared(const Array& value, const SharedOptions& options = {},
                      Where where = std::source_location::current());
/// The same by the name that programs written for Theano's GPU arrays have for it.
inline SharedVariable shared_constructor(const Array& value, const SharedOptions& options = {},
                                         Where where = std::source_location::current()) {
  return shared(value, options, where);
}

}  // namespace croton
