#include "runtime/bound/bound_convolution.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "kernel/contraction.hpp"

namespace croton::runtime {
namespace {

using expr::Arena;
using expr::Core;
using kernel::Side;

/// An integer that is linear in the axes: offset + the sum of factor[axis] * axis.
struct Linear {
  std::vector<std::int64_t> factor;
  std::int64_t offset = 0;
  bool operator==(const Linear&) const = default;
  /// The axes that it depends on.
  std::vector<std::size_t> axes() const {
    std::vector<std::size_t> all;
    for (std::size_t axis = 0; axis < factor.size(); ++axis) {
      if (factor[axis] != 0) all.push_back(axis);
    }
    return all;
  }
};

/// The index of one dimension of the images.
struct ImageDim {
  NodeId index;
  Linear place;  // the index before the division by the spread
  std::int64_t spread = 1;
};

class Recogniser {
 public:
  Recogniser(const BoundKernel& bound, const Memory& memory)
      : bound_(bound),
        memory_(memory),
        kernel_(bound.analysis->kernel),
        body_(kernel_.body),
        contraction_(*bound.analysis->contraction),
        values_(bound.analysis->host_values(bound.extents)) {
    for (const kernel::Axis& axis : kernel_.axes) sizes_.push_back(values_[axis.extent]);
  }

  std::optional<BoundConvolution> run() {
    result_.description.dtype = body_.type(contraction_.left).dtype;
    result_.description.axes = 0;
    const bool left_is_images = !is_plain_load(contraction_.left);
    const NodeId images = left_is_images ? contraction_.left : contraction_.right;
    const NodeId filters = left_is_images ? contraction_.right : contraction_.left;
    if (!is_plain_load(filters)) return std::nullopt;
    roles_.assign(sizes_.size(), Role::none);
    own_side_ = left_is_images ? Side::rows : Side::columns;
    if (!read_filters(filters) || !read_images(images) || !read_results()) return std::nullopt;
    if (std::ranges::find(roles_, Role::none) != roles_.end() || result_.description.axes == 0) return std::nullopt;
    result_.sums = 1;
    for (std::size_t axis = 0; axis < sizes_.size(); ++axis) {
      if (!kernel_.axes[axis].inner) result_.sums *= sizes_[axis];
    }
    return result_;
  }

 private:
  enum class Role : std::uint8_t { none, batch, group, channel, result, window, tap };

  bool is_plain_load(NodeId node) const {
    return body_.op(node).is(Core::load) && access(node).affine &&
           std::ranges::none_of(body_.inputs(node), [&](NodeId index) { return !linear(index); });
  }
  const codegen::Access& access(NodeId load) const {
    return bound_.analysis->accesses[bound_.analysis->load_access.at(load)];
  }
  plan::BufferId buffer_of(NodeId load) const { return bound_.operands[access(load).operand]; }
  const codegen::Layout& layout_of(plan::BufferId buffer) const { return memory_.layouts[buffer]; }

  std::optional<Linear> linear(NodeId id) const {
    const expr::Op& op = body_.op(id);
    Linear result{std::vector<std::int64_t>(kernel_.axes.size(), 0), 0};
    if (id < bound_.analysis->host.size() && bound_.analysis->host[id]) {
      result.offset = values_[id];
      return result;
    }
    if (op.is(Core::axis)) {
      result.factor[body_.attrs(id).index("k")] = 1;
      return result;
    }
    if (!op.is(Core::add, Core::sub, Core::mul)) return std::nullopt;
    const auto left = linear(body_.input(id, 0)), right = linear(body_.input(id, 1));
    if (!left || !right) return std::nullopt;
    if (op.is(Core::mul)) {
      const bool by_left = left->axes().empty();
      if (!by_left && !right->axes().empty()) return std::nullopt;
      result = by_left ? *right : *left;
      const std::int64_t factor = by_left ? left->offset : right->offset;
      for (std::int64_t& step : result.factor) step *= factor;
      result.offset *= factor;
      return result;
    }
    const std::int64_t sign = op.is(Core::sub) ? -1 : 1;
    for (std::size_t axis = 0; axis < result.factor.size(); ++axis)
      result.factor[axis] = left->factor[axis] + sign * right->factor[axis];
    result.offset = left->offset + sign * right->offset;
    return result;
  }

  std::int64_t filter_step(std::size_t axis) const { return filter_steps_[axis]; }

  /// Reads the steps of the filters and the roles of their axes. Parallel axes of the filters alone are results, those
  /// of both factors are groups; read_images finds the other roles.
  bool read_filters(NodeId load) {
    result_.filters = buffer_of(load);
    const codegen::Layout& layout = layout_of(result_.filters);
    filter_steps_.assign(sizes_.size(), 0);
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < layout.strides.size(); ++d) {
      const Linear index = *linear(body_.inputs(load)[d]);
      offset += index.offset * layout.strides[d];
      for (std::size_t axis = 0; axis < sizes_.size(); ++axis)
        filter_steps_[axis] += index.factor[axis] * layout.strides[d];
    }
    result_.filters_offset = offset * static_cast<std::int64_t>(size_of(result_.description.dtype));
    int results = 0, groups = 0;
    for (std::size_t axis = 0; axis < sizes_.size(); ++axis) {
      const Side side = contraction_.side[axis];
      if (side == Side::both) {
        ++groups;
        roles_[axis] = Role::group;
        result_.description.groups = sizes_[axis];
        result_.description.filter_group_step = filter_step(axis);
      } else if (side != Side::inner && side != own_side_) {
        ++results;
        roles_[axis] = Role::result;
        result_.description.results = sizes_[axis];
        result_.description.filter_result_step = filter_step(axis);
      }
    }
    return results == 1 && groups <= 1;
  }

  bool read_images(NodeId value) {
    NodeId guard = expr::no_node, load = value;
    if (body_.op(value).is(Core::where)) {
      const auto outside = body_.scalar_value(body_.input(value, 2));
      guard = body_.input(value, 0);
      load = body_.input(value, 1);
      if (!outside || outside->as_double() != 0) return false;
    }
    const bool guarded = body_.op(load).is(Core::load_if);
    if (!guarded && !body_.op(load).is(Core::load)) return false;
    if (guarded != (guard != expr::no_node) || (guarded && body_.input(load, 0) != guard)) return false;
    result_.x = buffer_of(load);
    const auto index = body_.inputs(load).subspan(guarded ? 1 : 0);
    std::vector<ImageDim> dims;
    for (const NodeId at : index) {
      ImageDim dim{at, {}, 1};
      NodeId place = at;
      if (body_.op(at).is(Core::floor_divide)) {
        const auto spread = body_.known(body_.input(at, 1));
        if (!spread) return false;
        dim.spread = *spread;
        place = body_.input(at, 0);
      }
      const auto linear_place = linear(place);
      if (!linear_place) return false;
      dim.place = *linear_place;
      dims.push_back(std::move(dim));
    }
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (!read_dim(dims[d], d)) return false;
    }
    return guard == expr::no_node || bounds_only(guard, dims);
  }

  bool set_channels(std::size_t axis, std::int64_t step) {
    if (roles_[axis] != Role::none || std::ranges::find(roles_, Role::channel) != roles_.end()) return false;
    roles_[axis] = Role::channel;
    result_.description.channels = sizes_[axis];
    result_.description.x_channel_step = step;
    result_.description.filter_channel_step = filter_step(axis);
    return true;
  }

  bool read_dim(const ImageDim& dim, std::size_t d) {
    const codegen::Layout& layout = layout_of(result_.x);
    std::optional<std::size_t> window, inner;
    for (const std::size_t axis : dim.place.axes()) {
      std::optional<std::size_t>& own = kernel_.axes[axis].inner ? inner : window;
      if (own || roles_[axis] == Role::result) return false;
      own = axis;
    }
    const bool plain = dim.spread == 1 && dim.place.offset == 0;
    if (!window && !inner) return plain && layout.shape[d] == 1;
    Convolution& what = result_.description;
    // Groups, possibly together with the channels of each group.
    if (window && contraction_.side[*window] == Side::both) {
      if (!plain || (inner && dim.place.factor[*inner] != 1)) return false;
      what.x_group_step = dim.place.factor[*window] * layout.strides[d];
      return !inner || set_channels(*inner, layout.strides[d]);
    }
    if (!inner && plain && dim.place.factor[*window] == 1) {
      if (roles_[*window] == Role::none && std::ranges::find(roles_, Role::batch) == roles_.end()) {
        what.batch = sizes_[*window];
        what.x_batch_step = layout.strides[d];
        roles_[*window] = Role::batch;
        return true;
      }
    }
    if (!window && plain && dim.place.factor[*inner] == 1 && std::ranges::find(roles_, Role::channel) == roles_.end())
      return set_channels(*inner, layout.strides[d]);
    if (what.axes == what.axis.size()) return false;
    Convolution::Axis& axis = what.axis[what.axes++];
    axis = {.size = layout.shape[d], .spread = dim.spread, .before = -dim.place.offset, .x_step = layout.strides[d]};
    if (window) {
      if (roles_[*window] != Role::none) return false;
      roles_[*window] = Role::window;
      axis.windows = sizes_[*window];
      axis.stride = dim.place.factor[*window];
      window_axes_.emplace_back(*window, what.axes - 1);
    }
    if (inner) {
      if (roles_[*inner] != Role::none) return false;
      roles_[*inner] = Role::tap;
      axis.taps = sizes_[*inner];
      axis.dilation = dim.place.factor[*inner];
      axis.filter_step = filter_step(*inner);
    }
    return true;
  }

  /// Whether the condition only checks that indices are inside the images.
  bool bounds_only(NodeId guard, const std::vector<ImageDim>& dims) const {
    std::vector<NodeId> pending{guard};
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      const expr::Op& op = body_.op(id);
      if (op.is(Core::and_)) {
        pending.insert(pending.end(), body_.inputs(id).begin(), body_.inputs(id).end());
        continue;
      }
      if (body_.inputs(id).size() != 2) return false;
      const NodeId left = body_.input(id, 0), right = body_.input(id, 1);
      const bool holds = std::ranges::any_of(dims, [&](const ImageDim& dim) {
        if (op.is(Core::ge)) return body_.known(right) == 0 && linear(left) == dim.place;
        if (op.is(Core::eq)) {
          return body_.op(left).is(Core::mod) && body_.known(right) == 0 &&
                 body_.known(body_.input(left, 1)) == dim.spread && linear(body_.input(left, 0)) == dim.place;
        }
        const auto d = static_cast<std::size_t>(&dim - dims.data());
        const auto end = linear(right);
        return op.is(Core::lt) && left == dim.index && end && end->axes().empty() &&
               end->offset == layout_of(result_.x).shape[d];
      });
      if (!holds) return false;
    }
    return true;
  }

  /// Finds the steps of the sums: those of the stored result if the kernel only stores the sums, else those of an array
  /// by rows and columns.
  bool read_results() {
    std::vector<std::int64_t> steps(sizes_.size(), 0);
    const kernel::Store& store = kernel_.stores.front();
    const bool direct = kernel_.stores.size() == 1 && kernel_.checks.empty() &&
                        body_.op(store.value).is(Core::result) &&
                        kernel_.operands[store.operand].dtype == result_.description.dtype &&
                        std::ranges::all_of(store.index, [&](NodeId i) { return linear(i) && linear(i)->offset == 0; });
    if (direct) {
      result_.result = bound_.operands[store.operand];
      const codegen::Layout& layout = layout_of(result_.result);
      for (std::size_t d = 0; d < store.index.size(); ++d) {
        const Linear index = *linear(store.index[d]);
        for (std::size_t axis = 0; axis < sizes_.size(); ++axis) steps[axis] += index.factor[axis] * layout.strides[d];
      }
    } else {
      std::int64_t step = 1;
      for (const Side side : {Side::columns, Side::rows, Side::both}) {
        for (std::size_t axis = sizes_.size(); axis-- > 0;) {
          if (contraction_.side[axis] != side) continue;
          steps[axis] = step;
          step *= sizes_[axis];
        }
      }
    }
    for (std::size_t axis = 0; axis < sizes_.size(); ++axis) {
      if (roles_[axis] == Role::batch) result_.description.result_batch_step = steps[axis];
      if (roles_[axis] == Role::group) result_.description.result_group_step = steps[axis];
      if (roles_[axis] == Role::result) result_.description.result_result_step = steps[axis];
    }
    for (const auto& [axis, number] : window_axes_) result_.description.axis[number].result_step = steps[axis];
    return true;
  }

  const BoundKernel& bound_;
  const Memory& memory_;
  const kernel::Kernel& kernel_;
  const Arena& body_;
  const kernel::Contraction& contraction_;
  std::vector<std::int64_t> values_, sizes_;  // the values of host nodes; the sizes of the axes
  std::vector<std::int64_t> filter_steps_;    // per axis
  std::vector<Role> roles_;
  std::vector<std::pair<std::size_t, std::size_t>> window_axes_;
  Side own_side_ = Side::rows;  // the side of the images
  BoundConvolution result_;
};

}  // namespace

double BoundConvolution::work() const {
  double products = static_cast<double>(sums) * static_cast<double>(description.channels);
  for (const Convolution::Axis& axis : description.used_axes()) products *= static_cast<double>(axis.taps);
  return products;
}

bool BoundConvolution::pays() const {
  constexpr double least = 2e6, least_a_sum = 256;
  return work() >= least && (result != plan::no_buffer || work() >= least_a_sum * static_cast<double>(sums));
}

std::optional<BoundConvolution> as_convolution(const BoundKernel& kernel, const Memory& memory) {
  if (!kernel.analysis->contraction) return std::nullopt;
  return Recogniser(kernel, memory).run();
}

}  // namespace croton::runtime
