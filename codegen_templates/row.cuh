// Row kernels on a GPU: a warp per point, whose 32 lanes are the lanes of the tree in combine.cuh, with four
// accumulators each.
namespace ct {

template <class T>
CT_DEVICE T from_lane(T state, unsigned int mask) {
  return shuffle_xor(state, mask);
}
CT_DEVICE bool from_lane(bool state, unsigned int mask) { return shuffle_xor(int(state), mask) != 0; }
CT_DEVICE i8 from_lane(i8 state, unsigned int mask) { return i8(shuffle_xor(int(state), mask)); }
CT_DEVICE i16 from_lane(i16 state, unsigned int mask) { return i16(shuffle_xor(int(state), mask)); }
CT_DEVICE u8 from_lane(u8 state, unsigned int mask) { return u8(shuffle_xor(int(state), mask)); }
CT_DEVICE u16 from_lane(u16 state, unsigned int mask) { return u16(shuffle_xor(int(state), mask)); }
template <class T>
CT_DEVICE complex<T> from_lane(complex<T> state, unsigned int mask) {
  return complex<T>(shuffle_xor(state.re, mask), shuffle_xor(state.im, mask));
}
template <class T>
CT_DEVICE Placed<T> from_lane(Placed<T> state, unsigned int mask) {
  return Placed<T>{from_lane(state.value, mask), shuffle_xor(state.position, mask)};
}

// A Counter (combine.cuh) of a warp: lane l has the state of level l, so that no thread needs a stack in memory. 32
// levels are enough for 2^42 elements.
template <class C>
struct WarpCounter {
  typedef typename C::State State;
  State own = C::identity();
  unsigned int count = 0;

  CT_MEMBER State of_level(unsigned int level) const { return from_lane(own, lane_index() ^ level); }
  CT_MEMBER void push(State state) {
    state = from_lane(state, lane_index());  // that of lane 0
    unsigned int level = 0;
    for (; (count >> level) & 1u; ++level) state = C::join(of_level(level), state);
    if (lane_index() == level) own = state;
    ++count;
  }
  // Of one state or more.
  CT_MEMBER State total() const {
    unsigned int level = 0;
    while (!((count >> level) & 1u)) ++level;
    State state = of_level(level);
    for (++level; level < lanes && (count >> level) != 0u; ++level) {
      if ((count >> level) & 1u) state = C::join(of_level(level), state);
    }
    return state;
  }
};

struct WarpTeam : RowTeam<WarpTeam> {
  template <class C>
  using BlockCounter = WarpCounter<C>;

  template <class C, class F>
  CT_MEMBER typename C::State block(index begin, index end, const F& value) const {
    // Constant indices, so that the accumulators stay in registers.
    typename C::State own[lane_accumulators];
#pragma unroll
    for (int i = 0; i < lane_accumulators; ++i) own[i] = C::identity();
    for (index k = begin + lane_accumulators * lane_index(); k < end; k += accumulators) {
#pragma unroll
      for (int i = 0; i < lane_accumulators; ++i) {
        if (k + i < end) own[i] = C::join(own[i], C::lift(value(k + i), k + i));
      }
    }
    typename C::State state = C::join(C::join(own[0], own[2]), C::join(own[1], own[3]));
    for (unsigned int half = lanes / 2; half > 0; half /= 2) state = C::join(state, from_lane(state, half));
    return state;
  }

  // A lane stores elements that other lanes have read in a reduction.
  template <class F>
  CT_MEMBER void each(index n, const F& store) const {
    sync();
    for (index k = lane_index(); k < n; k += lanes) store(k);
  }

  CT_MEMBER void sync() const { warp_barrier(); }
  CT_MEMBER bool leads() const { return lane_index() == 0; }
};

template <class Body>
CT_DEVICE void row(const Body& body, index points) {
  const index warps = block_size() / lanes;
  const index stride = index(block_count()) * warps;
#pragma unroll 1
  for (index point = index(block_index()) * warps + warp_index(); point < points; point += stride)
    body.point(WarpTeam{}, typename Body::Base(point));
}

}  // namespace ct
