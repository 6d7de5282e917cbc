// Each routine (codegen_templates/routines/), and random draws, with the bits of the CPU.
#include <croton/nnet_losses.hpp>
#include <croton/random.hpp>
#include <croton/sorting.hpp>

#include "programs.hpp"

namespace croton::smoke {
namespace {

using Vars = std::vector<Variable>;

/// Functions of a vector and a matrix.
Program routine(const std::string& name, const std::string& kernel,
                const std::function<Vars(const Variable&, const Variable&)>& f) {
  return {
      name, kernel,
      [f] {
        const Variable v = vector("v"), m = matrix("m");
        return Graph{{{v}, {m}}, f(v, m)};
      },
      [](const Size& s) { return std::vector<Array>{reals({s.rows * s.columns}, 1), reals({s.rows, s.columns}, 2)}; }};
}

Program scatter() {
  return {"scatter: adding and setting rows", "ct::Scatter",
          [] {
            const Variable m = matrix("m"), from = matrix("from"), at = lvector("at");
            return Graph{{m, from, at}, {inc_subtensor(m[at], from), set_subtensor(m[at], from)}};
          },
          [](const Size& s) {
            return std::vector<Array>{reals({s.rows, s.columns}, 1), reals({2 * s.rows, s.columns}, 2),
                                      whole({2 * s.rows}, 3, s.rows)};
          }};
}

Program ctc() {
  return {"ctc_paths and ctc_paths_grad", "ct::CtcForward",
          [] {
            const Variable a = tensor3("a"), labels = lmatrix("labels"), lengths = lvector("lengths");
            const Variable cost = nnet::ctc(a, labels, lengths);
            return Graph{{a, labels, lengths}, {cost, grad(sum(cost), {a})[0]}};
          },
          [](const Size& s) {
            const std::int64_t sequences = std::min<std::int64_t>(s.rows, 64),
                               steps = std::min<std::int64_t>(s.columns, 50);
            return std::vector<Array>{reals({steps, sequences, 6}, 1), whole({sequences, 4}, 2, 6),
                                      Array::full(DType::int64, {sequences}, static_cast<double>(steps))};
          }};
}

Program draws() {
  return {"random: uniform, normal and integers",
          "",
          [] {
            RandomStreams streams(234);
            const Variable n = lscalar("n");
            return Graph{{n},
                         {streams.uniform({n, 7}), streams.normal({n, 5}), streams.random_integers({n, 3}, 0, 99)}};
          },
          [](const Size& s) { return std::vector<Array>{Array(s.rows)}; },
          0,
          "",
          false};
}

}  // namespace

std::vector<Check> routine_checks() {
  const std::vector<Program> programs{
      routine("argsort: of a vector, and of rows", "ct::ArgSort",
              [](const Variable& v, const Variable& m) { return Vars{argsort(v), sort(m, 1), topk(v, 3)}; }),
      routine("argsort_rows: different rows", "ct::ArgSortRows",
              [](const Variable& v, const Variable& m) {
                return Vars{unique(floor(m * 3), 0).values, unique(floor(v * 9)).values};
              }),
      routine("searchsorted", "ct::SearchSorted",
              [](const Variable& v, const Variable& m) { return Vars{searchsorted(sort(v), m)}; }),
      routine("cumsum and cumprod", "ct::Cumulate",
              [](const Variable& v, const Variable& m) { return Vars{cumsum(v), cumsum(m, 0), cumprod(m, 1)}; }),
      routine("linear_recurrence: the gradient of cumprod", "ct::Recurrence",
              [](const Variable& v, const Variable& m) { return Vars{grad(sum(cumprod(m, 1)) + sum(v), {m})[0]}; }),
      routine("nonzero and compress", "",
              [](const Variable& v, const Variable& m) { return Vars{flatnonzero(v > 0), compress(m[0] > 0, m, 1)}; }),
      scatter(),
      ctc(),
      draws()};
  std::vector<Check> checks;
  for (const Program& program : programs) checks.push_back(check_of(program));
  return checks;
}

}  // namespace croton::smoke
