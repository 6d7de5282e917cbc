// y[i] = b[i] + a[i] y[i-1] along the middle axis of (outer, length, inner), where y[-1] is 0; with `shifted`, a[i-1]
// instead of a[i]; with `reverse`, from the end. One item processes a line: the product of many a may overflow although
// no y does, so lines are not split.
#ifndef CT_RECURRENCE
#define CT_RECURRENCE

namespace ct {

template <class T>
struct Recurrence {
  template <class P>
  CT_DEVICE void item(const P& p, index item) {
    const index base = item / p.inner * p.length * p.inner + item % p.inner;
    computed<T> value = loaded(p.in1, base + (p.reverse ? p.length - 1 : 0) * p.inner), before = value;
    for (index i = 0; i < p.length; ++i) {
      const index at = base + (p.reverse ? p.length - 1 - i : i) * p.inner;
      const computed<T> a = loaded(p.in0, at);
      if (i > 0) value = add(loaded(p.in1, at), multiply(p.shifted ? before : a, value));
      before = a;
      store(p.out, at, value);
    }
  }
};

}  // namespace ct
#endif
