// Several pointwise kernels in one launch, such as the updates of all parameters: items are tiles of points, those of
// the first kernel first.
namespace ct {

constexpr index group_tile = 4096;

// The tiles [begin, end). `ends`: after which tile each kernel ends; `points`: how many points each has.
template <class Run>
CT_DEVICE void group(const index* ends, const index* points, index begin, index end, const Run& run) {
  int part = 0;
  for (index tile = begin; tile < end; ++tile) {
    while (tile >= ends[part]) ++part;
    const index first = (tile - (part == 0 ? 0 : ends[part - 1])) * group_tile, left = points[part] - first;
    run(part, first, first + (left < group_tile ? left : group_tile));
  }
}

// The points [first, last) of one of them.
template <class Body>
CT_DEVICE void group_points(const Body& body, index first, index last) {
  pointwise(body, first, last);
}

}  // namespace ct
