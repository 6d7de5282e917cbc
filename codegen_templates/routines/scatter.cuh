// Rows of in3 written to, or added to, the rows of in0 with the positions in1; in2 is the stable order of in1. Each row
// finds the first of its positions, and then each of its elements takes the values in their order: no atomics, and the
// last one wins. Positions outside are skipped.
#ifndef CT_SCATTER
#define CT_SCATTER

namespace ct {

template <class T>
struct Scatter {
  typedef computed<T> V;

  template <class P>
  CT_DEVICE void item(const P& p, index item) {
    i64* const starts = reinterpret_cast<i64*>(p.workspace);
    if (p.phase == 0) {  // a row
      starts[item] = first_where(index(0), p.count, [&](index k) CT_INLINE { return p.in1[p.in2[k]] >= item; });
      return;
    }
    const index row = item / p.width, column = item % p.width;
    V value = loaded(p.in0, item);
    for (index k = starts[row]; k < p.count; ++k) {
      const i64 from = p.in2[k];
      if (p.in1[from] != row) break;
      const V more = loaded(p.in3, from * p.width + column);
      value = p.inc ? Sum<V>::join(value, more) : more;
    }
    store(p.out, item, value);
  }
};

}  // namespace ct
#endif
