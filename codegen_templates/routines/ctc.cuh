// Connectionist temporal classification (A. Graves et al., 2006): sums over the paths through the states blank, label
// 0, blank, label 1, ..., blank of a sequence. In each time step a path stays in its state or moves to the next one, or
// from a label past the blank to a different label. One launch per step: its items are the states of all sequences. In
// float64, because small differences of logarithms matter, which are large numbers for long sequences.
#ifndef CT_CTC
#define CT_CTC

namespace ct {

// in0: log-probabilities (length, sequences, classes); in1: labels (sequences, states / 2).
template <class T>
struct CtcPaths {
  // The class that a state emits; below 0 for none.
  template <class P>
  CT_DEVICE index emitted(const P& p, index sequence, index state) {
    return state % 2 == 0 ? p.blank : index(p.in1[sequence * (p.states / 2) + state / 2]);
  }
  template <class P>
  CT_DEVICE f64 log_probability(const P& p, index time, index sequence, index state) {
    const index c = emitted(p, sequence, state);
    if (c < 0 || c >= p.classes) return -inf<f64>();
    return f64(loaded(p.in0, (time * p.sequences + sequence) * p.classes + c));
  }
  // A state is reached from the states [first_before, state].
  template <class P>
  CT_DEVICE index first_before(const P& p, index sequence, index state) {
    const bool skips =
        state % 2 == 1 && state > 1 && emitted(p, sequence, state) != emitted(p, sequence, state - 2);
    return state == 0 ? 0 : state - (skips ? 2 : 1);
  }
  CT_DEVICE f64 largest(const f64* logs, index first, index last) {
    f64 most = logs[last];
    for (index s = first; s < last; ++s) most = maximum(most, logs[s]);
    return most;
  }
  // The logarithm of the sum over the states [first, last].
  CT_DEVICE f64 log_sum(const f64* logs, index first, index last) {
    const f64 largest = CtcPaths::largest(logs, first, last);
    if (largest == -inf<f64>()) return largest;
    f64 total = 0;
    for (index s = first; s <= last; ++s) total += exp(logs[s] - largest);
    return largest + log(total);
  }
  // The part of it that one of them has. A difference of logarithms would have no digits left where a huge one has been
  // added to all.
  CT_DEVICE f64 share(const f64* logs, index first, index last, index state) {
    const f64 largest = CtcPaths::largest(logs, first, last);
    f64 total = 0, own = 0;
    for (index s = first; s <= last; ++s) {
      const f64 part = exp(logs[s] - largest);
      total += part;
      if (s == state) own = part;
    }
    return own / total;
  }
};

// out (length + 1, sequences, states): after p.step time steps, the logarithm of the probability of the paths that
// are then in the state.
template <class T>
struct CtcForward : CtcPaths<T> {
  template <class P>
  CT_DEVICE void item(const P& p, index item) {
    typedef CtcPaths<T> Paths;
    const index sequence = item / p.states, state = item % p.states;
    f64* const logs = p.out + (p.step * p.sequences + sequence) * p.states;
    if (p.step == 0) {
      logs[state] = state == 0 ? 0.0 : -inf<f64>();
      return;
    }
    const f64 arriving =
        Paths::log_sum(logs - p.sequences * p.states, Paths::first_before(p, sequence, state), state);
    logs[state] = arriving + Paths::log_probability(p, p.step - 1, sequence, state);
  }
};

// The gradient with respect to the log-probabilities, from in2, the result of the forward pass, and in3, the gradient
// of that result. Each state passes its gradient to its predecessors, in proportion to their contributions.
template <class T>
struct CtcBackward : CtcPaths<T> {
  // Phases: 0, from the last time step to the first one, finds the gradients of the emissions of the states; 1 adds
  // these up by classes, one item per time step and sequence.
  template <class P>
  CT_DEVICE void item(const P& p, index item) {
    f64* const gradients = reinterpret_cast<f64*>(p.workspace);
    if (p.phase == 0) {
      const index at = ((p.step - 1) * p.sequences) * p.states + item;
      gradients[at] = by_state(p, gradients + at, item / p.states, item % p.states);
      return;
    }
    for (index c = 0; c < p.classes; ++c) store(p.out, item * p.classes + c, computed<T>(0));
    for (index state = 0; state < p.states; ++state) {
      const index c = CtcPaths<T>::emitted(p, item % p.sequences, state);
      if (c < 0 || c >= p.classes) continue;
      const index at = item * p.classes + c;
      store(p.out, at, computed<T>(f64(loaded(p.out, at)) + gradients[item * p.states + state]));
    }
  }

  // The gradient of the state at `own`; those of the next time step are one row further.
  template <class P>
  CT_DEVICE f64 by_state(const P& p, const f64* own, index sequence, index state) {
    typedef CtcPaths<T> Paths;
    const index row = p.sequences * p.states, logs = p.step * row + sequence * p.states;
    f64 gradient = p.in3[logs + state];
    if (p.step == p.length || p.in2[logs + state] == -inf<f64>()) return gradient;
    for (index next = state; next < p.states && next <= state + 2; ++next) {
      const f64 later = own[row + next - state];
      const index first = Paths::first_before(p, sequence, next);
      // After the end of a sequence, where all gradients are 0, activations may be anything.
      if (later == 0 || p.in2[logs + row + next] == -inf<f64>() || first > state) continue;
      gradient += Paths::share(p.in2 + logs, first, next, state) * later;
    }
    return gradient;
  }
};

}  // namespace ct
#endif
