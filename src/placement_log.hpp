// The placement log: where each op runs and why, and what calls send between devices (devices.cpp).
#pragma once

#include <croton/device.hpp>

#include <span>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "compile.hpp"
#include "runtime/bound/executable.hpp"

namespace croton::detail {

/// Whether anybody wants it now. What a stream throws while it is written to is not the call's error.
bool logs_placement(const base::Flags& flags);
void log_placement(const std::string& function, const Planned& planned) noexcept;
void log_call(const std::string& function, std::span<const runtime::Transferred> transfers,
              const runtime::Executable& executable) noexcept;
/// A line for each op, in the order in which they run.
std::string print_placement(const Planned& planned);
/// Transfers in words.
std::vector<TransferInfo> describe_transfers(std::span<const runtime::Transferred> transfers,
                                             const runtime::Executable& executable);

}  // namespace croton::detail
