// A library that claims to be oneDNN, with the version and the threads of FAKE_DNN_VERSION ("3 4": version 3 with TBB),
// and has no other functions.
#include <cstdio>
#include <cstdlib>

namespace {
struct Version {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};
}  // namespace

extern "C" const Version* dnnl_version() {
  static Version version{};
  const char* text = std::getenv("FAKE_DNN_VERSION");
  if (text == nullptr || std::sscanf(text, "%d %u", &version.major, &version.cpu_runtime) != 2) version.major = 0;
  return &version;
}
