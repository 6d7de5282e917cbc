// A kind of device that is not part of the library, with only the required parts of a back-end. Its files
// have the names that files of the same role have in runtime/cuda/, runtime/cpu/ and runtime/simulator/.
#pragma once

#include <cstdint>

namespace croton::test::stub {

/// While one lives there is a device stub0.
class Present {
 public:
  Present();
  ~Present();
};

/// How often stub0 has been asked for something since the start.
struct Work {
  std::uint64_t launches = 0, products = 0, copies_in = 0, copies_out = 0;
};
Work work();

}  // namespace croton::test::stub
