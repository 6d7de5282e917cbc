// The memory of this process, as Linux counts it: in MiB of resident pages.
#pragma once

namespace bench {

double resident_mib();
/// The peak of resident memory since the start or the last forget_peak().
double peak_mib();
/// Releases free memory and resets the peak, so that the memory for making the inputs does not count.
void forget_peak();

}  // namespace bench
