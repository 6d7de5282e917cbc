// Known bugs of the library that are not fixed yet. Graphs avoid them; the run prints the list.
#pragma once

#include "tolerance.hpp"

#include <span>

namespace differential {

struct KnownFault {
  const char* what;
  bool (*hit)(const ct::builder::Node& node, const NodeValues& values);
};

std::span<const KnownFault> known_faults();
/// Whether a node of the variable's graph has one of these faults; all nodes have values.
bool has_known_fault(const Variable& variable, const NodeValues& values);

}  // namespace differential
