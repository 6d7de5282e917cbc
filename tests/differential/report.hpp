// The report of a campaign: to the terminal, to a JSON file, and from a worker process to its parent.
#pragma once

#include "campaign.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace differential {

struct Found {
  std::string setting, what, program;
  std::uint64_t seed = 0;
  std::size_t nodes = 0;  // after reduction
};

struct Report {
  Tally tally;
  Coverage coverage;
  std::vector<Found> found;
  void merge(const Report& other);
};

/// The coverage that a campaign lacks, if every op was dealt to one in `share` graphs; empty if it is complete.
std::vector<std::string> shortfalls(const Report& report, std::uint64_t share, bool every_rule);

std::string summary(const Report& report);
std::string json(const Report& report);

/// Lines of "kind count name", and failures with their programs.
void write(const Report& report, std::ostream& to);
Report read(std::istream& from);

}  // namespace differential
