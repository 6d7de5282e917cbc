// Launches whose blocks wait for each other, and loops that are recorded once and replayed.
#include <croton/croton.hpp>
#include <croton/scan.hpp>

#include <algorithm>
#include <cstdint>
#include <span>

#include <fmt/format.h>

#include "own_kernels.hpp"
#include "programs.hpp"
#include "runtime/cuda/driver/transfer.hpp"
#include "runtime/loops/repeated_work.hpp"

namespace croton::smoke {
namespace {

namespace cuda = runtime::cuda;

// In each round a block writes the round's number for other blocks, waits for all blocks, and reads the number of the
// next block. Two places alternate: a block that is one round ahead writes to the other one.
constexpr const char* barrier_text = R"(
struct barrier_rounds_Params {
  unsigned int* grid_barrier;
  unsigned int* written;  // of each block twice
  unsigned long long* wrong;
  ct::index rounds;
};
CT_KERNEL void barrier_rounds(const barrier_rounds_Params p) {
  const ct::GridGroup group{p.grid_barrier};
  const unsigned int blocks = ct::block_count(), block = ct::block_index();
  for (ct::index round = 0; round < p.rounds; ++round) {
    unsigned int* const place = p.written + (round % 2) * blocks;
    if (ct::thread_index() == 0) place[block] = (unsigned int)round + 1u;
    group.sync();
    if (ct::thread_index() == 0 && place[(block + 1u) % blocks] != (unsigned int)round + 1u) p.wrong[block] += 1;
  }
}
)";

std::string barrier_rounds(const Machine& machine, bool fully_resident, std::int64_t rounds) {
  require_driver(machine);
  const std::shared_ptr<cuda::Context> context = cuda::Context::get(machine.index);
  require(context->facts().cooperative_launches, "the device has no cooperative launches");
  const cuda::Kernel kernel = own_kernel(context, barrier_text, "barrier_rounds");
  const unsigned threads = machine.small ? 64 : 256;
  const int resident = kernel.resident_blocks(threads, 0);
  const int blocks = machine.small    ? 3
                     : fully_resident ? resident
                                      : std::min(resident, context->facts().multiprocessors);
  require(blocks > 0, fmt::format("{} blocks of {} threads can be resident", resident, threads));
  const cuda::Stream stream(context);
  const std::size_t count = static_cast<std::size_t>(blocks);
  const cuda::Buffer barrier(stream, 256), written(stream, 8 * count), wrong(stream, 8 * count);
  for (const cuda::Buffer* buffer : {&barrier, &written, &wrong}) cuda::fill(stream, buffer->data(), 0, buffer->size());
  const std::uint64_t parameters[] = {cuda::pointer_of(barrier.data()), cuda::pointer_of(written.data()),
                                      cuda::pointer_of(wrong.data()), static_cast<std::uint64_t>(rounds)};
  cuda::Event start(context, cuda::Event::Timing::on), end(context, cuda::Event::Timing::on);
  start.record(stream);
  kernel.launch(stream, {.blocks = static_cast<unsigned>(blocks), .threads = threads, .cooperative = true}, parameters,
                {});
  end.record(stream);
  std::vector<std::uint64_t> found(count);
  cuda::copy_out(stream, std::as_writable_bytes(std::span(found)), wrong.data());
  for (std::size_t block = 0; block < count; ++block)
    require(found[block] == 0,
            fmt::format("block {} missed what its neighbour wrote in {} of {} rounds", block, found[block], rounds));
  return fmt::format("{} blocks of {} threads, {} rounds, {:.2f} us a round", blocks, threads, rounds,
                     1e3 * end.milliseconds_since(start) / static_cast<double>(rounds));
}

/// A recurrent layer whose matrix is too large for one launch of all steps.
std::string replay(const Machine& machine) {
  const std::int64_t units = 520;
  const Variable x = tensor3("x");
  const SharedVariable w = shared(reals({6, units}, 1)), u = shared(reals({units, units}, 2));
  const Variable start = zeros({x.shape(1), units}, DType::float32);
  const Variable y =
      scan([&](const std::vector<Variable>& in) { return Step(tanh(dot(in[0], w) + 0.05 * dot(in[1], u))); }, {x},
           {start})
          .outputs[0];
  const auto compiled = [&](const std::string& device) {
    const change_flags flags("device=" + device);
    return function({x}, y);
  };
  const Function host = compiled("cpu"), f = compiled(machine.device);
  const runtime::RecordingCounts before = runtime::recording_counts();
  Array first;
  for (int call = 0; call < 5; ++call) {
    const Array x0 = reals({7, 3, 6}, 10 + static_cast<std::uint64_t>(call % 2));
    const auto at = [&](const std::string& device, const Function& g) {
      const change_flags flags("device=" + device);
      return g(x0).only();
    };
    const Array got = at(machine.device, f);
    require(got.all_close(at("cpu", host), 1e-4, 1e-5), fmt::format("call {} differs from the CPU's result", call));
    if (call == 0) first = got;
    if (call == 4) require(got.same_bits(first), "the replayed loop has other bits than the first call");
  }
  const runtime::RecordingCounts now = runtime::recording_counts();
  require(now.failed == before.failed, "recording failed");
  require(now.replayed > before.replayed, "nothing was replayed: " + f.plan());
  return fmt::format("{} recorded, {} replayed", now.recorded - before.recorded, now.replayed - before.replayed);
}

}  // namespace

std::vector<Check> grid_checks() {
  return {{"grid barrier: 100,000 rounds",
           [](const Machine& m) { return barrier_rounds(m, false, m.small ? 50 : 100'000); }},
          {"cooperative launch: full residency",
           [](const Machine& m) { return barrier_rounds(m, true, m.small ? 20 : 2'000); }},
          {"recorded loop: replayed", replay}};
}

}  // namespace croton::smoke
