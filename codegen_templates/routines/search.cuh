// Insertion positions of values in an ascending vector: the first position whose element is not before the value
// (left), or the first whose element is after it (right).
#ifndef CT_SEARCH
#define CT_SEARCH

namespace ct {

template <class T>
struct SearchSorted {
  template <class P>
  CT_DEVICE void item(const P& p, index item) {
    const computed<T> value = loaded(p.in1, item);
    p.out[item] = first_where(index(0), p.length, [&](index k) CT_INLINE {
      const computed<T> element = loaded(p.in0, k);
      return p.right ? is_before(value, element) : !is_before(element, value);
    });
  }
};

}  // namespace ct
#endif
