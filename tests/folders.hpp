// The folders of the tests' files. The build defines them; environment variables override them for programs that run on
// another machine than the one that built them (scripts/gpu_check.sh).
#pragma once

#include <cstdlib>
#include <string>

namespace croton::test {

/// The value of the environment variable, or else `built`.
inline std::string folder_of(const char* variable, const char* built) {
  const char* moved = std::getenv(variable);
  return moved != nullptr ? moved : built;
}

#ifdef CROTON_SOURCE_FOLDER
/// The root of the repository.
inline std::string source_folder() { return folder_of("CROTON_TEST_SOURCE_FOLDER", CROTON_SOURCE_FOLDER); }
#endif

#ifdef CROTON_FAKE_CUDA_FOLDER
/// The folder of the fake driver (fake_cuda/).
inline std::string fake_cuda_folder() { return folder_of("CROTON_TEST_FAKE_CUDA_FOLDER", CROTON_FAKE_CUDA_FOLDER); }
#endif

}  // namespace croton::test
