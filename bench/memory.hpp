// How much memory this process has, as Linux counts it: in MiB, of pages that are really there.
#pragma once

namespace bench {

double resident_mib();
/// The most that was resident since the start or the last forget_peak().
double peak_mib();
/// Gives free memory back and starts the peak anew, so that what made the inputs does not count.
void forget_peak();

}  // namespace bench
