// Define an expression, take its gradient, compile both into one function, call it, and look at a kernel.
#include <croton/croton.hpp>

#include <iostream>

namespace ct = croton;

int main() {
  ct::Variable x = ct::vector("x");
  ct::Variable y = ct::sum(ct::exp(-x * x) * ct::sin(x)).named("y");
  ct::Variable slope = ct::grad(y, x);

  ct::Function f = ct::function({x}, {y, slope});
  ct::Outputs result = f(ct::Array{0.f, 0.5f, 1.f});
  std::cout << "y     = " << result[0] << "\n"
            << "dy/dx = " << result[1] << "\n\n"
            << f.kernels("cuda:sm_90")[0].source;
}
