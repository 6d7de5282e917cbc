// The end of a reduction in parts: states of parts are joined in the order of Counter (combine.cuh), and the last block
// that stores one is found.
namespace ct {

// Joins `count` states, at most `most`, in any order: neighbouring lanes share them, and all lanes do the same if they are
// fewer than a warp.
template <class C, int most>
CT_DEVICE typename C::State total_in_any_order(const typename C::State* states, index count) {
  constexpr unsigned int apart = most >= int(lanes) ? lanes : 1u << counter_levels(most - 1);
  typename C::State state = C::identity();
  for (index i = lane_index() % apart; i < count; i += apart) state = C::join(state, states[i]);
#pragma unroll
  for (unsigned int bit = 1; bit < apart; bit *= 2) state = C::join(state, from_lane(state, bit));
  return state;
}

// Joins `count` states, 32 at a time by the lanes of a warp: after the step with `bit` each lane has the states of as many
// lanes as twice that, in order. `Groups` counts the groups of 32.
template <class C, class Groups, int most>
CT_DEVICE typename C::State total_in_order(const typename C::State* states, index count) {
  const unsigned int lane = lane_index();
  Groups groups;
  typename C::State rest = C::identity();  // of the last ones, which are fewer than 32
  bool any = false;
  for (index first = 0; first < count; first += lanes) {
    const unsigned int here = (unsigned int)(count - first < lanes ? count - first : lanes);
    typename C::State state = lane < here ? states[first + lane] : C::identity();
#pragma unroll
    for (unsigned int bit = 1; bit < lanes && bit <= (unsigned int)most; bit *= 2) {
      if (here < lanes && (here & bit) != 0) {
        const auto part = from_lane(state, lane ^ (here & ~(2 * bit - 1)));
        rest = any ? C::join(part, rest) : part;
        any = true;
      }
      const auto other = from_lane(state, bit);
      state = (lane & bit) != 0 ? C::join(other, state) : C::join(state, other);
    }
    if (here == lanes) groups.push(state);
  }
  return any ? groups.total_before(rest) : groups.total();
}

// Joins `count` states. Every lane gets the result. `most`: a bound of `count`.
template <class C, class Groups, int most = int(lanes)>
CT_DEVICE typename C::State total_of_states(const typename C::State* states, index count) {
  if constexpr (any_order<C>) {
    return total_in_any_order<C, most>(states, count);
  } else {
    return total_in_order<C, Groups, most>(states, count);
  }
}
// Of at most `most` states: the counter stays in registers.
template <class C, int most>
CT_DEVICE typename C::State total_of_few(const typename C::State* states, int count) {
  return total_of_states<C, ShortCounter<C, most / int(lanes) + 1>, most>(states, count);
}

// Whether all other blocks that count here have come before, so that their states can be read. Every thread of the block
// gets the answer. The counter is 0 again afterwards.
CT_DEVICE bool is_last_block(unsigned int* counter, unsigned int blocks) {
  CT_SHARED unsigned int before;
  barrier();
  if (thread_index() == 0) {
    // The first fence publishes the states of the whole block, the second one makes those of other blocks visible.
    memory_fence();
    before = atomic_add(counter, 1u);
    memory_fence();
    if (before == blocks - 1u) *counter = 0u;
  }
  barrier();
  return before == blocks - 1u;
}

}  // namespace ct
