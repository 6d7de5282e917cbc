// Facts of compiled kernels about registers and memory, from the compiler's log and the cubin.
#pragma once

#include <croton/function.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace croton::runtime::cuda {

/// The facts in a log of ptxas (options of Form::facts), one for each entry, in the log's order. Those that are missing
/// are 0.
std::vector<KernelFacts> parse_log(std::string_view log);

/// The facts in the log, and the constants of the cubin, which newer compilers do not log. In the order of names.
/// DeviceError for a log without the cubin's kernels.
std::vector<KernelFacts> collect_facts(std::string_view log, std::span<const std::byte> cubin);

/// Their text for the kernel cache: a line each, without times, so that equal kernels have equal entries.
std::string write_facts(std::span<const KernelFacts> facts);
/// InternalError for other text.
std::vector<KernelFacts> read_facts(std::string_view text);

}  // namespace croton::runtime::cuda
