// A campaign: a number of graphs from a seed, in batches, with their coverage and failures.
#pragma once

#include "coverage.hpp"
#include "generate.hpp"
#include "run.hpp"

#include <functional>
#include <string>
#include <vector>

namespace differential {

struct CampaignOptions {
  std::uint64_t seed = 1;
  std::uint64_t first = 0, graphs = 2000;  // the first graph of the seed, and how many
  std::size_t batch = 25;
  std::uint64_t part = 0, parts = 1;  // of the batches, the part of this process
  std::uint64_t share = 9;            // every op is dealt to one in so many graphs
  std::uint64_t loops = 6;            // one graph in so many has a loop or a lazy branch
  bool simulate = true;
  bool only_gradients = false;     // against differences, by the reference evaluator; nothing is compiled
  std::size_t most_failures = 20;  // the campaign ends after these
  std::function<void(std::uint64_t graphs, std::size_t failures)> progress;
};

struct Campaign {
  Tally tally;
  Coverage coverage;
  std::vector<Failure> failures;
  std::vector<std::string> size_faults;  // from check_sizes
};

/// The graph with this number: its profile and its settings depend only on the numbers.
Case make_case(std::uint64_t seed, std::uint64_t number, bool special, bool smooth, std::uint64_t share = 9,
               std::uint64_t loops = 6);
/// Whether the graph with this number is for gradients.
bool is_smooth(std::uint64_t number, bool special);
/// The settings of a batch. The first runs on the CPU with all rules.
std::vector<Setting> settings_of(std::uint64_t batch, std::uint64_t seed, bool special, bool simulate);

Campaign run_campaign(const CampaignOptions& options);

}  // namespace differential
