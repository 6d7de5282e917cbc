// Running sums and products along the middle axis of (outer, length, inner), forwards or from the end. Lines are split
// into parts of 1024 elements, which depend only on the length: first the totals of parts, then the prefix of each
// part, then the elements. So the bits are the same for any number of threads; and each part starts from the last
// element of the previous one, so that sums of numbers >= 0 never decrease.
#ifndef CT_CUMULATE
#define CT_CUMULATE

namespace ct {

template <class T, template <class> class Combiner>
struct Cumulate {
  typedef computed<T> V;
  typedef Combiner<V> C;

  template <class P>
  CT_DEVICE void item(const P& p, index item) {
    V* const fronts = reinterpret_cast<V*>(p.workspace);
    const index parts = (p.length + cumulate_part - 1) / cumulate_part;
    const index column = item % p.inner;
    if (p.phase == 1) {  // a line: totals become the total in front of the part
      const index first = item / p.inner * parts * p.inner + column;
      V front = fronts[first];
      for (index part = 1; part < parts; ++part) {
        const V total = fronts[first + part * p.inner];
        fronts[first + part * p.inner] = front;
        front = C::join(front, total);
      }
      return;
    }
    const index part = item / p.inner % parts, line = item / p.inner / parts;
    const index begin = part * cumulate_part;
    const index end = begin + cumulate_part < p.length ? begin + cumulate_part : p.length;
    const index base = line * p.length * p.inner + column;
    V value = V(0);
    for (index i = begin; i < end; ++i) {
      const index at = base + (p.reverse ? p.length - 1 - i : i) * p.inner;
      const V element = loaded(p.in0, at);
      value = i == begin ? element : C::join(value, element);
      if (p.phase == 2) store(p.out, at, part == 0 ? value : C::join(fronts[item], value));
    }
    if (p.phase == 0) fronts[item] = value;
  }
};

}  // namespace ct
#endif
