// Shared code of the templates of routines: 16-bit floats are storage types and are computed in float; and the order of
// sorting.
#ifndef CT_ROUTINE_VALUES
#define CT_ROUTINE_VALUES

namespace ct {

template <class T>
struct computed_type {
  typedef T type;
};
template <>
struct computed_type<f16> {
  typedef f32 type;
};
template <>
struct computed_type<bf16> {
  typedef f32 type;
};
template <class T>
using computed = typename computed_type<T>::type;

template <class T>
CT_DEVICE computed<T> loaded(const T* from, index at) {
  if constexpr (is_half<T>)
    return to_float(from[at]);
  else
    return from[at];
}
template <class T>
CT_DEVICE void store(T* to, index at, computed<T> value) {
  if constexpr (is_half<T>)
    to[at] = from_float<T>(value);
  else
    to[at] = value;
}

// Whether a comes before b in ascending order: nan comes last, -0 equals 0.
template <class V>
CT_DEVICE bool is_before(V a, V b) {
  if constexpr (is_float<V>)
    return a < b || (b != b && a == a);
  else
    return a < b;
}

// The first k of [first, last) for which `beyond` holds; it must hold from some k on.
template <class F>
CT_DEVICE index first_where(index first, index last, const F& beyond) {
  while (first < last) {
    const index middle = first + (last - first) / 2;
    if (beyond(middle))
      last = middle;
    else
      first = middle + 1;
  }
  return first;
}

}  // namespace ct
#endif
