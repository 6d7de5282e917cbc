// Data that Croton ships.
#include <croton/io.hpp>

#include "core/arrays.hpp"
#include "core/bindings.hpp"

namespace croton::python {

void bind_data(nb::module_& m) {
  m.def(
      "digits",
      [](int side) {
        const io::Digits digits = io::digits(side);
        return nb::make_tuple(to_numpy(digits.images), to_numpy(digits.labels));
      },
      "side"_a = 8,
      "(images, labels) of 1,797 handwritten digits: float32 (n, side * side), 0 (paper) to 1 (ink), each image by "
      "rows; int32 (n), 0 to 9. From E. Alpaydin and C. Kaynak, 1998, doi 10.24432/C50P49, licence CC BY 4.0.");
}

}  // namespace croton::python
