// A Counter (combine.cuh) of a bounded number of states, which stays in registers.
#ifndef CT_SHORT_COUNTER
#define CT_SHORT_COUNTER

namespace ct {

// The number of levels of a counter of at most so many states.
constexpr int counter_levels(int most) { return most <= 1 ? 1 : 1 + counter_levels(most / 2); }

template <class C, int most>
struct ShortCounter {
  typedef typename C::State State;
  static constexpr int levels = counter_levels(most);
  State stack[levels];
  unsigned int count = 0;

  // Every loop is unrolled, so that the stack is indexed by constants.
  CT_MEMBER void push(State state) {
    bool placed = false;
#pragma unroll
    for (int level = 0; level < levels; ++level) {
      if (placed) continue;
      if ((count >> level) & 1u) {
        state = C::join(stack[level], state);
      } else {
        stack[level] = state;
        placed = true;
      }
    }
    ++count;
  }
  // All of them, before `state`.
  CT_MEMBER State total_before(State state) const {
#pragma unroll
    for (int level = 0; level < levels; ++level) {
      if ((count >> level) & 1u) state = C::join(stack[level], state);
    }
    return state;
  }
  CT_MEMBER State total() const {
    State state = C::identity();
    bool any = false;
#pragma unroll
    for (int level = 0; level < levels; ++level) {
      if (((count >> level) & 1u) == 0) continue;
      state = any ? C::join(stack[level], state) : stack[level];
      any = true;
    }
    return state;
  }
};

}  // namespace ct
#endif
