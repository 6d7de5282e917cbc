// The code of all layers: names, weights, and calls on tensors and on variables.
#include <croton/nn/layer.hpp>
#include <croton/ops.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <mutex>
#include <numeric>

#include "base/characters.hpp"
#include "base/config.hpp"
#include "base/fork_safe_mutex.hpp"
#include "builder/gradient_context.hpp"
#include "builder/mirrors.hpp"
#include "builder/own_lines.hpp"
#include "nn/floats.hpp"
#include "nn/model_state.hpp"
#include "nn/names.hpp"

namespace croton::nn {

std::string snake_case(std::string_view type) {
  std::string name;
  for (std::size_t i = 0; i < type.size(); ++i) {
    const auto is_upper = [&](std::size_t at) { return at < type.size() && base::is_upper(type[at]); };
    // A word begins where a capital follows a lowercase letter, or is the last of several capitals before one.
    const bool begins =
        i > 0 && is_upper(i) &&
        (base::is_lower(type[i - 1]) || (is_upper(i - 1) && i + 1 < type.size() && base::is_lower(type[i + 1])));
    if (begins) name += '_';
    name += base::lower(type[i]);
  }
  return name;
}

std::string unique_name(const std::string& name, std::set<std::string>& taken) {
  std::string candidate = name;
  for (int number = 1; !taken.insert(candidate).second; ++number) candidate = fmt::format("{}_{}", name, number);
  return candidate;
}

DType float_dtype() { return base::config().float_x(); }
Variable in_floats(const Variable& x) { return is_float(x.dtype()) ? x : cast(x, float_dtype()); }

namespace {

thread_local Where current_line;

/// The next automatic name of layers of this type in this process.
std::string automatic_name(const std::string& type) {
  static auto& mutex = *new base::ForkSafeMutex;
  static std::map<std::string, int> counts;
  const std::lock_guard lock(mutex);
  const std::string name = snake_case(type);
  const int number = counts[name]++;
  return number == 0 ? name : fmt::format("{}_{}", name, number);
}

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> count{0};
  return count++;
}

/// The sizes of a variable without its batch.
Shape shape_without_batch(const Variable& x) {
  const std::vector<std::int64_t>& sizes = x.type().shape;
  return {sizes.begin() + 1, sizes.end()};
}

/// "train.cpp:12: dense (Dense)".
std::string subject_of(const LayerDefinition& layer) {
  const std::string line = layer.made_at().known() ? builder::describe(layer.made_at()) + ": " : "";
  return fmt::format("{}{} ({})", line, layer.name(), layer.type());
}

void check_arity(const LayerDefinition& layer, std::size_t count, Where where) {
  const auto [least, most] = layer.arity();
  if (count >= least && count <= most) return;
  throw TypeError(fmt::format("{} ({}), {}: {} input(s), where {} are expected", layer.name(), layer.type(),
                              builder::describe(where), count,
                              least == most ? fmt::format("{}", least) : fmt::format("{} or more", least)));
}

}  // namespace

// ---- tensors ----

const Shape& Tensor::shape() const { return node_->shape; }
DType Tensor::dtype() const { return node_->dtype; }
Layer Tensor::layer() const {
  if (!node_->layer) throw TypeError(fmt::format("{} is an input of a model: no layer computes it", node_->name));
  return *node_->layer;
}

Tensor::Node::~Node() {
  std::vector<Tensor> left = std::move(inputs);
  while (!left.empty()) {
    const Tensor tensor = std::move(left.back());
    left.pop_back();
    if (tensor.node_.use_count() > 1) continue;
    auto& further = const_cast<Node&>(*tensor.node_).inputs;  // this is the only owner of the node
    std::ranges::move(further, std::back_inserter(left));
    further.clear();
  }
}

Tensor Input(Shape shape, const InputOptions& options, Where where) {
  for (const std::int64_t size : shape) {
    if (size < 0 && size != any_size)
      throw ValueError(fmt::format("an input ({}) of shape {}: sizes are at least 0, or any_size",
                                   builder::describe(where), to_string(shape)));
  }
  auto node = std::make_shared<Tensor::Node>();
  node->shape = std::move(shape);
  node->dtype = options.dtype.value_or(float_dtype());
  node->name = options.name.empty() ? automatic_name("Input") : options.name;
  node->where = where;
  node->serial = next_serial();
  return Tensor(std::move(node));
}

// ---- layers ----

Tensor Layer::operator()(const Tensor& x, Where where) const { return (*this)(std::vector<Tensor>{x}, where); }

Tensor Layer::operator()(const std::vector<Tensor>& x, Where where) const {
  definition_->called_at(where);
  check_arity(*definition_, x.size(), where);
  std::vector<Shape> shapes;
  std::vector<DType> dtypes;
  for (const Tensor& input : x) {
    shapes.push_back(input.shape());
    dtypes.push_back(input.dtype());
  }
  definition_->build(shapes);
  auto node = std::make_shared<Tensor::Node>();
  node->layer = *this;
  node->inputs = x;
  node->shape = definition_->output_shape(shapes);
  node->dtype = definition_->output_dtype(dtypes);
  node->where = where;
  node->serial = next_serial();
  return Tensor(std::move(node));
}

Variable Layer::operator()(const Variable& x, Where where) const {
  CallContext context;
  return (*this)(x, context, where);
}

Variable Layer::operator()(const Variable& x, CallContext& context, Where where) const {
  definition_->called_at(where);
  const builder::OriginScope origin(definition_->line(where));
  check_arity(*definition_, 1, where);
  if (x.rank() < 1) throw TypeError(fmt::format("{} ({}): {} has no batch", name(), type(), builder::describe(x)));
  definition_->build({shape_without_batch(x)});
  return definition_->call({Flow{x}}, context).value;
}

void Layer::build(const std::vector<Shape>& inputs) const { definition_->build(inputs); }
bool Layer::built() const { return definition_->built(); }
const std::string& Layer::name() const { return definition_->name(); }
std::string Layer::type() const { return definition_->type(); }
void Layer::set_trainable(bool trainable) const {
  definition_->trainable = trainable;
  for (const Layer& layer : definition_->inner()) layer.set_trainable(trainable);
}
bool Layer::trainable() const { return definition_->trainable; }

std::vector<SharedVariable> Layer::trainable_weights() const {
  std::vector<SharedVariable> result;
  if (!trainable()) return result;
  for (const LayerDefinition::Weight& weight : definition_->all_weights()) {
    if (weight.trainable) result.push_back(weight.variable);
  }
  for (const Layer& layer : definition_->inner()) {
    for (const SharedVariable& weight : layer.trainable_weights()) result.push_back(weight);
  }
  return result;
}

std::vector<SharedVariable> Layer::non_trainable_weights() const {
  const std::vector<SharedVariable> trained = trainable_weights();
  std::vector<SharedVariable> result;
  for (const SharedVariable& weight : weights()) {
    if (std::ranges::find(trained, weight) == trained.end()) result.push_back(weight);
  }
  return result;
}

std::vector<SharedVariable> Layer::weights() const {
  std::vector<SharedVariable> result;
  for (const LayerDefinition::Weight& weight : definition_->all_weights()) result.push_back(weight.variable);
  for (const Layer& layer : definition_->inner()) {
    for (const SharedVariable& weight : layer.weights()) result.push_back(weight);
  }
  return result;
}

std::int64_t Layer::count_params() const {
  std::int64_t count = 0;
  for (const LayerDefinition::Weight& weight : definition_->all_weights())
    count += std::accumulate(weight.shape.begin(), weight.shape.end(), std::int64_t{1}, std::multiplies<>());
  for (const Layer& layer : definition_->inner()) count += layer.count_params();
  return count;
}

std::vector<Array> Layer::get_weights() const {
  std::vector<Array> values;
  for (const SharedVariable& weight : weights()) values.push_back(weight.get_value());
  return values;
}

void Layer::set_weights(const std::vector<Array>& values) const {
  const std::vector<SharedVariable> all = weights();
  if (values.size() != all.size())
    throw ValueError(fmt::format("{}: {} arrays for {} weights", subject_of(*definition_), values.size(), all.size()));
  std::vector<NewValue> new_values;
  new_values.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) new_values.push_back({all[i].name(), all[i], values[i]});
  set_all(new_values);
}

// ---- definitions ----

LayerLine::LayerLine(Where where) : outer_(current_line) { current_line = where; }
LayerLine::~LayerLine() { current_line = outer_; }
Where LayerLine::current() { return current_line; }

Where LayerDefinition::line(Where where) const {
  if (!where.known()) return where;
  builder::check_line(type_, where);  // the line below has only the name of the file
  // One text for each layer and file, never freed: a Where may live as long as the process.
  static auto& mutex = *new base::ForkSafeMutex;
  static auto* texts = new std::set<std::string>;
  const std::string_view file = where.file();
  const std::lock_guard lock(mutex);
  const auto at = texts->insert(fmt::format("{}, {}", name_, file.substr(file.find_last_of('/') + 1))).first;
  return {at->c_str(), where.line()};
}

LayerDefinition::LayerDefinition(std::string type, std::string name)
    : type_(std::move(type)), name_(std::move(name)), was_named_(!name_.empty()), where_(LayerLine::current()) {
  if (!was_named_) name_ = automatic_name(type_);
  if (name_.find('/') != std::string::npos)
    throw ValueError(
        fmt::format("a layer named \"{}\": names have no slash, which separates the names of weights", name_));
}

DType LayerDefinition::output_dtype(const std::vector<DType>& inputs) const {
  DType dtype = is_float(inputs.at(0)) ? inputs[0] : float_dtype();
  for (const Weight& weight : weights_) {
    if (is_float(weight.variable.dtype())) dtype = promote(dtype, weight.variable.dtype());
  }
  return dtype;
}

DType LayerDefinition::input_dtype() const { return float_dtype(); }

void LayerDefinition::build(const std::vector<Shape>& inputs) {
  output_shape(inputs);  // for its errors, before weights are made
  if (built_) return;
  make_weights(inputs);
  built_ = true;
}

SharedVariable LayerDefinition::add_weight(const std::string& name, const Sizes& shape, const WeightOptions& options) {
  for (const std::int64_t size : shape) {
    if (size < 0) fail(fmt::format("the weight {} needs a size that is not stated: {}", name, to_string(shape)));
  }
  const Array first = options.initializer(shape, options.dtype.value_or(float_dtype()), next_seed());
  const SharedVariable variable = shared(first, {.name = name_ + "/" + name}, where_);
  weights_.push_back({variable, name, shape, options.regularizer, options.trainable});
  return variable;
}

SharedVariable LayerDefinition::add_state(const std::string& name, const Array& first) {
  const builder::MirrorScope one({});  // all shards read one state
  const SharedVariable variable = shared(first, {.name = name_ + "/" + name}, where_);
  states_.push_back({variable, name, first.shape(), {}, false});
  return variable;
}

Variable LayerDefinition::value_of(const SharedVariable& weight) const {
  const auto found = std::ranges::find(weights_, weight, &Weight::variable);
  if (found == weights_.end()) throw ValueError(fmt::format("{} has no weight {}", name_, weight.name()));
  std::vector<std::optional<Operand>> sizes;
  for (const std::int64_t size : found->shape) sizes.emplace_back(Operand(size));
  return specify_shape(weight, sizes);
}

void LayerDefinition::fail(const std::string& message) const {
  throw ShapeError(fmt::format("{}: {}", subject_of(*this), message));
}
void LayerDefinition::refuse(const std::string& message) const {
  throw ValueError(fmt::format("{}: {}", subject_of(*this), message));
}

}  // namespace croton::nn
