// The modelled time of a launch on a GPU, from what is known of a kernel when its sizes are known and its text is not
// yet: it chooses among the few schedules that a family has. Its constants are measured (machine_constants.hpp), and it
// orders measured variants of kernels as the measurements do (tests/unit/test_cost_model.cpp). It is a pure function of
// the sizes and the numbers of the device, so that the same call has the same schedules on all devices of a model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codegen/schedule.hpp"

namespace croton::codegen {

/// The work of a launch, as the model sees it.
struct LaunchWork {
  double bytes = 0;         // from and to memory, with those of partial results
  double instructions = 0;  // of all threads
  std::int64_t blocks = 1;
  BlockResources block;
  // How often a thread waits for memory, or for the second level of the cache; it waits once for all accesses that are
  // under way together.
  double waits = 1, cache_waits = 0;
  double joins = 0;        // of the states of a block's warps
  bool publishes = false;  // partial results, which the last block joins
  double last_waits = 0;   // of the last block for them, for the second level of the cache
  double meetings = 0;     // of blocks, each of which then reads what all have published, as the last block does
};

/// The bytes at the rate of a copy, the instructions at the rate of all schedulers, and the chain of what a thread
/// waits for, from wave to wave of blocks: of these three times the square root of the sum of their squares, since they
/// overlap in part; and the launch. That the bytes under way limit the rate (Little's law) is the chain.
double modelled_seconds(const LaunchWork& work, const Machine& machine);

/// The bytes that a kernel reads and writes if each operand moves once: those of the points and inner elements along
/// which an access moves.
double bytes_of_operands(const Analysis& analysis, const Launch& launch);
/// The cost of an element of the body, in additions.
int cost_of_element(const Analysis& analysis);
/// An estimate of the instructions of an element: they serve only to compare schedules.
double instructions_of_element(const Analysis& analysis);
/// The registers of a thread with so many bytes of operands and states in registers. `threads`: of a block. At least
/// half of the threads of a multiprocessor have room (Emitter::launch_bounds).
std::int64_t registers_of_thread(std::int64_t bytes, int threads);

/// The schedules among which the model chooses, in the order that the rules of the family prefer.
class Candidates {
 public:
  explicit Candidates(const Machine& machine);
  void add(const Schedule& schedule, const LaunchWork& work);
  bool empty() const { return all_.empty(); }
  /// The first one whose time is within two percent of the least: smaller differences are no reason for other numbers.
  const Schedule& best() const { return all_[chosen()].schedule; }
  /// "; modelled 5.21 us, with part=256 6.13 us": the chosen one and the best other one, by the numbers that `print`
  /// gives; empty if there is no other.
  std::string comparison(const std::function<std::string(const Schedule&)>& print) const;

 private:
  struct Candidate {
    Schedule schedule;
    double seconds;
  };
  std::size_t chosen() const;

  const Machine& machine_;
  std::vector<Candidate> all_;
};

}  // namespace croton::codegen
