// Shared variables: symbolic variables with a value that functions read and update.
#pragma once

#include <croton/variable.hpp>

#include <cstdint>
#include <vector>

namespace croton {

struct SharedOptions {
  std::string name = {};
  std::string target = {};  ///< the device to which it is pinned; empty: the configured device, not pinned
  /// Use the memory of the given array instead of a copy. Functions then write into it; a function that updates a
  /// variable whose memory another variable shares raises ValueError when it is called.
  bool borrow = false;
  /// The axes with static size 1, which broadcast; empty: none. ShapeError for a value with another size there, here
  /// and in set_value.
  std::vector<bool> broadcastable = {};
};

/// A variable that keeps its value between calls. Its type is fixed (dtype and rank); sizes may change with set_value.
class SharedVariable : public Variable {
 public:
  SharedVariable() = default;
  /// A copy of the value (the memory itself with borrow).
  Array get_value(bool borrow = false) const;
  /// Replaces the value. Same rank; a dtype that casts safely is converted, else TypeError.
  void set_value(const Array& value, bool borrow = false);
  /// The device that stores the value now, whether it is pinned, and the number of writes.
  std::string home() const;
  bool pinned() const;
  std::uint64_t version() const;
  /// The copies of the value on other devices, if it is mirrored (nn/strategy.hpp), each pinned to its device. Setting
  /// or updating the variable, or one of the copies, changes all of them.
  std::vector<SharedVariable> copies() const;
  /// Sets an update for every function that uses the variable and has no other update for it. It keeps its operands
  /// alive, except variables whose own default updates depend on this one: without a handle of these, function() raises
  /// ValueError.
  void set_default_update(const Variable& value);

  explicit SharedVariable(std::shared_ptr<builder::Node> node) : Variable(std::move(node)) {}
};

/// Makes a shared variable with a copy of the value; the type has no static sizes except those of `broadcastable`. A
/// 0-d value keeps its dtype (3 -> int64 needs Array(int64)).
SharedVariable shared(const Array& value, const SharedOptions& options = {},
                      Where where = std::source_location::current());
/// The same under the name that programs written for Theano's GPU arrays use.
inline SharedVariable shared_constructor(const Array& value, const SharedOptions& options = {},
                                         Where where = std::source_location::current()) {
  return shared(value, options, where);
}

}  // namespace croton
