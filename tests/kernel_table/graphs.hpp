// The named graphs of the kernel table: functions with the shapes of a reference call.
#pragma once

#include <croton/croton.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace croton::kernel_table {

/// The limit of a graph's time, if its kernels are good.
enum class Kind {
  memory_bound,  // the bytes that it must read and write: its figures have goals
  recorded,      // other things: its figures are recorded without a goal
};

struct NamedGraph {
  std::string name;  ///< "softmax 4096x1024"
  std::string work;  ///< what it computes, for the page
  Function function;
  std::vector<Sizes> shapes;  ///< of the arguments
  double least_bytes = 0;     ///< that any implementation reads and writes; 0: not stated
  Kind kind = Kind::memory_bound;
};

/// All graphs, in the order of the page. No array of them has memory of its own.
std::vector<NamedGraph> all_graphs();

// The parts of the list, by theme.
void add_elementwise_graphs(std::vector<NamedGraph>& graphs);
void add_movement_graphs(std::vector<NamedGraph>& graphs);
void add_reduction_graphs(std::vector<NamedGraph>& graphs);
void add_other_graphs(std::vector<NamedGraph>& graphs);
void add_step_graphs(std::vector<NamedGraph>& graphs);

// Graphs of other sizes too, for step_counts.hpp.
NamedGraph mlp_step(std::int64_t batch, const std::vector<std::int64_t>& widths);
NamedGraph cnn_step(std::int64_t batch, std::int64_t side);
NamedGraph lstm(std::int64_t batch, std::int64_t steps, std::int64_t features, std::int64_t units);
/// A step of Adam with the rates of its paper for tensors of these shapes; the gradients are shared variables, too.
NamedGraph adam(const std::vector<Sizes>& shapes);

/// A shared variable of zeros whose memory is never touched, so that it takes none.
SharedVariable unbacked(DType dtype, Sizes shape, const std::string& name);

}  // namespace croton::kernel_table
