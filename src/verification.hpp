// mode=verify: a call's results against the graph as it was written, unfused and in double precision.
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

/// A call that has run and not yet changed anything.
struct CallToVerify {
  std::string name;            // of the function
  const expr::Graph& written;  // as imported
  rewrite::Options rewriting;
  bool rewrites_specials;      // rules may have removed a NaN or an infinity
  std::vector<Array> inputs;   // of the graph, in its order, on the host
  std::vector<Array> results;  // outputs, then updates, on the host
  GraphRun how;                // it was run
};

/// VerificationError, with the fault looked for, if they differ by more than rounding.
Verification verify_call(const CallToVerify& call);

/// What the results of a graph may be: in double precision with the bounds of rounding, and by the reference evaluator
/// in their own dtypes, where infinities are judged by.
class Expected {
 public:
  Expected(const expr::Graph& graph, std::span<const Array> inputs);

  /// How result `i` differs from what it may be; nothing where it does not. `forgiving`: a finite number may stand
  /// where NaN or an infinity is expected.
  std::optional<std::string> fault(std::size_t i, const Array& got, bool forgiving) const;
  bool agrees(std::span<const Array> got, bool forgiving) const;
  /// The largest error of result `i` in ULP, its element, and what is allowed there.
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

/// What to say of a fault: the rule or the kernel, and where the minimal program is.
std::string describe_fault(const CallToVerify& call, const Expected& expected, bool fused);

}  // namespace croton::detail
