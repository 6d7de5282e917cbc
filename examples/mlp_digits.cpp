// A small network learns to read handwritten digits; the program itself is in mlp_digits.hpp, since `croton demo mlp`
// runs it too.
#include "mlp_digits.hpp"

int main(int argc, char** argv) {
  try {
    return mlp_digits::main("mlp_digits", {argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "mlp_digits: " << error.what() << "\n";
    return 1;
  }
}
