// A kind of device that is not part of the library, with only the required parts of a back-end. Its files
// have the names that files of the same role have in runtime/cuda/, runtime/cpu/ and runtime/simulator/.
#pragma once

#include <cstdint>

namespace croton::test::stub {

/// The device stub0 exists during its lifetime.
class Present {
 public:
  Present();
  ~Present();
};

/// The number of operations of stub0 since the start.
struct Work {
  std::uint64_t launches = 0, products = 0, copies_in = 0, copies_out = 0;
};
Work work();

}  // namespace croton::test::stub
