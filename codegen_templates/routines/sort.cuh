// The stable order of lines along the middle axis of (outer, length, inner), as positions. Runs of 32 are sorted by
// insertion, one an item; then runs are merged two by two, an element an item: it finds its place by counting, with
// binary search, those of the other run that stand before it. Positions go back and forth between workspace and result.
#ifndef CT_SORT
#define CT_SORT

namespace ct {

constexpr index sorted_run = 32;

template <class T>
struct ArgSort {
  typedef computed<T> V;

  template <class P>
  CT_DEVICE bool before(const P& p, V a, V b) {
    return p.descending ? is_before(b, a) : is_before(a, b);
  }

  // Phases: 0 and 1 sort runs, 2 and 3 merge runs of p.step; 0 and 2 leave the result in p.out.
  template <class P>
  CT_DEVICE void item(const P& p, index item) {
    i64* const work = reinterpret_cast<i64*>(p.workspace);
    i64* const to = p.phase % 2 == 0 ? p.out : work;
    if (p.phase < 2)
      sort_run(p, to, item);
    else
      merge(p, p.phase == 2 ? work : p.out, to, item);
  }

  template <class P>
  CT_DEVICE void sort_run(const P& p, i64* to, index item) {
    const index runs = (p.length + sorted_run - 1) / sorted_run;
    const index begin = item / p.inner % runs * sorted_run;
    const index end = begin + sorted_run < p.length ? begin + sorted_run : p.length;
    const index base = item / p.inner / runs * p.length * p.inner + item % p.inner;
    for (index i = begin; i < end; ++i) {
      const V key = loaded(p.in0, base + i * p.inner);
      index hole = i;
      for (; hole > begin; --hole) {
        const i64 other = to[base + (hole - 1) * p.inner];
        if (!before(p, key, loaded(p.in0, base + other * p.inner))) break;
        to[base + hole * p.inner] = other;
      }
      to[base + hole * p.inner] = i;
    }
  }

  template <class P>
  CT_DEVICE void merge(const P& p, const i64* from, i64* to, index item) {
    const index row = item / p.inner, i = row % p.length;
    const index base = (row - i) * p.inner + item % p.inner;
    const index begin = i / (2 * p.step) * (2 * p.step);
    const index middle = begin + p.step < p.length ? begin + p.step : p.length;
    const index end = middle + p.step < p.length ? middle + p.step : p.length;
    const i64 position = from[item];
    const V key = loaded(p.in0, base + position * p.inner);
    const auto key_of = [&](index k) CT_INLINE { return loaded(p.in0, base + from[base + k * p.inner] * p.inner); };
    // Equal ones of the left run come first.
    const index place =
        i < middle
            ? i +
                  first_where(
                      middle, end, [&](index k) CT_INLINE { return !before(p, key_of(k), key); }) -
                  middle
            : first_where(begin, middle, [&](index k) CT_INLINE { return before(p, key, key_of(k)); }) + i - middle;
    to[base + place * p.inner] = position;
  }
};

}  // namespace ct
#endif
