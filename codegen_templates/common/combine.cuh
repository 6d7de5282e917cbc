// Combiners of reductions, and the fixed trees in which they combine: the same on every device, so that results have
// the same bits everywhere and for any number of threads.
//
// Rows: elements are taken in blocks of 1024. Within a block, accumulator a of 128 combines the elements a, a + 128,
// a + 256, ... in order, from the identity on. Lane l of 32 has the accumulators 4 l to 4 l + 3, so that it can load
// four neighbours at once, and joins them as (0 + 2) + (1 + 3); then lanes combine in halves (l with l + 16, + 8, ...,
// + 1). Blocks combine as a binary counter counts (pairwise).
//
// Columns: chunks of 16 elements, each in order from the identity on; chunks combine as blocks do.
//
// So the error of a float sum of n elements is at most about (8 + 2 + 5 + log2(n / 1024)) half units in the last place
// of the sum of magnitudes along rows, and (16 + log2(n / 16)) along columns (N. Higham, The accuracy of floating point
// summation, 1993).
#ifndef CT_COMBINE
#define CT_COMBINE

namespace ct {

template <class T>
struct Sum {
  typedef T State;
  CT_DEVICE State identity() { return T(0); }
  CT_DEVICE State lift(T value, index) { return value; }
  CT_DEVICE State join(State a, State b) { return add(a, b); }
  CT_DEVICE T finish(State a) { return a; }
};

template <class T>
struct Product {
  typedef T State;
  CT_DEVICE State identity() { return T(1); }
  CT_DEVICE State lift(T value, index) { return value; }
  CT_DEVICE State join(State a, State b) { return multiply(a, b); }
  CT_DEVICE T finish(State a) { return a; }
};

template <class T>
struct Max {
  typedef T State;
  CT_DEVICE State identity() {
    if constexpr (is_float<T>)
      return -inf<T>();
    else
      return lowest<T>();
  }
  CT_DEVICE State lift(T value, index) { return value; }
  CT_DEVICE State join(State a, State b) { return maximum(b, a); }
  CT_DEVICE T finish(State a) { return a; }
};

template <class T>
struct Min {
  typedef T State;
  CT_DEVICE State identity() {
    if constexpr (is_float<T>)
      return inf<T>();
    else
      return highest<T>();
  }
  CT_DEVICE State lift(T value, index) { return value; }
  CT_DEVICE State join(State a, State b) { return minimum(b, a); }
  CT_DEVICE T finish(State a) { return a; }
};

template <class T>
struct All {
  typedef bool State;
  CT_DEVICE State identity() { return true; }
  CT_DEVICE State lift(T value, index) { return value != T(0); }
  CT_DEVICE State join(State a, State b) { return a && b; }
  CT_DEVICE T finish(State a) { return T(a); }
};

template <class T>
struct Any {
  typedef bool State;
  CT_DEVICE State identity() { return false; }
  CT_DEVICE State lift(T value, index) { return value != T(0); }
  CT_DEVICE State join(State a, State b) { return a || b; }
  CT_DEVICE T finish(State a) { return T(a); }
};

// A value and its position; position -1: none yet.
template <class T>
struct Placed {
  T value;
  index position;
};

// The first largest (smallest) one; a nan beats everything, the first nan beats later ones.
template <class T, bool largest>
struct ArgExtreme {
  typedef Placed<T> State;
  CT_DEVICE State identity() { return State{T(0), -1}; }
  CT_DEVICE State lift(T value, index position) { return State{value, position}; }
  CT_DEVICE bool beats(State a, State b) {
    if (b.position < 0) return true;
    if (a.position < 0) return false;
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan || b_nan) return a_nan && (!b_nan || a.position < b.position);
    if (a.value == b.value) return a.position < b.position;
    return largest ? b.value < a.value : a.value < b.value;
  }
  CT_DEVICE State join(State a, State b) { return beats(a, b) ? a : b; }
  CT_DEVICE index finish(State a) { return a.position; }
};
template <class T>
struct ArgMax : ArgExtreme<T, true> {};
template <class T>
struct ArgMin : ArgExtreme<T, false> {};

// A value with its position in the whole reduction, of which a team walks only a part.
template <class T>
struct At {
  T value;
  index position;
};
template <class C>
struct Shifted {
  typedef typename C::State State;
  CT_DEVICE State identity() { return C::identity(); }
  template <class T>
  CT_DEVICE State lift(At<T> at, index) {
    return C::lift(at.value, at.position);
  }
  CT_DEVICE State join(State a, State b) { return C::join(a, b); }
};

// Whether all orders of joins give the same bits, so that a device may choose one.
template <class C>
constexpr bool any_order = true;
template <class T>
constexpr bool any_order<Sum<T>> = is_integer<T>;
template <class T>
constexpr bool any_order<Product<T>> = is_integer<T>;
template <class C>
constexpr bool any_order<Shifted<C>> = any_order<C>;

// Whether joining the identity once more leaves every state as it is, so that accumulators without elements may be
// skipped. Products of complex infinities and the zero in 1 + 0i are nan.
template <class C>
constexpr bool identity_is_neutral = true;
template <class T>
constexpr bool identity_is_neutral<Product<complex<T>>> = false;
template <class C>
constexpr bool identity_is_neutral<Shifted<C>> = identity_is_neutral<C>;

// Combines blocks pairwise as they come: the stack holds one combination of 2^level blocks for each bit of the count.
template <class C>
struct Counter {
  typename C::State stack[44];
  unsigned long long count = 0;

  CT_MEMBER void push(typename C::State state) {
    int level = 0;
    for (; (count >> level) & 1; ++level) state = C::join(stack[level], state);
    stack[level] = state;
    ++count;
  }
  // All of them, before `state`.
  CT_MEMBER typename C::State total_before(typename C::State state) const {
    for (int level = 0; level < 44 && (count >> level); ++level) {
      if ((count >> level) & 1) state = C::join(stack[level], state);
    }
    return state;
  }
  CT_MEMBER typename C::State total() const {
    if (count == 0) return C::identity();
    int level = 0;
    while (!((count >> level) & 1)) ++level;
    typename C::State state = stack[level];
    for (++level; level < 44 && (count >> level); ++level) {
      if ((count >> level) & 1) state = C::join(stack[level], state);
    }
    return state;
  }
};

}  // namespace ct
#endif
