// The form in which a loop runs: as one launch, or step by step, by the host or by a GPU as a CUDA graph.
#pragma once

#include "plan/plan.hpp"

#include <string>

namespace croton::plan {

/// Why a loop runs step by step; empty if one launch may run all steps. (At some sizes it runs step by step in spite of
/// that: runtime/loops/native_loop.hpp.)
std::string why_by_steps(const fuse::Program& body, const Plan& plan);

/// In a loop of a GPU one thread computes one element of a product. These are the reasons why that is too slow: if each
/// block has its own rows, or if all blocks work on the product; empty if it is fast enough. `right_bytes`: the size of
/// the right matrix; `cache_bytes`: that of the second-level cache.
std::string why_not_product_in_rows(std::int64_t right_bytes);
std::string why_not_product_in_grid(std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t right_bytes,
                                    std::int64_t cache_bytes);

/// Why steps cannot be recorded on a GPU (runtime/loops/repeated_work.hpp): they need the host in between. Empty if
/// they can.
std::string why_not_recorded(const fuse::Program& body, const Plan& plan, const expr::Loop& loop);

/// The approximate number of launches of a step on a GPU.
std::int64_t count_launches(const fuse::Program& body, const Plan& plan);

/// Why there are no CUDA graphs, if that flag is off.
inline constexpr std::string_view graphs_are_off = "the flag cuda_graphs is off";

/// How a loop runs that is not one launch, with the reason `why`: "by the host, a step at a time: it has a branch
/// inside". `why_no_graphs`: why no CUDA graphs are used; empty: if the body allows, they are.
std::string describe_steps(const fuse::LoopCall& call, const Plan& body_plan, std::string_view why, bool on_gpu,
                           std::string_view why_no_graphs);
/// "all steps in one launch", or the other form of the loop and the reason for it, as far as the program and the stated
/// sizes determine them.
std::string describe_loop(const fuse::Program& program, const fuse::Call& call, const Plan& body_plan);

}  // namespace croton::plan
