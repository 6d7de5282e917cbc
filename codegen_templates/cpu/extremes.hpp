// argmax and argmin on the CPU: the best value of a lane, and where it was, as vectors. The first extreme is the same
// along every tree, so these need not follow the one of combine.cuh.
namespace ct {

// Positions that fit into a lane as wide as the value's, so that both are compared and chosen together.
template <int bytes>
struct Offset {
  typedef signed char Type;
};
template <>
struct Offset<2> {
  typedef short Type;
};
template <>
struct Offset<4> {
  typedef int Type;
};
template <>
struct Offset<8> {
  typedef long long Type;
};

template <class T, bool largest>
struct ExtremeLane {
  typedef typename Offset<int(sizeof(T))>::Type At;
  T best;
  At at;

  // The worst value: better ones replace it. Without any, the first element is an extreme.
  static CT_MEMBER ExtremeLane worst() {
    if constexpr (largest)
      return {Max<T>::identity(), 0};
    else
      return {Min<T>::identity(), 0};
  }
  // Elements come in order: a later one has to be better. A nan is, unless there is one.
  CT_MEMBER ExtremeLane with(T value, At offset) const {
    const bool no_better = largest ? value <= best : value >= best;
    const bool better = !no_better & (best == best);
    return {better ? value : best, better ? offset : at};
  }
};

// Whether a combiner is argmax or argmin, maybe of a part of a reduction, and the lane for it.
template <class C>
struct Extreme {
  static constexpr bool is_one = false, is_part = false;
};
template <class T>
struct Extreme<ArgMax<T>> {
  static constexpr bool is_one = true, is_part = false;
  typedef ExtremeLane<T, true> Lane;
};
template <class T>
struct Extreme<ArgMin<T>> {
  static constexpr bool is_one = true, is_part = false;
  typedef ExtremeLane<T, false> Lane;
};
template <class C>
struct Extreme<Shifted<C>> : Extreme<C> {
  static constexpr bool is_part = true;
};

}  // namespace ct
