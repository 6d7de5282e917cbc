#include "runtime/loops/loop_layout.hpp"

#include <cstddef>
#include <deque>
#include <utility>

namespace croton::runtime {

using codegen::Motion;
using expr::Loop;
using plan::Buffer;

LoopLayout::LoopLayout(std::shared_ptr<const Executable> of_body, const Loop& of_loop, std::int64_t count,
                       Device& on_device)
    : body(std::move(of_body)), loop(&of_loop), steps(count), device(on_device) {}

DType LoopLayout::dtype_of(plan::BufferId buffer) const {
  return body->program.graph.arena.type(body->plan.buffers[buffer].node).dtype;
}

DType LoopLayout::dtype_of_product(const StepPart& part) const {
  return body->program.graph.arena.type(body->call_of(*part.step).as<fuse::ProductCall>().result).dtype;
}

plan::BufferId LoopLayout::condition_buffer() const { return body->plan.output_buffer[loop->condition()]; }

bool find_sizes_of_body(LoopLayout& layout, const LoopPlaces& shapes, const std::vector<Sizes>& captures,
                        std::string& why) {
  const Executable& body = *layout.body;
  if (!body.host_inputs.empty()) {
    why = "sizes in it depend on numbers";
    return false;
  }
  CallArrays arrays;
  std::deque<Array> inputs;
  static const std::max_align_t somewhere{};
  const expr::Graph& graph = body.program.graph;
  const auto add = [&](const Sizes& shape, const Sizes& strides = {}) {
    const DType dtype = graph.arena.type(graph.inputs[arrays.arguments.size()].node).dtype;
    // Only sizes are read, and the values of numbers, which have no effect.
    inputs.push_back(shape.empty() ? Array::zeros(dtype, {})
                                   : Array::view_of(static_cast<const void*>(&somewhere), dtype, shape, strides));
    arrays.arguments.push_back(&inputs.back());
  };
  for (const Rows& sequence : shapes.sequences) add(sequence.shape, sequence.strides);
  for (const Loop::Tap& tap : layout.loop->taps) add(shapes.states[tap.state].shape);
  for (const Sizes& shape : captures) add(shape);
  find_sizes(body, arrays, fuse::first_segment, layout.sizes);
  check_requirements(body, arrays, fuse::first_segment, layout.sizes);
  find_layouts(body, arrays, fuse::first_segment, layout.sizes, layout.memory);
  return true;
}

namespace {

/// The motion of a row of a state. `offset`: the number of rows after the first one.
BufferMotion motion_of_state(const LoopPlaces& shapes, std::size_t state, std::int64_t offset) {
  const std::int64_t bytes = shapes.states[state].bytes, slots = shapes.slots[state];
  if (slots == 0) return {Motion::line, bytes, 0, 0, true};
  return {Motion::ring, bytes, offset % slots, slots, true};
}

/// The motion of an array with an element for each step.
BufferMotion motion_of_elements(const Loop& loop, std::int64_t bytes, bool written) {
  return {Motion::line, loop.reverse ? -bytes : bytes, 0, 0, written};
}

BufferMotion motion_of(const Loop& loop, const LoopPlaces& shapes, const Buffer& buffer) {
  const std::size_t number = buffer.number;
  if (buffer.role == Buffer::Role::argument && number < loop.sequences)
    return motion_of_elements(loop, shapes.sequences[number].bytes, false);
  if (buffer.role == Buffer::Role::argument && number < loop.captured(0)) {
    const Loop::Tap& tap = loop.taps[number - loop.sequences];
    return motion_of_state(shapes, tap.state, tap.offset);
  }
  if (buffer.role == Buffer::Role::output && number < loop.states())
    return motion_of_state(shapes, number, loop.rows[number]);
  if (buffer.role == Buffer::Role::output) {
    const std::size_t k = number - loop.states();
    if (k < loop.stacked && shapes.stacked[k]) return motion_of_elements(loop, shapes.stacked[k]->bytes, true);
    return {Motion::rows, 0, 0, 0, true};
  }
  return {Motion::rows, 0, 0, 0, buffer.role == Buffer::Role::temporary};
}

}  // namespace

void find_motions(LoopLayout& layout, const LoopPlaces& shapes) {
  for (const Buffer& buffer : layout.body->plan.buffers)
    layout.motions.push_back(motion_of(*layout.loop, shapes, buffer));
}

}  // namespace croton::runtime
