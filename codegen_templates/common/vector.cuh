// Packs: neighbouring elements that are loaded and stored together. An access of a pack of 2, 4, 8 or 16 bytes is one
// instruction, and must be aligned to the size of the pack; longer packs consist of parts of 16 bytes. The elements are
// of any type in memory: numbers, f16 and bf16, bool, complex numbers. The device header comes before this text and
// defines CT_MAY_ALIAS, for types through which memory of any type is read, and Word128.
#ifndef CT_VECTOR
#define CT_VECTOR

namespace ct {

namespace internal {

// The type of an access of so many bytes.
template <int bytes>
struct Word {
  typedef Word128 type;
};
template <>
struct Word<1> {
  typedef u8 CT_MAY_ALIAS type;
};
template <>
struct Word<2> {
  typedef u16 CT_MAY_ALIAS type;
};
template <>
struct Word<4> {
  typedef u32 CT_MAY_ALIAS type;
};
template <>
struct Word<8> {
  typedef u64 CT_MAY_ALIAS type;
};

constexpr int access_bytes(int bytes) { return bytes < 16 ? bytes : 16; }

template <class P>
CT_DEVICE void copy_words(void* to, const void* from) {
  typedef typename Word<access_bytes(sizeof(P))>::type W;
  if constexpr (sizeof(P) == sizeof(W)) {
    *static_cast<W*>(to) = *static_cast<const W*>(from);
  } else {
#pragma unroll
    for (int i = 0; i < int(sizeof(P) / sizeof(W)); ++i) static_cast<W*>(to)[i] = static_cast<const W*>(from)[i];
  }
}

}  // namespace internal

template <class T, int n>
struct alignas(internal::access_bytes(n * int(sizeof(T)))) Pack {
  static_assert(n > 0 && (n & (n - 1)) == 0, "a pack has 1, 2, 4, 8, ... elements");
  T values[n];

  CT_MEMBER T& operator[](int i) { return values[i]; }
  CT_MEMBER const T& operator[](int i) const { return values[i]; }
};

// The elements from `from` on, which is aligned to n * sizeof(T) or 16 bytes, whichever is less.
template <int n, class T>
CT_DEVICE Pack<T, n> load_pack(const T* from) {
  Pack<T, n> pack;
  internal::copy_words<Pack<T, n>>(&pack, from);
  return pack;
}

template <class T, int n>
CT_DEVICE void store_pack(T* to, const Pack<T, n>& pack) {
  internal::copy_words<Pack<T, n>>(to, &pack);
}

// Of the last pack of a line, which may have fewer elements: the first `left` ones. `whole`: there are all or none.
template <int n, bool whole = false, class T>
CT_DEVICE Pack<T, n> load_pack(const T* from, int left) {
  if (whole ? left > 0 : left >= n) return load_pack<n>(from);
  Pack<T, n> pack{};
  if constexpr (!whole) {
#pragma unroll
    for (int e = 0; e < n; ++e) {
      if (e < left) pack[e] = from[e];
    }
  }
  return pack;
}
template <bool whole = false, class T, int n>
CT_DEVICE void store_pack(T* to, const Pack<T, n>& pack, int left) {
  if (whole ? left > 0 : left >= n) return store_pack(to, pack);
  if constexpr (!whole) {
#pragma unroll
    for (int e = 0; e < n; ++e) {
      if (e < left) to[e] = pack[e];
    }
  }
}

// The elements that are wanted, and zeros.
template <int n, class T>
CT_DEVICE Pack<T, n> load_pack_where(const T* from, const bool (&wanted)[n]) {
  bool all = true;
#pragma unroll
  for (int e = 0; e < n; ++e) all = all && wanted[e];
  if (all) return load_pack<n>(from);
  Pack<T, n> pack{};
#pragma unroll
  for (int e = 0; e < n; ++e) {
    if (wanted[e]) pack[e] = from[e];
  }
  return pack;
}

// The numbers rounded to f16 or bf16.
template <class T, int n>
CT_DEVICE Pack<T, n> rounded(const Pack<f32, n>& values) {
  Pack<T, n> pack;
#pragma unroll
  for (int e = 0; e + 1 < n; e += 2) {
    const u32 pair = from_floats<T>(values[e], values[e + 1]);
    pack[e] = T{u16(pair)};
    pack[e + 1] = T{u16(pair >> 16)};
  }
  if constexpr (n == 1) pack[0] = from_float<T>(values[0]);
  return pack;
}

// Elements that are `stride` apart, the first `left` of them.
template <int n, class T, class Offset>
CT_DEVICE Pack<T, n> gather_pack(const T* from, Offset stride, int left) {
  Pack<T, n> pack{};
#pragma unroll
  for (int e = 0; e < n; ++e) {
    if (e < left) pack[e] = from[e * stride];
  }
  return pack;
}
// Neighbouring elements that are not aligned as a pack.
template <class T, int n>
CT_DEVICE void scatter_pack(T* to, const Pack<T, n>& pack, int left) {
#pragma unroll
  for (int e = 0; e < n; ++e) {
    if (e < left) to[e] = pack[e];
  }
}

}  // namespace ct
#endif
