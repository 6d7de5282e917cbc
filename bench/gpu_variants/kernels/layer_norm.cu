// Layer normalisation with scale and shift: forwards, and backwards with the gradients of both parameters.
#include "column_tree.cuh"
#include "team.cuh"

constexpr float epsilon = 1e-5f;

DEVICE float4 minus(float4 a, float b) { return {a.x - b, a.y - b, a.z - b, a.w - b}; }
DEVICE float4 times(float4 a, float b) { return {a.x * b, a.y * b, a.z * b, a.w * b}; }
DEVICE float4 times(float4 a, float4 b) { return {a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w}; }
DEVICE float scale_of(float variance) { return 1.0f / sqrtf(variance + epsilon); }

// --- Forwards --------------------------------------------------------------------------------------------------------

// A block has TEAMS rows at a time, more than one only for teams of one warp. KEPT: gamma and beta stay in registers.
// AHEAD: the next row is loaded before this one is reduced.
template <int TEAMS, int WARPS, int VECTORS, bool FIXED, bool KEPT, bool AHEAD, int BLOCKS>
KERNEL_OF(32 * TEAMS * WARPS, BLOCKS)
layer_norm(const float* x, const float* gamma, const float* beta, float* y, int rows) {
  typedef Team<WARPS, VECTORS, FIXED> Row;
  constexpr float inverse = 1.0f / Row::length;
  int row = int(blockIdx.x) * TEAMS + int(threadIdx.x) / Row::threads;
  const int step = int(gridDim.x) * TEAMS;
  float4 v[VECTORS], kept_gamma[KEPT ? VECTORS : 1], kept_beta[KEPT ? VECTORS : 1];
  if constexpr (KEPT) {
    Row::load(kept_gamma, gamma);
    Row::load(kept_beta, beta);
  }
  if (AHEAD && row < rows) Row::load(v, x + i64(row) * Row::length);
  for (; row < rows; row += step) {
    if (!AHEAD) Row::load(v, x + i64(row) * Row::length);
    float4 now[VECTORS];
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) now[k] = v[k];
    if (AHEAD && row + step < rows) Row::load(v, x + i64(row + step) * Row::length);
    const float mean = Row::template sum<0>([&](int k) { return now[k]; }) * inverse;
    const float scale = scale_of(Row::template sum<1>([&](int k) {
                                   const float4 d = minus(now[k], mean);
                                   return times(d, d);
                                 }) *
                                 inverse);
    float4* to = (float4*)(y + i64(row) * Row::length);
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
      const float4 g = KEPT ? kept_gamma[k] : __ldg((const float4*)gamma + Row::vector(k));
      const float4 b = KEPT ? kept_beta[k] : __ldg((const float4*)beta + Row::vector(k));
      to[Row::vector(k)] = add(times(times(minus(now[k], mean), scale), g), b);
    }
  }
}

// --- Backwards, in one pass ------------------------------------------------------------------------------------------

// A block takes runs of CHUNKS chunks of 16 rows and keeps the sums of its columns in registers; those of finished
// chunks wait in shared memory. partial[run]: of dy * normalised x, then of dy. COLUMNS false: the gradient of x alone,
// and each row's mean and scale in `statistics`, for the second kernel.
// ROUNDS: 3 reductions after one another in the order of the formulas, or 2 of two sums each.
// AHEAD: the next row is on its way to shared memory.
template <int WARPS, int VECTORS, bool FIXED, bool COLUMNS, int CHUNKS, int ROUNDS, bool AHEAD, int BLOCKS>
KERNEL_OF(32 * WARPS, BLOCKS)
layer_norm_grad(const float* x, const float* dy, const float* gamma, float* dx, float* partial, float2* statistics,
                int runs) {
  typedef Team<WARPS, VECTORS, FIXED> Row;
  constexpr float inverse = 1.0f / Row::length;
  constexpr int vectors = Row::length / 4, levels = CHUNKS > 4 ? 3 : CHUNKS > 2 ? 2 : CHUNKS > 1 ? 1 : 0;
  float4 *next = dynamic_shared(), *waiting = next + (AHEAD ? 2 * vectors : 0);  // 2 * vectors a level
  const i64 rows = i64(runs) * CHUNKS * 16;
  const auto fetch = [&](i64 row) {
    if (row < rows) {
#pragma unroll
      for (int k = 0; k < VECTORS; ++k) {
        copy_async(next + Row::vector(k), (const float4*)(x + row * Row::length) + Row::vector(k));
        copy_async(next + vectors + Row::vector(k), (const float4*)(dy + row * Row::length) + Row::vector(k));
      }
    }
    commit_copies();
  };
  if (AHEAD) fetch(i64(blockIdx.x) * CHUNKS * 16);
  for (int run = int(blockIdx.x); run < runs; run += int(gridDim.x)) {
    float4 of_gamma[COLUMNS ? VECTORS : 1], of_beta[COLUMNS ? VECTORS : 1];
    for (int chunk = 0; chunk < CHUNKS; ++chunk) {
      for (int r = 0; r < 16; ++r) {
        const i64 row = (i64(run) * CHUNKS + chunk) * 16 + r;
        float4 v[VECTORS], slope[VECTORS], d[COLUMNS ? VECTORS : 1];
        if (AHEAD) {
          wait_copies<0>();
#pragma unroll
          for (int k = 0; k < VECTORS; ++k) {
            v[k] = next[Row::vector(k)];
            slope[k] = next[vectors + Row::vector(k)];
          }
          __syncthreads();
          const bool ends = chunk == CHUNKS - 1 && r == 15;
          fetch(ends ? i64(run + int(gridDim.x)) * CHUNKS * 16 : row + 1);
        } else {
          Row::load(v, x + row * Row::length);
          Row::load(slope, dy + row * Row::length);
        }
        const auto weighted = [&](int k) { return times(slope[k], __ldg((const float4*)gamma + Row::vector(k))); };
        float mean, scale, of_slope, of_product;  // the last two: means over the row
        if (ROUNDS == 2) {
          float sums[2];
          Row::template sums<0>(sums, [&](int s, int k) { return s == 0 ? v[k] : weighted(k); });
          mean = sums[0] * inverse;
          of_slope = sums[1] * inverse;
          Row::template sums<1>(sums, [&](int s, int k) {
            const float4 centred = minus(v[k], mean);
            return times(centred, s == 0 ? centred : weighted(k));
          });
          scale = scale_of(sums[0] * inverse);
          of_product = sums[1] * scale * inverse;
        } else {
          mean = Row::template sum<0>([&](int k) { return v[k]; }) * inverse;
          scale = scale_of(Row::template sum<1>([&](int k) {
                             const float4 centred = minus(v[k], mean);
                             return times(centred, centred);
                           }) *
                           inverse);
          float sums[2];
          Row::template sums<2>(sums, [&](int s, int k) {
            return s == 0 ? weighted(k) : times(weighted(k), times(minus(v[k], mean), scale));
          });
          of_slope = sums[0] * inverse;
          of_product = sums[1] * inverse;
        }
        float4* to = (float4*)(dx + row * Row::length);
#pragma unroll
        for (int k = 0; k < VECTORS; ++k) {
          const float4 normal = times(minus(v[k], mean), scale), w = weighted(k), p = times(normal, of_product);
          to[Row::vector(k)] = times(minus({w.x - p.x, w.y - p.y, w.z - p.z, w.w - p.w}, of_slope), scale);
          if constexpr (COLUMNS) {
            d[k] = times(slope[k], normal);
            of_gamma[k] = r == 0 ? d[k] : add(of_gamma[k], d[k]);
            of_beta[k] = r == 0 ? slope[k] : add(of_beta[k], slope[k]);
          }
        }
        if (!COLUMNS && threadIdx.x % Row::threads == 0) statistics[row] = {mean, scale};
      }
      if constexpr (COLUMNS && levels > 0) {
        // The counter of pairwise joining, its levels in shared memory; each thread uses its own places.
        int level = 0;
        for (; chunk >> level & 1; ++level) {
          const float4* held = waiting + level * 2 * vectors;
#pragma unroll
          for (int k = 0; k < VECTORS; ++k) {
            of_gamma[k] = add(held[Row::vector(k)], of_gamma[k]);
            of_beta[k] = add(held[vectors + Row::vector(k)], of_beta[k]);
          }
        }
        if (chunk < CHUNKS - 1) {
          float4* held = waiting + level * 2 * vectors;
#pragma unroll
          for (int k = 0; k < VECTORS; ++k) {
            held[Row::vector(k)] = of_gamma[k];
            held[vectors + Row::vector(k)] = of_beta[k];
          }
        }
      }
    }
    if constexpr (COLUMNS) {
      float4* to = (float4*)partial + i64(run) * 2 * vectors;
#pragma unroll
      for (int k = 0; k < VECTORS; ++k) {
        to[Row::vector(k)] = of_gamma[k];
        to[vectors + Row::vector(k)] = of_beta[k];
      }
    }
  }
}

// The second stage: partial[runs] of both gradients, next to each other.
template <int VEC, int X, int Y>
KERNEL(X* Y)
gradients_join(const float* partial, float* out, int columns, int runs) {
  join_partials<VEC, X, Y>(partial, out, columns, runs, int(blockIdx.x));
}

// --- Backwards, the columns as a kernel of their own -----------------------------------------------------------------

// Like column_sum of columns.cu, for two sums. `partial` is that of the kernel above.
template <int VEC, int X, int Y, int BLOCKS>
KERNEL_OF(X* Y, BLOCKS)
parameter_gradients(const float* x, const float* dy, const float2* statistics, float* partial, int columns,
                    int chunks) {
  const int lane = int(threadIdx.x) % X, group = int(threadIdx.x) / X, column = (int(blockIdx.x) * X + lane) * VEC;
  i64 row = (i64(blockIdx.y) * Y + group) * chunks * 16;
  const i64 step = columns / VEC;
  const auto* from_x = (const Floats<VEC>*)(x + row * columns + column);
  const auto* from_dy = (const Floats<VEC>*)(dy + row * columns + column);
  Pairwise<Floats<2 * VEC>, 4> pieces;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    Floats<2 * VEC> sum;
    Floats<VEC> v[16], slope[16];
#pragma unroll
    for (int r = 0; r < 16; ++r) {
      v[r] = from_x[r * step];
      slope[r] = from_dy[r * step];
    }
#pragma unroll
    for (int r = 0; r < 16; ++r) {
      const float2 of_row = __ldg(statistics + row + r);
#pragma unroll
      for (int k = 0; k < VEC; ++k) {
        const float product = slope[r].at[k] * ((v[r].at[k] - of_row.x) * of_row.y);
        sum.at[k] = r == 0 ? product : sum.at[k] + product;
        sum.at[VEC + k] = r == 0 ? slope[r].at[k] : sum.at[VEC + k] + slope[r].at[k];
      }
    }
    from_x += 16 * step;
    from_dy += 16 * step;
    row += 16;
    pieces.push(sum, chunk);
  }
  const Floats<2 * VEC> sum = join_groups<2 * VEC, X, Y>(pieces.total(chunks), Y);
  if (group == 0) {
    float* to = partial + i64(blockIdx.y) * 2 * columns + column;
#pragma unroll
    for (int k = 0; k < VEC; ++k) {
      to[k] = sum.at[k];
      to[columns + k] = sum.at[VEC + k];
    }
  }
}
