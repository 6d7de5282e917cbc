// Copy and addition: bytes a lane, vectors in flight, one pass or a loop over the grid, hints, operands off alignment.
#include "common.cuh"

constexpr int plain = 0, read_only = 1, streaming = 2, no_allocate = 3;  // HINT

template <int BYTES>
struct Words;
template <>
struct Words<4> {
  typedef u32 Type;
};
template <>
struct Words<8> {
  typedef uint2 Type;
};
template <>
struct Words<16> {
  typedef uint4 Type;
};

template <int HINT, class Word>
DEVICE Word load(const Word* p) {
  if (HINT == read_only) return __ldg(p);
  if (HINT == streaming) return __ldcs(p);
  if (HINT == no_allocate) return load_no_allocate(p);
  return *p;
}
template <int HINT, class Word>
DEVICE void store(Word* p, Word value) {
  if (HINT == streaming)
    __stcs(p, value);
  else
    *p = value;
}

DEVICE u32 add_floats(u32 a, u32 b) { return __float_as_uint(__uint_as_float(a) + __uint_as_float(b)); }
DEVICE u32 add_bfloat16(u32 a, u32 b) {
  return to_bfloat16(__uint_as_float(a << 16) + __uint_as_float(b << 16),
                     __uint_as_float(a & 0xffff0000u) + __uint_as_float(b & 0xffff0000u));
}

struct Copy {
  static constexpr int operands = 1;
  static __device__ u32 of(u32 a, u32) { return a; }
};
struct Add {
  static constexpr int operands = 2;
  static __device__ u32 of(u32 a, u32 b) { return add_floats(a, b); }
};
struct AddBfloat16 {
  static constexpr int operands = 2;
  static __device__ u32 of(u32 a, u32 b) { return add_bfloat16(a, b); }
};
template <class Op>
DEVICE u32 apply(u32 a, u32 b) {
  return Op::of(a, b);
}
template <class Op>
DEVICE uint2 apply(uint2 a, uint2 b) {
  return {Op::of(a.x, b.x), Op::of(a.y, b.y)};
}
template <class Op>
DEVICE uint4 apply(uint4 a, uint4 b) {
  return {Op::of(a.x, b.x), Op::of(a.y, b.y), Op::of(a.z, b.z), Op::of(a.w, b.w)};
}

// `words`: 4-byte words of each operand. A tile is THREADS x FLIGHT vectors; full tiles have no guard.
template <class Op, int BYTES, int FLIGHT, int THREADS, int HINT, bool LOOP>
KERNEL(THREADS)
map(const u32* x, const u32* y, u32* z, u32 words) {
  typedef typename Words<BYTES>::Type Word;
  constexpr u32 width = BYTES / 4, tile_words = width * THREADS * FLIGHT;
  const u32 tiles = words / tile_words;
  for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const i64 first = i64(tile) * (tile_words / width) + threadIdx.x;
    const Word *from_x = (const Word*)x + first, *from_y = (const Word*)y + first;
    Word* to = (Word*)z + first;
    Word a[FLIGHT], b[FLIGHT];
#pragma unroll
    for (int i = 0; i < FLIGHT; ++i) {
      a[i] = load<HINT>(from_x + i * THREADS);
      if (Op::operands == 2) b[i] = load<HINT>(from_y + i * THREADS);
    }
#pragma unroll
    for (int i = 0; i < FLIGHT; ++i) store<HINT>(to + i * THREADS, apply<Op>(a[i], Op::operands == 2 ? b[i] : a[i]));
    if (!LOOP) break;
  }
  if (blockIdx.x == gridDim.x - 1)
    for (u32 i = tiles * tile_words + threadIdx.x; i < words; i += THREADS)
      z[i] = Op::of(x[i], Op::operands == 2 ? y[i] : x[i]);
}

// Addition where y is 4 bytes off the alignment of x and z, or all three are off alike.
// MODE scalar: everything by 4 bytes, in the same tiles; mixed: y alone by 4 bytes; shifted: y by the aligned vector
// that holds its first three elements, and the fourth alone; peeled: the elements before the first aligned one apart.
constexpr int scalar = 0, mixed = 1, shifted = 2, peeled = 3;
template <int MODE, int FLIGHT, int THREADS>
KERNEL(THREADS)
add_misaligned(const float* x, const float* y, float* z, u32 size) {
  constexpr u32 tile_size = 4 * THREADS * FLIGHT;
  if (MODE == peeled) {
    const u32 head = (16 - u32(u64(x) % 16)) % 16 / 4;
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x < head) z[threadIdx.x] = x[threadIdx.x] + y[threadIdx.x];
    x += head;
    y += head;
    z += head;
    size -= head;
  }
  const u32 tiles = size / tile_size, tile = blockIdx.x;
  if (tile < tiles) {
    const i64 start = i64(tile) * tile_size;
    if (MODE == scalar) {
      const i64 first = start + threadIdx.x;
      float a[4 * FLIGHT], b[4 * FLIGHT];
#pragma unroll
      for (int i = 0; i < 4 * FLIGHT; ++i) {
        a[i] = x[first + i * THREADS];
        b[i] = y[first + i * THREADS];
      }
#pragma unroll
      for (int i = 0; i < 4 * FLIGHT; ++i) z[first + i * THREADS] = a[i] + b[i];
    } else {
      float4 a[FLIGHT], b[FLIGHT];
#pragma unroll
      for (int i = 0; i < FLIGHT; ++i) {
        const i64 at = start + 4 * (i64(i) * THREADS + threadIdx.x);
        a[i] = *(const float4*)(x + at);
        if (MODE == peeled) {
          b[i] = *(const float4*)(y + at);
        } else if (MODE == mixed) {
          b[i] = {y[at], y[at + 1], y[at + 2], y[at + 3]};
        } else {
          const float4 around = *(const float4*)(y + at - 1);
          b[i] = {around.y, around.z, around.w, y[at + 3]};
        }
      }
#pragma unroll
      for (int i = 0; i < FLIGHT; ++i) *(float4*)(z + start + 4 * (i64(i) * THREADS + threadIdx.x)) = add(a[i], b[i]);
    }
  }
  if (blockIdx.x == gridDim.x - 1)
    for (u32 i = tiles * tile_size + threadIdx.x; i < size; i += THREADS) z[i] = x[i] + y[i];
}
