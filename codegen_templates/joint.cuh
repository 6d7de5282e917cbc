// Several reductions of the same elements in one pass over memory. Each has the tree of combine.cuh for itself, so that its
// bits are those of a pass of its own.
namespace ct {

template <class A, class B>
struct Both {
  A first;
  B second;
};
template <class A, class B>
CT_DEVICE Both<A, B> both(A first, B second) {
  return Both<A, B>{first, second};
}
template <class A, class B>
CT_DEVICE Both<A, B> from_lane(Both<A, B> state, unsigned int mask) {
  return Both<A, B>{from_lane(state.first, mask), from_lane(state.second, mask)};
}

// The combiners C and D side by side; of more than two, D is a Joint again.
template <class C, class D>
struct Joint {
  typedef Both<typename C::State, typename D::State> State;
  CT_DEVICE State identity() { return State{C::identity(), D::identity()}; }
  template <class Values>
  CT_DEVICE State lift(Values values, index position) {
    return State{C::lift(values.first, position), D::lift(values.second, position)};
  }
  CT_DEVICE State join(State a, State b) { return State{C::join(a.first, b.first), D::join(a.second, b.second)}; }
  CT_DEVICE auto finish(State a) { return both(C::finish(a.first), D::finish(a.second)); }
};

template <class C, class D>
constexpr bool any_order<Joint<C, D>> = any_order<C> && any_order<D>;

// States or results of n neighbouring points, of any size.
template <class T, int n>
struct OfPoints {
  T values[n];
  CT_MEMBER T& operator[](int i) { return values[i]; }
  CT_MEMBER const T& operator[](int i) const { return values[i]; }
};

// The combiner C for each of n neighbouring points.
template <class C, int n>
struct OfPack {
  typedef OfPoints<typename C::State, n> State;
  CT_DEVICE State identity() {
    State state;
#pragma unroll
    for (int e = 0; e < n; ++e) state[e] = C::identity();
    return state;
  }
  CT_DEVICE State join(State a, State b) {
#pragma unroll
    for (int e = 0; e < n; ++e) a[e] = C::join(a[e], b[e]);
    return a;
  }
  CT_DEVICE auto finish(State a) {
    OfPoints<decltype(C::finish(a[0])), n> result;
#pragma unroll
    for (int e = 0; e < n; ++e) result[e] = C::finish(a[e]);
    return result;
  }
};

}  // namespace ct
