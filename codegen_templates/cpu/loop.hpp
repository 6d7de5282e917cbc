// All steps of a loop in one function on the CPU: its parts run one after another in one thread, which has its own
// rows, so that no thread waits for another.
namespace ct {

// The one thread that computes a share.
struct OneThread {
  CT_MEMBER void sync() const {}
  CT_MEMBER bool leads() const { return true; }
};

template <class Body>
CT_DEVICE void pointwise(const OneThread&, const Body& body, index points) {
  if (points > 0) pointwise(body, index(0), points);
}
template <class Body>
CT_DEVICE void row(const OneThread&, const Body& body, index points) {
  row(body, index(0), points);
}
template <class Body>
CT_DEVICE void column(const OneThread&, const Body& body, index points) {
  const index width = body.width();
  if (width > 0) column(body, index(0), points / width * ((width + tile_points - 1) / tile_points));
}
template <class T>
CT_DEVICE void matrix_product(const OneThread&, const MatrixProduct<T>& p) {
  matrix_product(p);
}

template <class Run>
CT_DEVICE void loop(const Run& run, index begin, index end) {
  for (index share = begin; share < end; ++share) run.steps(OneThread{}, share);
}

}  // namespace ct
