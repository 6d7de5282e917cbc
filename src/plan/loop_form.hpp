// How a loop runs: as one launch, or a step at a time: by the host, or by a GPU that was given the steps as a graph.
#pragma once

#include "plan/plan.hpp"

#include <string>

namespace croton::plan {

/// Why the host runs such a loop a step at a time; empty where one launch may run all steps. (At some sizes the host
/// runs it all the same: runtime/loops/native_loop.hpp.)
std::string why_by_steps(const fuse::Program& body, const Plan& plan);

/// A product in a loop of a GPU is a thread an element. Why that will not do where each block has rows of its own, or
/// where all blocks work on it; empty where it does. `right_bytes`: of the right matrix; `cache_bytes`: of the
/// second-level cache.
std::string product_too_much_of_rows(std::int64_t right_bytes);
std::string product_too_much_of_grid(std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t right_bytes,
                                     std::int64_t cache_bytes);

/// Why steps that the host runs cannot be recorded on a GPU (runtime/loops/repeated_work.hpp), because they need the
/// host in between; empty where they can.
std::string why_not_recorded(const fuse::Program& body, const Plan& plan, const expr::Loop& loop);

/// How many launches a step asks of a GPU, about.
std::int64_t count_launches(const fuse::Program& body, const Plan& plan);

/// How a loop runs that is not one launch for that reason: "by the host, a step at a time: it has a branch inside".
/// `graphs`: whether the device may be given CUDA graphs.
std::string describe_steps(const fuse::LoopCall& call, const Plan& body_plan, std::string_view why, bool on_gpu,
                           bool graphs);
/// "all steps in one launch", or how else the loop runs and why, as far as its form and the sizes that are stated tell.
std::string describe_loop(const fuse::Program& program, const fuse::Call& call, const Plan& body_plan);

}  // namespace croton::plan
