// The stable order of lines along the middle axis of (outer, length, inner), or of the rows of a matrix, as positions.
// Runs of 32 are sorted by insertion, one an item; then runs are merged two by two, 64 results an item: where these
// begin in the two runs is found by binary search (O. Green, R. McColl, D. Bader, GPU Merge Path, 2012). Two pairs of
// buffers take turns: pair 0 is p.out and, for keys, the workspace, pair 1 is in the workspace alone.
#ifndef CT_SORT
#define CT_SORT

namespace ct {

constexpr index merged_block = 2 * sorted_run;

// `Order` defines the sorted lines: line_of(p, line, pair) returns the memory of keys and positions, given(p, line, i)
// the stored key of element i, before(p, a, b) compares keys.
template <class Order>
struct MergeSort {
  // Phases: 0 and 1 sort runs into pair 0 and 1; 2 and 3 merge runs of p.step from the other pair into these.
  template <class P>
  CT_DEVICE void item(const P& p, index item) {
    const index pair = p.phase % 2, size = p.phase < 2 ? sorted_run : merged_block;
    const index parts = (p.length + size - 1) / size;
    const index line = item / parts, begin = item % parts * size;
    const index end = begin + size < p.length ? begin + size : p.length;
    const auto to = Order::line_of(p, line, pair);
    if (p.phase < 2)
      sort_run(p, line, to, begin, end);
    else
      merge(p, Order::line_of(p, line, 1 - pair), to, begin, end);
  }

  template <class P, class Line>
  CT_DEVICE void sort_run(const P& p, index line, const Line& to, index begin, index end) {
    for (index i = begin; i < end; ++i) {
      const auto stored = Order::given(p, line, i);
      const auto key = loaded(&stored, 0);
      index hole = i;
      for (; hole > begin && Order::before(p, key, to.key(hole - 1)); --hole)
        to.put(hole, to.stored(hole - 1), to.position(hole - 1));
      to.put(hole, stored, i);
    }
  }

  // The results [first, last), all of the same two runs: equal ones of the left run come first.
  template <class P, class Line>
  CT_DEVICE void merge(const P& p, const Line& from, const Line& to, index first, index last) {
    const index begin = first / (2 * p.step) * (2 * p.step);
    const index middle = begin + p.step < p.length ? begin + p.step : p.length;
    const index end = middle + p.step < p.length ? middle + p.step : p.length;
    // The number of elements of the left run before `first`: at least those that the right run cannot fill.
    const index count = first - begin, least = count > end - middle ? count - (end - middle) : 0;
    const index most = count < middle - begin ? count : middle - begin;
    const index taken = first_where(least, most, [&](index k) CT_INLINE {
      return Order::before(p, from.key(middle + count - 1 - k), from.key(begin + k));
    });
    index left = begin + taken, right = middle + count - taken;
    for (index i = first; i < last; ++i) {
      const bool from_left = right == end || (left < middle && !Order::before(p, from.key(right), from.key(left)));
      const index source = from_left ? left++ : right++;
      to.put(i, from.stored(source), from.position(source));
    }
  }
};

// Lines of numbers: keys move along with their positions, so that memory is read in order.
template <class T>
struct ArgSort : MergeSort<ArgSort<T>> {
  typedef computed<T> V;

  // A line of one of the pairs. Keys of a line are contiguous, the positions of pair 0 have the layout of the result.
  struct Line {
    i64* positions;
    index stride;
    T* keys;

    CT_MEMBER V key(index i) const { return loaded(keys, i); }
    CT_MEMBER T stored(index i) const { return keys[i]; }
    CT_MEMBER i64 position(index i) const { return positions[i * stride]; }
    CT_MEMBER void put(index i, T key, i64 position) const {
      keys[i] = key;
      positions[i * stride] = position;
    }
  };
  template <class P>
  CT_DEVICE Line line_of(const P& p, index line, index pair) {
    const index start = line * p.length;
    i64* const positions = reinterpret_cast<i64*>(p.workspace);
    T* const keys = reinterpret_cast<T*>(positions + p.lines * p.length) + start;
    if (pair == 1) return Line{positions + start, 1, keys + p.lines * p.length};
    return Line{p.out + first_of(p, line), p.inner, keys};
  }
  template <class P>
  CT_DEVICE index first_of(const P& p, index line) {
    return line / p.inner * p.length * p.inner + line % p.inner;
  }
  template <class P>
  CT_DEVICE T given(const P& p, index line, index i) {
    return p.in0[first_of(p, line) + i * p.inner];
  }
  template <class P>
  CT_DEVICE bool before(const P& p, V a, V b) {
    return p.descending ? is_before(b, a) : is_before(a, b);
  }
};

// Rows of a matrix, compared from their first element on: a row's key is its position.
template <class T>
struct ArgSortRows : MergeSort<ArgSortRows<T>> {
  struct Line {
    i64* positions;

    CT_MEMBER i64 key(index i) const { return positions[i]; }
    CT_MEMBER i64 stored(index i) const { return positions[i]; }
    CT_MEMBER i64 position(index i) const { return positions[i]; }
    CT_MEMBER void put(index i, i64, i64 position) const { positions[i] = position; }
  };
  template <class P>
  CT_DEVICE Line line_of(const P& p, index, index pair) {
    return Line{pair == 0 ? p.out : reinterpret_cast<i64*>(p.workspace)};
  }
  template <class P>
  CT_DEVICE i64 given(const P&, index, index i) {
    return i;
  }
  template <class P>
  CT_DEVICE bool before(const P& p, i64 a, i64 b) {
    for (index k = 0; k < p.width; ++k) {
      const computed<T> x = loaded(p.in0, a * p.width + k), y = loaded(p.in0, b * p.width + k);
      if (is_before(x, y)) return true;
      if (is_before(y, x)) return false;
    }
    return false;
  }
};

}  // namespace ct
#endif
