#include <croton/croton.hpp>
namespace ct = croton;
int main() {
  auto x = ct::vector("x");
  auto f = ct::function({x}, ct::sum(x * x));
  auto result = f(ct::Array::arange(0, 4, 1, ct::DType::float32));
  return result.item<float>() == 14.0f ? 0 : 1;
}
