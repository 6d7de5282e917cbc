// mode=verify: compares the results of a call with the imported graph, unfused and in double precision.
#pragma once

#include <croton/verification.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "expr/graph.hpp"
#include "expr/rounding.hpp"
#include "rewrite/pipeline.hpp"
#include "run_graph.hpp"

namespace croton::detail {

/// A call that has run and has not changed anything yet.
struct CallToVerify {
  std::string name;             // of the function
  const expr::Graph& imported;  // as imported
  rewrite::Options rewriting;
  bool rewrites_specials;      // rules may have removed a NaN or an infinity
  std::vector<Array> inputs;   // in the order of the graph, on the host
  std::vector<Array> results;  // outputs, then updates, on the host
  GraphRun how;                // how the call was run
};

/// Verifies a call. VerificationError, with the fault that was found, if the results differ by more than rounding.
Verification verify_call(const CallToVerify& call);

/// The expected results of a graph: in double precision with bounds of rounding, and, for infinities, in their own
/// dtypes by the reference evaluator.
class Expected {
 public:
  Expected(const expr::Graph& graph, std::span<const Array> inputs);

  /// A description of the difference between result `i` and the expected values; nothing if they agree. `forgiving`:
  /// finite numbers are accepted where NaN or an infinity is expected.
  std::optional<std::string> fault(std::size_t i, const Array& got, bool forgiving) const;
  bool agrees(std::span<const Array> got, bool forgiving) const;
  /// The largest error of result `i` in ULP, its element, and the allowed error there.
  struct Largest {
    double ulp = 0;
    double allowed_ulp = 0;
    std::int64_t at = 0;
  };
  Largest largest(std::size_t i, const Array& got) const;
  double exact(std::size_t i, std::int64_t at) const { return exact_[i].value.as_double(at); }

 private:
  double allowed(std::size_t i, std::int64_t at) const;

  std::vector<expr::Bounded> exact_;
  std::vector<Array> narrow_;
};

/// The description of a fault: the rule or the kernel, and the path of the minimal program.
std::string describe_fault(const CallToVerify& call, const Expected& expected, bool fused);

}  // namespace croton::detail
