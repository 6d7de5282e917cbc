// Facts of compiled kernels: what the compiler's log and the cubin say about registers and memory.
#pragma once

#include <croton/function.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace croton::runtime::cuda {

/// What a log of ptxas (options of Form::facts) says, one for each entry, in the log's order. Parts that it does not
/// have are 0.
std::vector<KernelFacts> parse_log(std::string_view log);

/// What the log says, and the constants of the cubin, which newer compilers do not log. In the order of names.
/// DeviceError for a log that says nothing of the cubin's kernels.
std::vector<KernelFacts> collect_facts(std::string_view log, std::span<const std::byte> cubin);

/// As they are kept in the kernel cache: a line each, without times, so that equal kernels have equal entries.
std::string write_facts(std::span<const KernelFacts> facts);
/// InternalError for other text.
std::vector<KernelFacts> read_facts(std::string_view text);

}  // namespace croton::runtime::cuda
