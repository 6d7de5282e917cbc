#include "memory.hpp"

#include <malloc.h>

#include <fstream>
#include <stdexcept>
#include <string>

namespace bench {

namespace {

double status_mib(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (double kib = 0; word == key && status >> kib) return kib / 1024;
  }
  throw std::runtime_error("/proc/self/status does not tell " + key);
}

}  // namespace

double resident_mib() { return status_mib("VmRSS:"); }

double peak_mib() { return status_mib("VmHWM:"); }

void forget_peak() {
  malloc_trim(0);
  if (!(std::ofstream("/proc/self/clear_refs") << "5" << std::flush)) {
    throw std::runtime_error("/proc/self/clear_refs cannot be written, so the peak would be that of the inputs");
  }
}

}  // namespace bench
