// A library with the interface of OpenBLAS that distinguishes two processors and chooses its kernels as OpenBLAS does:
// once, when it is loaded, from the environment or else by detection (FAKE_OPENBLAS_CORE is the detected processor).
#include <cstdlib>
#include <string>

namespace {

const std::string& core() {
  static const std::string chosen = [] {
    for (const char* name : {"OPENBLAS_CORETYPE", "FAKE_OPENBLAS_CORE"})
      if (const char* value = std::getenv(name)) return std::string(value);
    return std::string("Prescott");
  }();
  return chosen;
}

const struct ChosenWhenLoaded {
  ChosenWhenLoaded() { core(); }
} chosen_when_loaded;

template <class T>
void multiply(int m, int n, int k, T alpha, const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc) {
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      T sum = 0;
      for (int l = 0; l < k; ++l) sum += a[i * lda + l] * b[l * ldb + j];
      c[i * ldc + j] = alpha * sum + (beta == 0 ? T(0) : beta * c[i * ldc + j]);
    }
}

}  // namespace

extern "C" {
const char* openblas_get_config() { return "OpenBLAS 9.9.9 DYNAMIC_ARCH for tests"; }
const char* openblas_get_corename() { return core().c_str(); }
void cblas_sgemm(int, int, int, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb,
                 float beta, float* c, int ldc) {
  multiply(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void cblas_dgemm(int, int, int, int m, int n, int k, double alpha, const double* a, int lda, const double* b, int ldb,
                 double beta, double* c, int ldc) {
  multiply(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
}
