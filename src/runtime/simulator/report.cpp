#include "runtime/simulator/report.hpp"

#include <fmt/format.h>

#include "runtime/simulator/fiber.hpp"

namespace croton::runtime::simulator {
namespace {

const char* verb(const Access& access) {
  if (access.is_atomic()) return "atomic access";
  return access.writes() ? "write" : "read";
}

std::string describe_missing(const Finding& finding, unsigned own_block, const LaunchShape& shape) {
  const std::string reader = "thread " + name_of(shape.block(), finding.missing.thread);
  switch (finding.missing.kind) {
    case Missing::Kind::warp_barrier:
      return "no barrier between: shuffles and votes order nothing; use __syncwarp()";
    case Missing::Kind::fence_after:
      return fmt::format(
          "{} has read the value that tells of it, but its reader needs a fence after it (__threadfence)", reader);
    case Missing::Kind::barrier_after:
      return fmt::format("only {} has read the value that tells of it, with no barrier after that", reader);
    case Missing::Kind::order:
      break;
  }
  if (finding.other.block == own_block) return "no barrier between";
  return shape.strict ? "nothing between that orders them (a fence and then an atomic write there, an atomic read and "
                        "then a fence here, or a grid barrier)"
                      : "nothing between that orders them (blocks wait for each other by a fence and an atomic, or a "
                        "grid barrier)";
}

std::string describe_race(const Finding& finding, const std::string& what, const std::string& line,
                          const Program& program, bool shared, unsigned own_block, const LaunchShape& shape) {
  std::string other = "thread " + name_of(shape.block(), finding.other.thread);
  if (finding.other.block != own_block) other += " of block " + name_of(shape.grid(), finding.other.block);
  const std::string missing = describe_missing(finding, own_block, shape);
  return fmt::format("race in {} memory: {}, {}; {} {} there with {}, {}", shared ? "shared" : "global", what, line,
                     other, finding.other_writes ? "wrote" : "read", missing,
                     program.describe_place(finding.other.place));
}

}  // namespace

std::string describe(const Finding& finding, const Program& program, const AccessChecker* checker, unsigned own_block,
                     const LaunchShape& shape) {
  const Access& access = finding.access;
  const std::string what = fmt::format("{} of {} bytes at {:#x}", verb(access), access.size, access.address);
  const std::string line = program.describe_place(access.place);
  const auto where = [&] { return checker == nullptr ? "" : checker->describe_place(access.address, access.size); };
  switch (finding.kind) {
    case Finding::Kind::out_of_bounds:
      return fmt::format("out-of-bounds {}, {}; {}", what, line, where());
    case Finding::Kind::local_out_of_bounds:
      return fmt::format("out-of-bounds {}, {}; it is outside a local or constant array of {} bytes", what, line,
                         finding.number);
    case Finding::Kind::constant:
      return fmt::format("{} in a constant, {}; {}", what, line, where());
    case Finding::Kind::misaligned:
      return fmt::format("misaligned {}, {}; it must be a multiple of {}", what, line, access.alignment());
    case Finding::Kind::uninitialised:
      return fmt::format("uninitialised {}, {}; nothing was written there yet; {}", what, line, where());
    case Finding::Kind::race:
      return describe_race(finding, what, line, program, checker != nullptr && checker->is_shared(access.address),
                           own_block, shape);
    case Finding::Kind::shuffle_from_outside:
      return fmt::format("a shuffle reads lane {}, which its mask does not name, {}", finding.number, line);
    case Finding::Kind::outside_own_mask:
      return fmt::format("a shuffle, vote or __syncwarp whose mask {:#010x} does not name the lane that calls it, {}",
                         finding.number, line);
    case Finding::Kind::grid_barrier:
      return fmt::format(
          "a grid barrier in a launch that is not cooperative, {}; its blocks need not run at the same time", line);
    case Finding::Kind::endless:
      return fmt::format("a loop that seems to be endless, {}", line);
    case Finding::Kind::assertion:
      return fmt::format("an assertion does not hold, {}", line);
    case Finding::Kind::trap:
      return fmt::format("the kernel traps, {}", line);
    case Finding::Kind::no_return:
      return fmt::format(
          "a function with a result ends without a return, or reaches code that it declares unreachable, {}", line);
    case Finding::Kind::divisor:
      return fmt::format("an integer division by 0, {}", line);
    case Finding::Kind::quotient:
      return fmt::format("the lowest integer is divided by -1, which has no result of its type, {}", line);
    case Finding::Kind::function:
      return fmt::format("a call through a pointer that is not a function's, or of a pure virtual function, {}", line);
    case Finding::Kind::function_type:
      return fmt::format(
          "a call through a pointer of a function of another type, {}; its arguments or its result are not passed as "
          "the call does it",
          line);
    case Finding::Kind::deletion:
      return fmt::format("memory is freed (delete), {}; the simulator has no heap", line);
    case Finding::Kind::stack:
      return fmt::format(
          "the stack has no room for {} more bytes, {}: a simulated thread has {} bytes "
          "(a recursion without an end, or large local arrays?)",
          finding.number, line, Stacks::size);
  }
  return what;
}

}  // namespace croton::runtime::simulator
