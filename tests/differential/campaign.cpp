#include "campaign.hpp"

#include <fmt/format.h>

#include <ctime>

#include "hooks.hpp"
#include "loops.hpp"
#include "patterns.hpp"
#include "rewrite/loops.hpp"
#include "rewrite/pipeline.hpp"
#include "rewrite/placed_loops.hpp"
#include "rows.hpp"
#include "sizes.hpp"

namespace differential {
namespace {

constexpr std::uint64_t special_period = 4;    // every fourth batch has special values
constexpr std::uint64_t optimised_period = 8;  // every eighth is compiled with the users' default optimisation
constexpr int size_programs = 8;               // per batch
constexpr std::uint64_t trapping_period = 3;   // every third has kernels that check their arithmetic

bool knows_flag(std::string_view name) {
  for (const ct::FlagInfo& flag : ct::flags()) {
    if (flag.name == name) return true;
  }
  return false;
}

/// A random choice of rules by name, joined by '+'.
std::string some_rules(Random& random) {
  std::string names;
  for (const ct::rewrite::Group& group : ct::rewrite::groups()) {
    for (const ct::rewrite::Rule& rule : group.rules) {
      if (group.name != "expand" && random.chance(0.3)) names += (names.empty() ? "" : "+") + std::string(rule.name);
    }
  }
  for (const std::span<const ct::rewrite::Rule> rules : {ct::rewrite::loop_rules(), ct::rewrite::placed_loop_rules()}) {
    for (const ct::rewrite::Rule& rule : rules) {
      if (random.chance(0.3)) names += (names.empty() ? "" : "+") + std::string(rule.name);
    }
  }
  return names;
}

/// Deals `count` of the rows to the graph with this number, so that all rows occur equally often, in varying order.
template <class T>
void deal(const std::vector<T>& rows, std::uint64_t number, std::size_t count, std::vector<T>& to) {
  for (std::size_t i = 0; i < count && !rows.empty(); ++i) {
    const std::uint64_t position = number * count + i, round = position / rows.size();
    // A stride without a common factor visits every row once per round.
    static constexpr std::uint64_t strides[] = {1, 101, 211, 307, 401, 503};
    const std::uint64_t stride = strides[round % 6] % rows.size() == 0 ? 1 : strides[round % 6];
    to.push_back(rows[(position % rows.size() * stride + round * 17) % rows.size()]);
  }
}

}  // namespace

bool is_smooth(std::uint64_t number, bool special) { return !special && number % 5 == 2; }

Case make_case(std::uint64_t seed, std::uint64_t number, bool special, bool smooth, std::uint64_t share,
               std::uint64_t loops) {
  Profile profile;
  profile.special = special;
  profile.smooth = smooth;
  deal(op_rows(), number, op_rows().size() / share + 1, profile.deal);
  deal(rows_of_ops(), number, rows_of_ops().size() / share + 1, profile.deal);
  deal(function_rows(), number, 1, profile.deal);
  deal(pattern_rules(), number, 1, profile.patterns);
  if (number % loops == 0) profile.loop = loop_rows()[number / loops % loop_rows().size()];
  profile.steps = share > 9 ? 5 : 8;
  // An error that only the import detects (a size that is known to be 0) is the random program's error: another graph
  // is made.
  for (std::uint64_t salt = 0;; ++salt) {
    Case made = Generator(seed * 1'000'003 + number + (salt << 40), profile).run();
    try {
      Coverage().observe(prepare(made));
      return made;
    } catch (const ct::InternalError&) {
      return made;  // a fault, which the run finds again
    } catch (const ct::Error&) {
      if (salt > 8) throw;
    }
  }
}

std::vector<Setting> settings_of(std::uint64_t batch, std::uint64_t seed, bool special, bool simulate) {
  std::string values = special ? ",special_values=ieee" : ",special_values=theano";
  const Freedom freedom = special ? Freedom::overflow : Freedom::special;
  // Compilation takes most of the time: only some batches have the users' default optimisation.
  values += batch % optimised_period == 5 ? ",llvm_level=3" : ",llvm_level=0";
  // Every third batch ends the process where a kernel does what C++ leaves undefined.
  if (batch % trapping_period == 1) values += ",check_arithmetic=true";
  // Results do not depend on threads. Small work is divided among threads, too.
  static constexpr int threads[] = {1, 3, 2, 5, 4};
  const int count = threads[batch % std::size(threads)];
  const std::string shared_out = count == 1 ? "" : fmt::format(",threads={},schedule=grain=1", count);
  std::vector<Setting> settings{{"run", "mode=run" + values + shared_out, freedom}};
  if (simulate) settings.push_back({"simulate", "mode=simulate" + values, freedom});
  settings.push_back({"reference", "mode=reference" + values, freedom});
  static const bool has_rules_off = knows_flag("rules_off");
  // Kernels of single ops are numerous: they are compiled in some batches, and evaluated in the others.
  Random random(seed + batch);
  const std::string mode = batch % 2 == 0 ? "mode=reference" : "mode=run";
  switch (batch / 2 % 5) {
    case 0:
    case 1:
      settings.push_back({"fast_compile", mode + ",optimizer=fast_compile" + values, freedom});
      break;
    case 2:
      settings.push_back({"no rules", "mode=run,optimizer=none" + values, Freedom::none});
      break;
    default:
      if (has_rules_off)
        settings.push_back({"some rules", mode + ",rules_off=" + some_rules(random) + values, freedom});
  }
  return settings;
}

Campaign run_campaign(const CampaignOptions& options) {
  Campaign campaign;
  hooks().part = [&](const ct::codegen::Part& part) { campaign.coverage.observe(part); };
  std::uint64_t done = 0;
  for (std::uint64_t first = options.first, b = 0; first < options.first + options.graphs;
       first += options.batch, ++b) {
    // Batches with special values and optimised batches take longer; they are evenly spaced, so that each part gets
    // some.
    if ((b + b / special_period + b / optimised_period) % options.parts != options.part) continue;
    const std::uint64_t end = std::min(first + options.batch, options.first + options.graphs);
    const bool special = !options.only_gradients && first / options.batch % special_period == special_period - 1;
    const auto settings = settings_of(first / options.batch, options.seed, special, options.simulate);
    const bool fast_compile = std::ranges::any_of(settings, [](const Setting& s) { return s.name == "fast_compile"; });
    std::vector<Prepared> batch;
    const std::clock_t start = std::clock();
    for (std::uint64_t number = first; number < end; ++number) {
      batch.push_back(
          prepare(make_case(options.seed, number, special, options.only_gradients || is_smooth(number, special),
                            options.share, options.loops),
                  fmt::format("g{}_", number)));
      try {
        campaign.coverage.observe(batch.back(), fast_compile);
      } catch (const ct::InternalError& e) {
        const Setting cpu = settings_of(0, options.seed, special, false)[0];
        campaign.failures.push_back({batch.back().test, cpu, Fault::error, fmt::format("raises {}", e.what())});
        batch.pop_back();
      }
    }
    campaign.tally.seconds["generate"] += static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (!options.only_gradients) {
      for (Failure& failure : run_batch(batch, settings, {}, campaign.tally))
        campaign.failures.push_back(std::move(failure));
    }
    for (Prepared& p : batch) {
      if (!p.test.smooth) continue;
      if (auto failure = check_gradients(p, campaign.tally)) campaign.failures.push_back(std::move(*failure));
    }
    if (!options.only_gradients) {
      Random random(options.seed * 1'000'003 + first);
      for (std::string& fault : check_sizes(random, settings, size_programs))
        campaign.size_faults.push_back(std::move(fault));
      campaign.tally.probes += size_programs * settings.size();
    }
    done += end - first;
    if (options.progress) options.progress(done, campaign.failures.size() + campaign.size_faults.size());
    if (campaign.failures.size() + campaign.size_faults.size() >= options.most_failures) break;
  }
  hooks().part = nullptr;
  return campaign;
}

}  // namespace differential
