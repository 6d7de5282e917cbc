// The placement log: the device of each op with the reason, and the transfers of calls (devices.cpp).
#pragma once

#include <croton/device.hpp>

#include <span>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "compile.hpp"
#include "runtime/bound/executable.hpp"

namespace croton::detail {

/// Whether the log is on. The log functions ignore errors of the stream, which are not errors of the call.
bool logs_placement(const base::Flags& flags);
void log_placement(const std::string& function, const Planned& planned) noexcept;
void log_call(const std::string& function, std::span<const runtime::Transferred> transfers) noexcept;
/// The names of the devices on which steps run, besides transfers.
std::vector<std::string> devices_of(const runtime::Executable& executable);
/// The result of placement: one line for each op of the graph. `log`: its reasons.
std::string print_placement(const expr::Graph& graph, std::span<const rewrite::Placement> log);
/// The same for a plan, in the order in which the ops run.
std::string print_placement(const Planned& planned);
/// Transfers with the names of variables and devices.
std::vector<TransferInfo> describe_transfers(std::span<const runtime::Transferred> transfers);

}  // namespace croton::detail
