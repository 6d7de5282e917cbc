// croton_differential: random graphs in the reference evaluator, on the CPU and on the simulated GPU; see
// docs/internals/differential.md.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "campaign.hpp"
#include "planted.hpp"
#include "program.hpp"
#include "report.hpp"
#include "runtime/simulator/kernels.hpp"
#include "shrink.hpp"

namespace {

using namespace differential;

constexpr std::string_view usage =
    "croton_differential [--graphs N] [--first N] [--seed N] [--jobs N] [--batch N] [--share N] [--loops N]\n"
    "                    [--simulate 0|1]\n"
    "                    [--report FILE.json] [--every-rule 0|1] [--most-failures N] [--shrink N] [--only-gradients "
    "0|1]\n"
    "croton_differential --planted N [--seed N] [--only WORDS]  finds the planted bugs, each among N graphs at most\n"
    "croton_differential --show NUMBER [--seed N]            prints the program of one graph\n";

struct Arguments {
  CampaignOptions campaign;
  std::uint64_t jobs = 2, shrink = 300, planted = 0, show = 0;
  bool every_rule = false, shows = false;
  std::string report, only;
};

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(name);
    const std::string value = argv[i + 1];
    if (name == "--report") {
      a.report = value;
      continue;
    }
    if (name == "--only") {
      a.only = value;
      continue;
    }
    const std::uint64_t number = std::stoull(value);
    if (name == "--graphs")
      a.campaign.graphs = number;
    else if (name == "--first")
      a.campaign.first = number;
    else if (name == "--seed")
      a.campaign.seed = number;
    else if (name == "--jobs")
      a.jobs = std::max<std::uint64_t>(1, number);
    else if (name == "--batch")
      a.campaign.batch = std::max<std::uint64_t>(1, number);
    else if (name == "--share")
      a.campaign.share = std::max<std::uint64_t>(1, number);
    else if (name == "--loops")
      a.campaign.loops = std::max<std::uint64_t>(1, number);
    else if (name == "--simulate")
      a.campaign.simulate = number != 0;
    else if (name == "--every-rule")
      a.every_rule = number != 0;
    else if (name == "--only-gradients")
      a.campaign.only_gradients = number != 0;
    else if (name == "--most-failures")
      a.campaign.most_failures = number;
    else if (name == "--shrink")
      a.shrink = number;
    else if (name == "--planted")
      a.planted = number;
    else if (name == "--show")
      a.shows = true, a.show = number;
    else
      throw std::invalid_argument(name);
  }
  return a;
}

Report work(const CampaignOptions& options, int attempts) {
  Campaign campaign = run_campaign(options);
  Report report{std::move(campaign.tally), std::move(campaign.coverage), {}};
  for (const std::string& fault : campaign.size_faults) report.found.push_back({"sizes", fault, "", 0, 0});
  for (const Failure& failure : campaign.failures) {
    const Failure least = shrink(failure, attempts);
    report.found.push_back(
        {least.setting.name, least.what, program_of(least), failure.test.seed, least.test.nodes.size()});
  }
  return report;
}

/// The batches are divided among processes: compilation holds locks, so threads would wait for each other.
Report run_in_processes(const Arguments& a) {
  const std::string folder = std::filesystem::temp_directory_path() / fmt::format("croton_differential_{}", getpid());
  std::vector<pid_t> children;
  for (std::uint64_t job = 0; job < a.jobs; ++job) {
    const pid_t child = fork();
    if (child == 0) {
      CampaignOptions options = a.campaign;
      options.part = job;
      options.parts = a.jobs;
      if (job == 0 && isatty(STDERR_FILENO) != 0) {
        options.progress = [&](std::uint64_t done, std::size_t failures) {
          const auto all = static_cast<double>(a.campaign.graphs) / static_cast<double>(a.jobs);
          const auto filled = static_cast<std::size_t>(40 * std::min(1.0, static_cast<double>(done) / all));
          std::cerr << fmt::format("\r[{:40}] {} of {} graphs, {} failures", std::string(filled, '#'),
                                   std::min(done * a.jobs, a.campaign.graphs), a.campaign.graphs, failures)
                    << std::flush;
        };
      }
      const Report report = work(options, static_cast<int>(a.shrink));
      std::ofstream file(folder + "_" + std::to_string(job));
      write(report, file);
      file.close();
      _exit(file ? 0 : 1);
    }
    children.push_back(child);
  }
  Report all;
  for (std::uint64_t job = 0; job < a.jobs; ++job) {
    int status = 0;
    waitpid(children[job], &status, 0);
    const std::string name = folder + "_" + std::to_string(job);
    if (status != 0) all.found.push_back({"process", fmt::format("a worker ended with status {}", status), "", 0, 0});
    std::ifstream file(name);
    all.merge(read(file));
    std::filesystem::remove(name);
  }
  if (isatty(STDERR_FILENO) != 0) std::cerr << "\n";
  return all;
}

int show(const Arguments& a) {
  const Failure as_if{
      make_case(a.campaign.seed, a.show, false, is_smooth(a.show, false), a.campaign.share, a.campaign.loops),
      {"run", "mode=run", Freedom::special},
      Fault::value,
      "a graph",
      0,
      0};
  std::cout << program_of(as_if);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  try {
    a = parse(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "not understood: " << e.what() << "\n" << usage;
    return 2;
  }
  ct::set_flag("threads", "1");  // results do not depend on it, and each core runs one process
  croton::runtime::simulator::compile_together(true);
  if (a.shows) return show(a);
  if (a.planted > 0) return find_planted(a.campaign.seed, a.planted, a.only) ? 0 : 1;
  const Report report = run_in_processes(a);
  std::cout << summary(report);
  for (const Found& found : report.found) {
    std::cout << fmt::format("\n==== {} (graph of seed {}, reduced to {} nodes): {}\n{}", found.setting, found.seed,
                             found.nodes, found.what, found.program);
  }
  const std::vector<std::string> missing = shortfalls(report, a.campaign.share, a.every_rule);
  for (const std::string& what : missing) std::cout << "not reached: " << what << "\n";
  if (!a.report.empty()) std::ofstream(a.report) << json(report);
  return report.found.empty() && missing.empty() ? 0 : 1;
}
