#include "runtime/cpu/dnn/dnn_prepared.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <numeric>

#include "base/memory.hpp"
#include "base/rounding.hpp"
#include "runtime/cpu/dnn/dnn_copy.hpp"
#include "runtime/cpu/threads/threads.hpp"
#include "runtime/device/elements.hpp"

namespace croton::runtime::cpu::dnn {
namespace {

/// Sizes and steps of an array, in the library's order of axes.
struct Shape {
  Numbers sizes, steps;
  void add(std::int64_t size, std::int64_t step) {
    sizes.push_back(size);
    steps.push_back(step);
  }
};

/// (images, all channels, sizes...), where groups and channels are one axis.
Shape data_shape(const Problem& p, bool of_image) {
  const std::int64_t channels = of_image ? p.channels : p.results;
  const Steps& steps = of_image ? p.image : p.result;
  Shape shape;
  shape.add(p.images, steps[0]);
  shape.add(p.groups * channels, channels == 1 ? steps[1] : steps[2]);
  if (p.groups == 1) shape.steps[1] = steps[2];
  for (std::size_t j = 0; j < p.axes; ++j) {
    const Problem::Axis& axis = p.axis[j];
    shape.add(of_image ? axis.in : axis.out, of_image ? axis.image_step : axis.result_step);
  }
  return shape;
}

/// (groups, results, channels, taps...), without groups where there is one.
Shape filter_shape(const Problem& p) {
  Shape shape;
  if (p.groups > 1) shape.add(p.groups, p.filter[0]);
  shape.add(p.results, p.filter[1]);
  shape.add(p.channels, p.filter[2]);
  for (std::size_t j = 0; j < p.axes; ++j) shape.add(p.axis[j].taps, p.axis[j].filter_step);
  return shape;
}

Numbers dense_steps(const Numbers& sizes, const std::vector<std::size_t>& order) {
  Numbers steps(sizes.size());
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    steps[order[i]] = step;
    step *= sizes[order[i]];
  }
  return steps;
}

/// Replaces the steps of axes of one element. They have no effect, but the library compares them: they become those of
/// channels last or channels first, if all other steps are.
void normalize_steps(Shape& shape) {
  std::vector<std::size_t> first(shape.sizes.size());
  std::iota(first.begin(), first.end(), std::size_t{0});
  std::vector<std::size_t> last = first;
  std::rotate(last.begin() + 1, last.begin() + 2, last.end());
  for (const auto& order : {last, first}) {
    const Numbers dense = dense_steps(shape.sizes, order);
    bool same = true;
    for (std::size_t d = 0; d < dense.size(); ++d) same = same && (shape.sizes[d] == 1 || shape.steps[d] == dense[d]);
    if (!same) continue;
    shape.steps = dense;
    return;
  }
  std::int64_t end = 1;
  for (std::size_t d = 0; d < shape.sizes.size(); ++d) end = std::max(end, shape.sizes[d] * shape.steps[d]);
  for (std::size_t d = 0; d < shape.sizes.size(); ++d) {
    if (shape.sizes[d] == 1) shape.steps[d] = end;
  }
}

/// 0: the library's reference code, far slower than Croton's kernels; 1: by products of matrices; 2: code of its own.
int quality(const std::string& routine) {
  if (routine.find("gemm") != std::string::npos) return 1;
  return routine.empty() || routine.find("ref") != std::string::npos ? 0 : 2;
}

const char* title_of(Task task) {
  return task == Task::forward ? "forward" : task == Task::by_image ? "by image" : "by filters";
}

float* at(void* base, std::int64_t elements) { return static_cast<float*>(base) + elements; }

}  // namespace

/// Memory of base::allocate_memory; null if it has no bytes.
struct PreparedConvolution::Block {
  explicit Block(std::size_t bytes)
      : size(bytes), begin(bytes == 0 ? nullptr : static_cast<float*>(base::allocate_memory(bytes))) {}
  ~Block() {
    if (begin != nullptr) base::release_memory(begin, size);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::size_t size;
  float* begin;
};

struct PreparedConvolution::Bound {
  std::array<Memory, arrays> memories;
  std::vector<Memory> scratch;  // of each step
};

struct PreparedConvolution::Lane {
  Lane(std::size_t image, std::size_t result, std::size_t scratch_bytes)
      : own_image(image), own_result(result), scratch(scratch_bytes) {}
  Block own_image, own_result, scratch;
  Stream stream;
  std::vector<Bound> kinds;
};

struct PreparedConvolution::Workspace {
  Workspace(std::size_t filter_bytes, std::size_t reversed_bytes) : filters(filter_bytes), reversed(reversed_bytes) {}
  Block filters, reversed;
  std::vector<std::unique_ptr<Lane>> lanes;
  Bound bound_filters;
};

/// The caller's arrays, in the terms of the problem.
struct PreparedConvolution::Pointers {
  Pointers(const Problem& p, const ConvolutionArrays& a) {
    void *x = const_cast<void*>(a.x), *by = const_cast<void*>(a.filters);  // the problem writes only the result
    image = p.task == Task::by_image ? a.result : p.swapped ? by : x;
    filters = p.task == Task::by_filters ? a.result : by;
    result = p.task == Task::forward ? a.result : p.task == Task::by_image || p.swapped ? x : by;
  }
  void *image, *filters, *result;
};

// ---- preparing ----

PreparedConvolution::PreparedConvolution(std::shared_ptr<const Library> library, const Problem& problem)
    : library_(std::move(library)), problem_(problem) {}
PreparedConvolution::~PreparedConvolution() = default;

std::unique_ptr<const PreparedConvolution> PreparedConvolution::of(std::shared_ptr<const Library> library,
                                                                   const Problem& problem, std::string& why) {
  std::unique_ptr<PreparedConvolution> made(new PreparedConvolution(std::move(library), problem));
  const OneThread one(*made->library_);
  why = made->build();
  if (!why.empty()) return nullptr;
  auto workspace = made->take_workspace();
  made->grow(*workspace, ThreadPool::instance().threads());
  made->give_back(std::move(workspace));
  return made;
}

std::string PreparedConvolution::build() {
  const std::vector<Problem> all = pieces_of(problem_);
  if (!problem_.groups_are_one_axis()) groups_ = static_cast<std::size_t>(problem_.groups);
  const std::size_t in_group = all.size() / groups_;
  if (problem_.task == Task::by_filters) sums_ = in_group;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Problem shape = all[i];
    shape.image_at = shape.filter_at = shape.result_at = 0;
    std::size_t kind = 0;
    while (kind < kinds_.size() && kinds_[kind].problem != shape) ++kind;
    if (kind == kinds_.size()) {
      if (std::string fault = add_kind(shape); !fault.empty()) return fault;
    }
    if (i % in_group == 0) filters_at_.push_back(all[i].filter_at);
    pieces_.push_back({kind, all[i].image_at, all[i].result_at, problem_.task == Task::by_filters ? i : i / in_group});
  }
  return prepare_filters(kinds_.front().problem);
}

std::string PreparedConvolution::add_kind(const Problem& shape) {
  Kind kind;
  kind.problem = shape;
  std::string fault = choose(kind);
  if (fault.empty()) kinds_.push_back(std::move(kind));
  return fault;
}

/// Finds the kind's layouts and steps. The caller's orders of images and results are kept if the library has fast code
/// for them.
std::string PreparedConvolution::choose(Kind& kind) {
  const Problem& p = kind.problem;
  Shape image = data_shape(p, true), result = data_shape(p, false);
  normalize_steps(image);
  normalize_steps(result);
  auto& layouts = kind.layouts;
  layouts[given_image] = library_->strided(image.sizes, image.steps);
  layouts[given_result] = library_->strided(result.sizes, result.steps);
  if (!layouts[given_image] || !layouts[given_result]) return "oneDNN cannot describe the layout of images or results";
  // One order of filters for all pieces, so that they are copied once.
  const Layout filters = kinds_.empty() ? library_->any(filter_shape(p).sizes) : kinds_.front().layouts[own_filters];
  Description best = library_->convolution(p, {layouts[given_image], filters, layouts[given_result]});
  std::string routine = best ? library_->routine(best) : "";
  if (quality(routine) < 2) {
    const Description other =
        library_->convolution(p, {library_->any(image.sizes), filters, library_->any(result.sizes)});
    const std::string its = other ? library_->routine(other) : "";
    if (quality(its) > quality(routine)) {
      best = other;
      routine = its;
    }
  }
  if (quality(routine) == 0)
    return "oneDNN has no fast routine for it" + (routine.empty() ? "" : " (but " + routine + ")");
  const ConvolutionLayouts own = library_->layouts(best, p.task);
  layouts[own_image] = own.image;
  layouts[own_filters] = own.filters;
  layouts[own_result] = own.result;

  const bool copies_image = !library_->equal(own.image, layouts[given_image]);
  const bool copies_result = !library_->equal(own.result, layouts[given_result]);
  const Array image_array = copies_image ? own_image : given_image;
  const Array result_array = copies_result ? own_result : given_result;
  if (kinds_.empty())
    routine_ = std::string(title_of(p.task)) + ": " + routine + (copies_image ? ", images copied" : "") +
               (copies_result ? ", results copied" : "");
  std::string fault;
  if (copies_image && p.task != Task::by_image) fault = add_reorder(kind.steps, kind, given_image, own_image);
  if (fault.empty() && copies_result && p.task != Task::forward)
    fault = add_reorder(kind.steps, kind, given_result, own_result);
  if (!fault.empty()) return fault;
  using namespace argument;
  switch (p.task) {
    case Task::forward:
      fault = add_step(kind.steps, best, {{source, image_array}, {weights, own_filters}, {destination, result_array}});
      break;
    case Task::by_image:
      fault = add_step(kind.steps, best,
                       {{source_gradient, image_array}, {weights, own_filters}, {destination_gradient, result_array}});
      break;
    case Task::by_filters:
      fault = add_step(kind.steps, best,
                       {{source, image_array}, {weights_gradient, own_filters}, {destination_gradient, result_array}});
  }
  if (fault.empty() && copies_image && p.task == Task::by_image)
    fault = add_reorder(kind.steps, kind, own_image, given_image);
  if (fault.empty() && copies_result && p.task == Task::forward)
    fault = add_reorder(kind.steps, kind, own_result, given_result);
  return fault;
}

std::string PreparedConvolution::prepare_filters(const Problem& one) {
  Shape shape = filter_shape(one);
  Layout given;
  if (!one.flipped()) {
    normalize_steps(shape);
    given = library_->strided(shape.sizes, shape.steps);
  }
  reversed_ = given == nullptr;
  if (reversed_) {
    reversed_shape_ = StridedCopy::of(shape.sizes, shape.steps);
    given = library_->strided(shape.sizes, reversed_shape_.dense_steps());
    if (!given) return "oneDNN cannot describe the layout of filters";
  }
  auto& layouts = filters_.layouts;
  layouts[given_filters] = given;
  layouts[own_filters] = kinds_.front().layouts[own_filters];
  if (library_->equal(given, layouts[own_filters])) return "";
  const bool writes = problem_.task == Task::by_filters;
  return add_reorder(filters_.steps, filters_, writes ? own_filters : given_filters,
                     writes ? given_filters : own_filters);
}

std::string PreparedConvolution::add_reorder(std::vector<Step>& steps, const Kind& kind, Array from, Array to) {
  const Description description = library_->reorder(kind.layouts[from], kind.layouts[to]);
  return add_step(steps, description, {{argument::source, from}, {argument::destination, to}});
}

std::string PreparedConvolution::add_step(std::vector<Step>& steps, const Description& description,
                                          std::vector<std::pair<int, Array>> arguments) {
  Step step;
  if (description) step.primitive = library_->primitive(description);
  if (!step.primitive) return "oneDNN makes no code for it";
  step.arguments = std::move(arguments);
  step.scratch = library_->scratch(description);
  steps.push_back(std::move(step));
  return "";
}

// ---- memory ----

/// Whether the caller's filters have the layout that the library wants.
bool PreparedConvolution::filters_are_direct() const { return !reversed_ && filters_.steps.empty(); }

/// The number of elements from one copy of the filters in the library's order to the next.
std::size_t PreparedConvolution::filter_stride() const {
  return base::round_up(library_->bytes(filters_.layouts[own_filters]), base::memory_alignment) / sizeof(float);
}

/// The number of copies of the filters in the library's order that a run needs memory for.
std::size_t PreparedConvolution::kept_filters() const {
  return filters_are_direct() && sums_ == 1 ? 0 : groups_ * sums_;
}

PreparedConvolution::Bound PreparedConvolution::bind(const Kind& kind, const Lane& lane) const {
  Bound bound;
  for (std::size_t a = 0; a < arrays; ++a) {
    if (kind.layouts[a]) bound.memories[a] = library_->memory(kind.layouts[a]);
  }
  for (const Step& step : kind.steps) {
    bound.scratch.push_back(step.scratch ? library_->memory(step.scratch) : nullptr);
    if (step.scratch) library_->place(bound.scratch.back(), lane.scratch.begin);
  }
  return bound;
}

std::unique_ptr<PreparedConvolution::Lane> PreparedConvolution::make_lane() const {
  std::size_t image = 0, result = 0, scratch = 0;
  const auto scratch_of = [&](const Kind& kind) {
    for (const Step& step : kind.steps) {
      if (step.scratch) scratch = std::max(scratch, library_->bytes(step.scratch));
      for (const auto& [which, array] : step.arguments) {
        if (array == own_image) image = std::max(image, library_->bytes(kind.layouts[own_image]));
        if (array == own_result) result = std::max(result, library_->bytes(kind.layouts[own_result]));
      }
    }
  };
  for (const Kind& kind : kinds_) scratch_of(kind);
  scratch_of(filters_);
  auto lane = std::make_unique<Lane>(image, result, scratch);
  lane->stream = library_->stream();
  for (const Kind& kind : kinds_) {
    lane->kinds.push_back(bind(kind, *lane));
    library_->place(lane->kinds.back().memories[own_image], lane->own_image.begin);
    library_->place(lane->kinds.back().memories[own_result], lane->own_result.begin);
  }
  return lane;
}

/// Adds lanes up to that number, but not more than there are pieces, and at least one.
void PreparedConvolution::grow(Workspace& workspace, std::int64_t lanes) const {
  lanes = std::max<std::int64_t>(std::min<std::int64_t>(lanes, std::ssize(pieces_)), 1);
  while (std::ssize(workspace.lanes) < lanes) workspace.lanes.push_back(make_lane());
}

std::unique_ptr<PreparedConvolution::Workspace> PreparedConvolution::take_workspace() const {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      auto workspace = std::move(free_.back());
      free_.pop_back();
      return workspace;
    }
  }
  const std::size_t reversed = reversed_ ? size_in_bytes(DType::float32, reversed_shape_.elements()) : 0;
  auto workspace = std::make_unique<Workspace>(kept_filters() * filter_stride() * sizeof(float), reversed);
  grow(*workspace, 1);
  workspace->bound_filters = bind(filters_, *workspace->lanes.front());
  return workspace;
}

void PreparedConvolution::give_back(std::unique_ptr<Workspace> workspace) const {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(workspace));
}

// ---- running ----

void PreparedConvolution::run(const ConvolutionArrays& given) const {
  const Pointers pointers(problem_, given);
  auto workspace = take_workspace();
  grow(*workspace, ThreadPool::instance().threads());
  bool good = true;
  if (problem_.task != Task::by_filters) good = read_filters(*workspace, pointers);
  good = good && run_pieces(*workspace, pointers);
  if (problem_.task == Task::by_filters) good = good && write_filters(*workspace, pointers);
  give_back(std::move(workspace));
  if (!good) throw DeviceError(library_->name() + " reports a failure in a convolution (" + routine_ + ")");
}

bool PreparedConvolution::execute(const Kind& kind, const Bound& bound, const Stream& stream) const {
  for (std::size_t i = 0; i < kind.steps.size(); ++i) {
    const Step& step = kind.steps[i];
    std::array<Argument, 4> arguments;
    std::size_t count = 0;
    for (const auto& [which, array] : step.arguments) arguments[count++] = {which, bound.memories[array].get()};
    if (step.scratch) arguments[count++] = {argument::scratchpad, bound.scratch[i].get()};
    if (!library_->run(step.primitive, stream, {arguments.data(), count})) return false;
  }
  return true;
}

/// Copies the filters of one group between the caller's memory and the library's order, in the direction of filters_.
bool PreparedConvolution::copy_filters(Workspace& workspace, const void* given, const void* own) const {
  const Bound& bound = workspace.bound_filters;
  library_->place(bound.memories[given_filters], given);
  library_->place(bound.memories[own_filters], own);
  const OneThread one(*library_);
  return execute(filters_, bound, workspace.lanes.front()->stream);
}

bool PreparedConvolution::read_filters(Workspace& workspace, const Pointers& pointers) const {
  if (filters_are_direct()) return true;
  for (std::size_t group = 0; group < groups_; ++group) {
    const float* given = at(pointers.filters, filters_at_[group]);
    float* const own = workspace.filters.begin + group * filter_stride();
    if (reversed_) {
      // If the library wants no other order, the reversed copy is its own.
      float* const to = filters_.steps.empty() ? own : workspace.reversed.begin;
      reversed_shape_.gather(given, to);
      given = to;
    }
    if (!copy_filters(workspace, given, own)) return false;
  }
  return true;
}

const void* PreparedConvolution::filters_of(const Workspace& workspace, const Pointers& pointers,
                                            std::size_t index) const {
  if (kept_filters() == 0) return at(pointers.filters, filters_at_[index]);
  return workspace.filters.begin + index * filter_stride();
}

bool PreparedConvolution::run_piece(const Piece& piece, Lane& lane, const Workspace& workspace,
                                    const Pointers& pointers) const {
  const Bound& bound = lane.kinds[piece.kind];
  library_->place(bound.memories[given_image], at(pointers.image, piece.image_at));
  library_->place(bound.memories[given_result], at(pointers.result, piece.result_at));
  library_->place(bound.memories[own_filters], filters_of(workspace, pointers, piece.filters));
  return execute(kinds_[piece.kind], bound, lane.stream);
}

bool PreparedConvolution::run_pieces(Workspace& workspace, const Pointers& pointers) const {
  std::atomic<std::size_t> next_piece{0}, next_lane{0};
  std::atomic<bool> good{true};
  // Each thread takes the next piece that is left: the bits do not depend on the thread that computes a piece. If the
  // number of threads has just been changed, there may be more threads than lanes: the surplus ones take no piece.
  ThreadPool::instance().parallel_for(std::ssize(pieces_), 1, [&](std::int64_t, std::int64_t) {
    const std::size_t lane = next_lane.fetch_add(1, std::memory_order_relaxed);
    if (lane >= workspace.lanes.size()) return;
    const OneThread one(*library_);
    for (std::size_t i; (i = next_piece.fetch_add(1, std::memory_order_relaxed)) < pieces_.size();) {
      if (!run_piece(pieces_[i], *workspace.lanes[lane], workspace, pointers)) good = false;
    }
  });
  return good;
}

/// Writes the sum of a group's filters, added in the order of its pieces, to `to`, which may be the first of them.
void PreparedConvolution::add_up(const float* first, float* to) const {
  const std::size_t stride = filter_stride();
  const auto elements = static_cast<std::int64_t>(library_->bytes(filters_.layouts[own_filters]) / sizeof(float));
  constexpr std::int64_t grain = 1 << 15;
  ThreadPool::instance().parallel_for(elements, grain, [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t some = 2048;  // they stay in the first-level cache
    for (std::int64_t from = begin; from < end; from += some) {
      const std::int64_t last = std::min(from + some, end);
      if (to != first) std::copy(first + from, first + last, to + from);
      for (std::size_t part = 1; part < sums_; ++part) {
        const float* more = first + part * stride;
        for (std::int64_t i = from; i < last; ++i) to[i] += more[i];
      }
    }
  });
}

bool PreparedConvolution::write_filters(Workspace& workspace, const Pointers& pointers) const {
  if (kept_filters() == 0) return true;
  for (std::size_t group = 0; group < groups_; ++group) {
    float* const given = at(pointers.filters, filters_at_[group]);
    float* const own = workspace.filters.begin + group * sums_ * filter_stride();
    if (sums_ > 1) add_up(own, filters_are_direct() ? given : own);
    if (filters_are_direct()) continue;
    if (!reversed_) {
      if (!copy_filters(workspace, given, own)) return false;
      continue;
    }
    const float* reversed = filters_.steps.empty() ? own : workspace.reversed.begin;
    if (!copy_filters(workspace, reversed, own)) return false;
    reversed_shape_.scatter(reversed, given);
  }
  return true;
}

}  // namespace croton::runtime::cpu::dnn
