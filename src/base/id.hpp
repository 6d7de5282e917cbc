// Ids: indices of things such as the buffers of a plan, with a type for each kind of thing, so that they cannot be
// confused with each other or with counts; and vectors that are indexed by them.
#pragma once

#include <fmt/core.h>

#include <compare>
#include <cstddef>
#include <vector>

namespace croton::base {

/// The index of a thing among those of its kind. `Tag` is a type for each kind: using BufferId =
/// base::Id<struct BufferTag>. The id of nothing is Id(), which comes before all others.
template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : number_(static_cast<std::ptrdiff_t>(index)) {}

  /// The index; the id must not be that of nothing.
  constexpr std::size_t index() const { return static_cast<std::size_t>(number_); }
  /// The index, or -1 for the id of nothing.
  constexpr std::ptrdiff_t number() const { return number_; }
  constexpr Id next() const { return Id(index() + 1); }
  /// The id before this one; for the first id, the id of nothing.
  constexpr Id previous() const { return Id(index() - 1); }
  friend constexpr auto operator<=>(const Id&, const Id&) = default;

 private:
  std::ptrdiff_t number_ = -1;
};

/// The ids [first, last).
template <class Id>
struct IdRange {
  Id first, last;

  class Iterator {
   public:
    using value_type = Id;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(Id at) : at_(at) {}
    Id operator*() const { return at_; }
    Iterator& operator++() {
      at_ = at_.next();
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    Id at_;
  };
  Iterator begin() const { return Iterator(first); }
  Iterator end() const { return Iterator(last); }
};

/// A vector with an element for each id.
template <class Id, class T>
class IdVector : private std::vector<T> {
  using Items = std::vector<T>;

 public:
  using Items::assign;
  using Items::back;
  using Items::begin;
  using Items::clear;
  using Items::emplace_back;
  using Items::empty;
  using Items::end;
  using Items::erase;
  using Items::front;
  using Items::Items;
  using Items::pop_back;
  using Items::push_back;
  using Items::resize;
  using Items::size;
  using typename Items::const_iterator;
  using typename Items::iterator;
  using typename Items::value_type;

  typename Items::reference operator[](Id id) { return Items::operator[](id.index()); }
  typename Items::const_reference operator[](Id id) const { return Items::operator[](id.index()); }
  bool contains(Id id) const { return id.index() < size(); }
  /// The id of an element of this vector.
  Id id_of(const T& item) const { return Id(static_cast<std::size_t>(&item - Items::data())); }
  /// The id after the last one, which the next element will have.
  Id end_id() const { return Id(size()); }
  IdRange<Id> ids() const { return {Id(0), end_id()}; }
};

}  // namespace croton::base

/// An id is printed as its number.
template <class Tag>
struct fmt::formatter<croton::base::Id<Tag>> : fmt::formatter<std::ptrdiff_t> {
  auto format(croton::base::Id<Tag> id, auto& context) const {
    return fmt::formatter<std::ptrdiff_t>::format(id.number(), context);
  }
};
