// Row kernels on the CPU: the points [begin, end), each with its inner elements in loops that vectorise over groups of
// 32 elements.
namespace ct {

// Whether a loop may read a part of its last vector without branches.
#if defined(__AVX512BW__) && defined(__AVX512VL__)
constexpr bool masks_vectors = true;
#else
constexpr bool masks_vectors = false;
#endif

// The team of a body, which loops over the elements of one point. On a GPU it is a warp (row.cuh).
struct SerialTeam : RowTeam<SerialTeam> {
  template <class C>
  using BlockCounter = Counter<C>;

  // Neighbouring elements that are processed as vectors. A quarter of the accumulators of the tree, so that they and
  // the values of a body stay in registers.
  static constexpr index group = 32;

  template <class C, class F>
  CT_MEMBER typename C::State block(index begin, index end, const F& value) const {
    if constexpr (Extreme<C>::is_one)
      return extreme<C>(begin, end, value);
    else
      return tree<C>(begin, end, value);
  }

  // The tree of combine.cuh; where the order does not matter, one with as few accumulators as possible.
  template <class C, class F>
  static CT_MEMBER typename C::State tree(index begin, index end, const F& value) {
    typedef typename C::State State;
    constexpr index used = any_order<C> ? group : accumulators;
    State state[used];
    // Accumulators without elements hold the identity, and joining it changes nothing.
    const bool is_short = identity_is_neutral<C> && end - begin <= group;
#pragma clang loop unroll(disable) vectorize(disable)
    for (index first = 0; first < (is_short ? group : used); first += group)
      strip<C, used>(begin + first, end, value, state + first);
    if (is_short && end - begin <= lane_accumulators) return join_four<C>(state);
    if constexpr (any_order<C>) {
      return join_lanes<C, group>(state);
    } else {
      State lane[lanes];
      if (is_short) {
        join_accumulators<C, group / lane_accumulators>(state, lane);
        return join_lanes<C, group / lane_accumulators>(lane);
      }
      join_accumulators<C, lanes>(state, lane);
      return join_lanes<C, lanes>(lane);
    }
  }

  // The states of neighbouring accumulators, of which the first one gets the elements k, k + step, ...
  template <class C, index step, class F>
  static CT_MEMBER void strip(index k, index end, const F& value, typename C::State* states) {
    typename C::State own[group];
    for (index l = 0; l < group; ++l) own[l] = C::identity();
    for (; k + group <= end; k += step) {
      // Without these hints the 32 steps are unrolled before the vectoriser sees a loop, and stay scalar (3 to 5 times
      // slower).
#pragma clang loop vectorize(assume_safety) vectorize_width(32) interleave_count(1) unroll(disable)
      for (index l = 0; l < group; ++l) own[l] = C::join(own[l], C::lift(value(k + l), k + l));
    }
    const index left = end - k;
    if (masks_vectors && left > 0) {
#pragma clang loop vectorize(assume_safety) vectorize_width(32) interleave_count(1) unroll(disable)
      for (index l = 0; l < group; ++l) {
        // Stored in any case: a vector that was stored in part would be slow to load.
        typename C::State state = own[l];
        if (l < left) state = C::join(state, C::lift(value(k + l), k + l));
        own[l] = state;
      }
    }
#pragma clang loop vectorize(assume_safety) vectorize_width(32) interleave_count(1) unroll(disable)
    for (index l = 0; l < group; ++l) states[l] = own[l];
    if constexpr (!masks_vectors) {
      for (index l = 0; l < left && l < group; ++l) states[l] = C::join(states[l], C::lift(value(k + l), k + l));
    }
  }

  template <class C>
  static CT_MEMBER typename C::State join_four(const typename C::State* own) {
    static_assert(lane_accumulators == 4, "a lane has four accumulators");
    return C::join(C::join(own[0], own[2]), C::join(own[1], own[3]));
  }

  // The lanes' own joins.
  template <class C, int count>
  static CT_MEMBER void join_accumulators(const typename C::State* states, typename C::State* lane) {
    if constexpr (is_same<typename C::State, f64>) {
      // In two steps of shuffles; loads of every fourth double would become gathers.
      f64 first[2 * count], second[2 * count], pair[2 * count];
      split_pairs<4 * count>(states, first, second);
      join_each<C, 2 * count>(first, second, pair);
      split_neighbours<2 * count>(pair, first, second);
      join_each<C, count>(first, second, lane);
    } else {
#pragma clang loop vectorize(assume_safety) vectorize_width(count) interleave_count(1) unroll(disable)
      for (index l = 0; l < count; ++l) lane[l] = join_four<C>(states + lane_accumulators * l);
    }
  }

  template <class C, int count>
  static CT_MEMBER void join_each(const typename C::State* a, const typename C::State* b, typename C::State* joined) {
#pragma clang loop vectorize(assume_safety) vectorize_width(count) interleave_count(1) unroll(disable)
    for (index l = 0; l < count; ++l) joined[l] = C::join(a[l], b[l]);
  }

  // Lanes combine in halves.
  template <class C, int count>
  static CT_MEMBER typename C::State join_lanes(typename C::State* lane) {
    if constexpr (count > 1) {
      join_each<C, count / 2>(lane, lane + count / 2, lane);
      return join_lanes<C, count / 2>(lane);
    }
    return lane[0];
  }

  typedef f64 Doubles __attribute__((vector_size(64), aligned(8), may_alias));

  template <int count>
  static CT_MEMBER void split_pairs(const f64* from, f64* first, f64* second) {
    for (index at = 0; at < count; at += 16) {
      const Doubles a = *(const Doubles*)(from + at), b = *(const Doubles*)(from + at + 8);
      *(Doubles*)(first + at / 2) = __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13);
      *(Doubles*)(second + at / 2) = __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15);
    }
  }
  template <int count>
  static CT_MEMBER void split_neighbours(const f64* from, f64* first, f64* second) {
    for (index at = 0; at < count; at += 16) {
      const Doubles a = *(const Doubles*)(from + at), b = *(const Doubles*)(from + at + 8);
      *(Doubles*)(first + at / 2) = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
      *(Doubles*)(second + at / 2) = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
    }
  }

  // The first extreme. Lane l sees the elements l, l + 32, ..., of which it counts the groups.
  template <class C, class F>
  static CT_MEMBER typename C::State extreme(index begin, index end, const F& value) {
    typedef typename Extreme<C>::Lane Lane;
    decltype(Lane::best) best[group];
    typename Lane::At at[group], number = 0;
    for (index l = 0; l < group; ++l) best[l] = Lane::worst().best, at[l] = 0;
    const auto add = [&](index k, index l) CT_INLINE {
      const Lane lane = Lane{best[l], at[l]}.with(C::lift(value(k + l), k + l).value, number);
      best[l] = lane.best;
      at[l] = lane.at;
    };
    index k = begin;
    for (; k + group <= end; k += group, ++number) {
#pragma clang loop vectorize(assume_safety) vectorize_width(32) interleave_count(1) unroll(disable)
      for (index l = 0; l < group; ++l) add(k, l);
    }
    for (index l = 0; k + l < end; ++l) add(k, l);
    typename C::State state = C::identity();
    if (begin == end) return state;
    index first = begin;
    // Positions in the whole reduction; the value that comes with this one is not computed, since nothing needs it.
    if constexpr (Extreme<C>::is_part) first = C::lift(value(begin), begin).position;
    for (index l = 0; l < group && begin + l < end; ++l)
      state = C::join(state, typename C::State{best[l], first + index(at[l]) * group + l});
    return state;
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
