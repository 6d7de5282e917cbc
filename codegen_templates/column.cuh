// Column kernels on a GPU: one point per thread, neighbouring threads along the fast axis. The order of each reduction
// is that of combine.cuh: chunks of 16 elements in order, then chunks pairwise.
namespace ct {

template <class T>
struct Tile {
  T value;
  CT_MEMBER const T& operator[](index) const { return value; }
};

struct ThreadTeam {
  template <class C, class F>
  CT_MEMBER auto reduce(index n, const F& value) const {
    Counter<C> chunks;
    for (index begin = 0; begin < n; begin += chunk_elements) {
      const index end = begin + chunk_elements < n ? begin + chunk_elements : n;
      typename C::State state = C::identity();
      for (index k = begin; k < end; ++k) state = C::join(state, C::lift(value(index(0), k), k));
      chunks.push(state);
    }
    return Tile<decltype(C::finish(C::identity()))>{C::finish(chunks.total())};
  }

  template <class F>
  CT_MEMBER void each(index n, const F& store) const {
    for (index k = 0; k < n; ++k) store(index(0), k);
  }

  template <class F>
  CT_MEMBER void points_do(const F& store) const {
    store(index(0));
  }
};

template <class Body>
CT_DEVICE void column_point(const Body& body, typename Body::Base point) {
  const typename Body::Base row = body.row_of(point);
  body.tile(ThreadTeam{}, row, point - row * body.width());
}

template <class Body>
CT_DEVICE void column(const Body& body, index points) {
  const index stride = index(block_count()) * block_size();
#pragma unroll 1
  for (index i = index(block_index()) * block_size() + thread_index(); i < points; i += stride)
    column_point(body, typename Body::Base(i));
}

}  // namespace ct
