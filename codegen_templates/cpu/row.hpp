// Row kernels on the CPU: the points [begin, end), each with its inner elements in loops that vectorise over 32 lanes.
namespace ct {

// The team of a body, which loops over the elements of one point. On a GPU it is a warp (row.cuh).
struct SerialTeam : RowTeam<SerialTeam> {
  template <class C, class F>
  CT_MEMBER typename C::State block(index begin, index end, const F& value) const {
    typename C::State state[lanes];
    for (index l = 0; l < lanes; ++l) state[l] = C::identity();
    index k = begin;
    for (; k + lanes <= end; k += lanes) {
      // Without these hints the 32 steps are unrolled before the vectoriser sees a loop, and stay scalar (3 to 5 times
      // slower).
#pragma clang loop vectorize(assume_safety) vectorize_width(32) interleave_count(1) unroll(disable)
      for (index l = 0; l < lanes; ++l) state[l] = C::join(state[l], C::lift(value(k + l), k + l));
    }
    for (index l = 0; k + l < end; ++l) state[l] = C::join(state[l], C::lift(value(k + l), k + l));
    // Lanes that saw nothing hold the identity, and joining it changes nothing.
    index half = lanes / 2;
    while (half >= end - begin && half > 0) half /= 2;
    for (; half > 0; half /= 2) {
      for (index l = 0; l < half; ++l) state[l] = C::join(state[l], state[l + half]);
    }
    return state[0];
  }

  template <class F>
  CT_MEMBER void each(index n, const F& store) const {
#pragma clang loop vectorize(assume_safety)
    for (index k = 0; k < n; ++k) store(k);
  }

  CT_MEMBER void sync() const {}
  CT_MEMBER bool leads() const { return true; }
};

template <class Body>
CT_DEVICE void row(const Body& body, index begin, index end) {
  for (index point = begin; point < end; ++point) body.point(SerialTeam{}, point);
}

}  // namespace ct
