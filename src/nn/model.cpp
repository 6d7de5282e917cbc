// Models: their layers, the names of these, and the evaluation of all layers in order.
#include <croton/nn/model.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

#include "base/index.hpp"
#include "base/shape.hpp"
#include "builder/gradient_context.hpp"
#include "builder/mirrors.hpp"
#include "nn/model_state.hpp"
#include "nn/names.hpp"

namespace croton::nn {
namespace {

using Node = Tensor::Node;

/// A model as a layer of another one.
class ModelLayer : public LayerDefinition {
 public:
  explicit ModelLayer(std::shared_ptr<Model::State> state)
      : LayerDefinition(state->is_sequential ? "Sequential" : "Model", state->was_named ? state->name : ""),
        state_(std::move(state)) {}
  std::pair<std::size_t, std::size_t> arity() const override { return {state_->inputs.size(), state_->inputs.size()}; }
  /// Computed through all layers, as sizes that the model leaves open may be known here.
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    std::unordered_map<const Node*, Shape> shapes;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Shape shape = state_->inputs[i].shape();
      bool fits = shape.size() == inputs[i].size();
      for (std::size_t axis = 0; fits && axis < shape.size(); ++axis) {
        const std::int64_t size = inputs[i][axis];
        fits = shape[axis] == any_size || size == any_size || shape[axis] == size;
        if (shape[axis] == any_size) shape[axis] = size;
      }
      if (!fits) fail(fmt::format("takes {}, but {}", to_string(state_->inputs[i].shape()), to_string(inputs[i])));
      shapes[&state_->inputs[i].node()] = shape;
    }
    for (const Tensor& tensor : state_->order) {
      const Node& node = tensor.node();
      if (shapes.contains(&node)) continue;
      std::vector<Shape> arguments;
      arguments.reserve(node.inputs.size());
      for (const Tensor& input : node.inputs) arguments.push_back(shapes.at(&input.node()));
      shapes[&node] = node.layer->definition().output_shape(arguments);
    }
    return shapes.at(&state_->outputs.front().node());
  }
  DType output_dtype(const std::vector<DType>&) const override { return state_->outputs.front().dtype(); }
  std::optional<Shape> input_shape() const override { return state_->inputs.front().shape(); }
  DType input_dtype() const override { return state_->inputs.front().dtype(); }
  Flow call(const std::vector<Flow>& inputs, CallContext& context) override {
    return state_->run(inputs, context).front();
  }
  std::vector<Layer> inner() const override { return state_->layers; }

 private:
  std::shared_ptr<Model::State> state_;
};

/// The line where a layer was made, with the layer's name.
Where line_of(const Layer& layer) { return layer.definition().line(layer.definition().made_at()); }

/// The names of layers in one model: those that the user gave, else made from their types. ValueError for a name that
/// was given twice.
std::vector<std::string> names_of(const std::vector<Layer>& layers, const std::string& model) {
  std::set<std::string> taken;
  for (const Layer& layer : layers) {
    if (layer.definition().was_named() && !taken.insert(layer.name()).second)
      throw ValueError(fmt::format("{}: two layers are named {}", model, layer.name()));
  }
  std::vector<std::string> names;
  names.reserve(layers.size());
  for (const Layer& layer : layers)
    names.push_back(layer.definition().was_named() ? layer.name() : unique_name(snake_case(layer.type()), taken));
  return names;
}

/// Appends the weights, or the states (`list` selects one), of layers and of their inner layers, each once.
void append(const std::vector<LayerDefinition::Weight>& (LayerDefinition::*list)() const,
            const std::vector<Layer>& layers, const std::vector<std::string>& names, bool trained,
            std::set<const void*>& seen, std::vector<Model::State::NamedWeight>& all) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerDefinition& layer = layers[i].definition();
    const bool are_trained = trained && layer.trainable;
    for (const LayerDefinition::Weight& weight : (layer.*list)()) {
      if (!seen.insert(weight.variable.node()).second) continue;
      all.push_back({names[i] + "/" + weight.name, weight.variable, weight.shape, weight.regularizer,
                     are_trained && weight.trainable});
    }
    const std::vector<Layer> inner = layer.inner();
    std::vector<std::string> inside = names_of(inner, layer.name());
    for (std::string& name : inside) name.insert(0, names[i] + "/");
    append(list, inner, inside, are_trained, seen, all);
  }
}

}  // namespace

// ---- the state ----

void Model::State::check_connected() const {
  if (is_connected()) return;
  throw ValueError(
      fmt::format("{}: a Sequential whose first layer has no input_shape is built when it first sees data; give the "
                  "first layer an input_shape, or call fit or predict first",
                  name));
}

void Model::State::connect(const std::vector<Array>& x) {
  if (is_connected()) return;
  if (added.empty()) throw ValueError(fmt::format("{}: a model without layers", name));
  if (x.size() != 1) throw ValueError(fmt::format("{}: {} arrays for the one input of a Sequential", name, x.size()));
  if (x[0].rank() < 1) throw ShapeError(fmt::format("{}: an array of no axes, where the first one is the batch", name));
  const DType wanted = added.front().definition().input_dtype();
  const Tensor input = Input(Shape(x[0].shape().begin() + 1, x[0].shape().end()), {.name = "input", .dtype = wanted},
                             line_of(added.front()));
  Tensor value = input;
  for (const Layer& layer : added) value = layer(value, layer.definition().made_at());
  inputs = {input};
  outputs = {value};
  find_layers();
}

void Model::State::set_shards(const Shards& to) {
  shards = to;
  functions.clear();
  counts = SharedVariable();
  if (!is_connected() || shards.devices.size() < 2) return;
  for (const NamedWeight& weight : weights()) builder::mirror(weight.variable, shards.devices);
}

void Model::State::find_layers() {
  std::unordered_map<const Tensor::Node*, bool> seen;
  order.clear();
  layers.clear();
  names.clear();
  // Depth first, without recursion: models may be deep.
  std::vector<std::pair<Tensor, std::size_t>> stack;
  for (const Tensor& output : outputs) {
    if (!seen.emplace(output.handle().get(), true).second) continue;
    stack.emplace_back(output, 0);
    while (!stack.empty()) {
      const Tensor at = stack.back().first;
      const bool is_input = std::ranges::find(inputs, at) != inputs.end();
      const std::size_t next = stack.back().second++;
      if (!is_input && next < at.node().inputs.size()) {
        const Tensor& input = at.node().inputs[next];
        if (seen.emplace(input.handle().get(), true).second) stack.emplace_back(input, 0);
        continue;
      }
      if (!is_input && !at.node().layer)
        throw ValueError(
            fmt::format("{}: an output needs the input {} ({}), which is not among the inputs of the model", name,
                        at.node().name, builder::describe(at.node().where)));
      order.push_back(at);
      stack.pop_back();
    }
  }
  std::ranges::sort(order, {}, [](const Tensor& tensor) { return tensor.node().serial; });
  for (const Tensor& tensor : order) {
    if (!tensor.node().layer || std::ranges::find(inputs, tensor) != inputs.end()) continue;
    const Layer& layer = *tensor.node().layer;
    if (std::ranges::find(layers, layer) == layers.end()) layers.push_back(layer);
  }
  names = names_of(layers, name);
}

std::vector<Variable> Model::State::input_variables() const {
  std::vector<Variable> result;
  for (const Tensor& input : inputs) {
    Type type{input.dtype(), {unknown_size}};
    type.shape.insert(type.shape.end(), input.shape().begin(), input.shape().end());
    result.push_back(variable(type, input.node().name.empty() ? "input" : input.node().name, input.node().where));
  }
  return result;
}

std::vector<Flow> Model::State::run(const std::vector<Variable>& x, CallContext& context) const {
  std::vector<Flow> flows;
  flows.reserve(x.size());
  for (const Variable& value : x) flows.push_back({value});
  return run(flows, context);
}

std::vector<Flow> Model::State::run(const std::vector<Flow>& x, CallContext& context) const {
  check_connected();
  if (x.size() != inputs.size())
    throw TypeError(fmt::format("{}: {} input(s), where the model has {}", name, x.size(), inputs.size()));
  std::unordered_map<const Node*, Flow> values;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Shape& shape = inputs[i].shape();
    const Variable& value = x[i].value;
    if (value.type().rank() != shape.size() + 1)
      throw TypeError(fmt::format("{}: takes a batch of {}, but {}", name, to_string(shape), builder::describe(value)));
    const builder::OriginScope origin(value.where());
    std::vector<std::optional<Operand>> sizes{std::nullopt};
    for (const std::int64_t size : shape)
      sizes.push_back(size == any_size ? std::nullopt : std::optional<Operand>(Operand(size)));
    values[inputs[i].handle().get()] = {specify_shape(value, sizes), x[i].mask};
  }
  for (const Tensor& tensor : order) {
    const Node& node = tensor.node();
    if (values.contains(&node)) continue;
    std::optional<builder::OriginScope> origin;  // nodes of an inner model get the lines of its own layers
    if (node.layer->definition().type() != "Model" && node.layer->definition().type() != "Sequential")
      origin.emplace(node.layer->definition().line(node.where));
    std::vector<Flow> arguments;
    arguments.reserve(node.inputs.size());
    for (const Tensor& input : node.inputs) arguments.push_back(values.at(input.handle().get()));
    values[&node] = node.layer->definition().call(arguments, context);
  }
  std::vector<Flow> results;
  results.reserve(outputs.size());
  for (const Tensor& output : outputs) results.push_back(values.at(output.handle().get()));
  return results;
}

std::vector<Model::State::NamedWeight> Model::State::weights() const {
  std::vector<NamedWeight> all;
  std::set<const void*> seen;
  append(&LayerDefinition::all_weights, layers, names, true, seen, all);
  return all;
}

std::vector<Model::State::NamedWeight> Model::State::states() const {
  std::vector<NamedWeight> all;
  std::set<const void*> seen;
  append(&LayerDefinition::all_states, layers, names, false, seen, all);
  return all;
}

void set_all(const std::vector<NewValue>& values) {
  // All conversions first: if one fails, no variable has changed.
  std::vector<Array> converted;
  for (const auto& [name, variable, value] : values) {
    const Sizes shape = variable.get_value(true).shape();
    if (value.shape() != shape)
      throw ShapeError(
          fmt::format("{} has the shape {}, but {} is given", name, to_string(shape), to_string(value.shape())));
    if (!can_cast_safely(value.dtype(), variable.dtype()) && !(is_float(value.dtype()) && is_float(variable.dtype())))
      throw TypeError(
          fmt::format("{} is {}, but {} is given", name, name_of(variable.dtype()), name_of(value.dtype())));
    converted.push_back(value.astype(variable.dtype()));
  }
  for (std::size_t i = 0; i < values.size(); ++i) SharedVariable(values[i].variable).set_value(converted[i]);
}

namespace {

std::int64_t number_of(const Sizes& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

// ---- models ----

Model::Model(std::vector<Tensor> inputs, std::vector<Tensor> outputs, const std::string& name)
    : state_(std::make_shared<State>()) {
  state_->name = name.empty() ? "model" : name;
  state_->was_named = !name.empty();
  if (inputs.empty() || outputs.empty())
    throw ValueError(fmt::format("{}: a model has at least one input and one output", state_->name));
  for (auto input = inputs.begin(); input != inputs.end(); ++input) {
    if (std::find(inputs.begin(), input, *input) != input)
      throw ValueError(fmt::format("{}: the same input twice", state_->name));
  }
  state_->inputs = std::move(inputs);
  state_->outputs = std::move(outputs);
  state_->find_layers();
}

Variable Model::operator()(const Variable& x) const {
  CallContext context;
  return (*this)(x, context);
}
Variable Model::operator()(const Variable& x, CallContext& context) const { return call({x}, context).at(0); }
std::vector<Variable> Model::call(const std::vector<Variable>& x, CallContext& context) const {
  std::vector<Variable> results;
  for (const Flow& flow : state_->run(x, context)) results.push_back(flow.value);
  return results;
}

Model Model::with_strategy(const MirroredStrategy& strategy) const {
  state_->check_connected();
  auto state = std::make_shared<State>();
  state->name = state_->name;
  state->was_named = state_->was_named;
  state->inputs = state_->inputs;
  state->outputs = state_->outputs;
  state->find_layers();
  state->set_shards(shards_of(strategy));
  return Model(std::move(state));
}

Layer Model::layer() const {
  state_->check_connected();
  if (state_->outputs.size() != 1)
    throw TypeError(fmt::format("{}: a model of {} outputs is not a layer", state_->name, state_->outputs.size()));
  if (const std::shared_ptr<LayerDefinition> known = state_->as_layer.lock()) return Layer(known);
  const Layer layer = make_layer<ModelLayer>(state_);
  state_->as_layer = layer.handle();
  return layer;
}

const std::string& Model::name() const { return state_->name; }
std::vector<Layer> Model::layers() const { return state_->is_connected() ? state_->layers : state_->added; }

Layer Model::layer(std::string_view name) const {
  std::string all;
  for (std::size_t i = 0; i < state_->names.size(); ++i) {
    if (state_->names[i] == name) return state_->layers[i];
    all += (all.empty() ? "" : ", ") + state_->names[i];
  }
  throw ValueError(fmt::format("{}: no layer is named {}; there are {}", state_->name, name, all));
}

std::vector<Shape> Model::input_shapes() const {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : state_->inputs) shapes.push_back(tensor.shape());
  return shapes;
}
std::vector<Shape> Model::output_shapes() const {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : state_->outputs) shapes.push_back(tensor.shape());
  return shapes;
}

std::vector<SharedVariable> Model::weights() const {
  std::vector<SharedVariable> result;
  for (const State::NamedWeight& weight : state_->weights()) result.push_back(weight.variable);
  return result;
}
std::vector<SharedVariable> Model::trainable_variables() const {
  std::vector<SharedVariable> result;
  for (const State::NamedWeight& weight : state_->weights()) {
    if (weight.trained) result.push_back(weight.variable);
  }
  return result;
}
std::vector<SharedVariable> Model::non_trainable_variables() const {
  std::vector<SharedVariable> result;
  for (const State::NamedWeight& weight : state_->weights()) {
    if (!weight.trained) result.push_back(weight.variable);
  }
  return result;
}

std::int64_t Model::count_params() const {
  std::int64_t count = 0;
  for (const State::NamedWeight& weight : state_->weights()) count += number_of(weight.shape);
  return count;
}

std::vector<Array> Model::get_weights() const {
  std::vector<Array> values;
  for (const SharedVariable& weight : weights()) values.push_back(weight.get_value());
  return values;
}

void Model::set_weights(const std::vector<Array>& values) const {
  const std::vector<State::NamedWeight> all = state_->weights();
  if (values.size() != all.size())
    throw ValueError(fmt::format("{}: {} arrays for {} weights", state_->name, values.size(), all.size()));
  std::vector<NewValue> new_values;
  new_values.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) new_values.push_back({all[i].name, all[i].variable, values[i]});
  set_all(new_values);
}

// ---- the summary ----

namespace {

std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string in_bytes(double bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.2f} KiB", bytes / 1024);
  return fmt::format("{:.2f} MiB", bytes / (1024 * 1024));
}

std::string batch_of(const Shape& shape) {
  Shape whole{any_size};
  whole.insert(whole.end(), shape.begin(), shape.end());
  return to_string(whole);
}

}  // namespace

namespace {

/// The summary of a Sequential whose input shape is not known yet, and so no output shape either.
std::string summary_of_unconnected(const Model::State& model) {
  std::string text = fmt::format("Model: {}, which is built when it first sees data\n", model.name);
  for (const Layer& layer : model.added) {
    text += fmt::format("{} ({})", layer.name(), layer.type());
    if (layer.built()) text += fmt::format(", {} parameters", with_commas(layer.count_params()));
    text += "\n";
  }
  return text;
}

}  // namespace

std::string Model::summary() const {
  if (!state_->is_connected()) return summary_of_unconnected(*state_);
  const auto name_of_layer = [&](const Tensor& tensor) {
    const auto at = std::ranges::find(state_->inputs, tensor) != state_->inputs.end()
                        ? state_->layers.end()
                        : std::ranges::find(state_->layers, *tensor.node().layer);
    if (at != state_->layers.end()) return base::nth(state_->names, at - state_->layers.begin());
    return tensor.node().name.empty() ? std::string("input")
                                      : tensor.node().name;  // the output of a layer of another model
  };
  // A chain shows no connections: the input of each layer is the output of the layer above.
  bool is_chain = state_->inputs.size() == 1;
  for (std::size_t i = 1; i < state_->order.size(); ++i) {
    const auto& inputs = state_->order[i].node().inputs;
    is_chain = is_chain && inputs.size() == 1 && inputs[0] == state_->order[i - 1];
  }
  struct Line {
    std::string layer, shape, count, from;
  };
  std::vector<Line> lines{{"Layer (type)", "Output shape", "Parameters", is_chain ? "" : "Connected to"}};
  std::vector<const LayerDefinition*> counted;
  for (const Tensor& tensor : state_->order) {
    const bool is_input = std::ranges::find(state_->inputs, tensor) != state_->inputs.end();
    if (is_input && is_chain) continue;
    Line line{name_of_layer(tensor), batch_of(tensor.shape()), "0", ""};
    if (is_input) {
      line.layer += " (Input)";
    } else {
      const Layer& layer = *tensor.node().layer;
      line.layer += fmt::format(" ({})", layer.type());
      const bool shown = std::ranges::find(counted, &layer.definition()) != counted.end();
      line.count = shown ? "shared" : with_commas(layer.count_params());
      counted.push_back(&layer.definition());
      for (const Tensor& from : tensor.node().inputs)
        line.from += (line.from.empty() ? "" : ", ") + name_of_layer(from);
    }
    if (is_chain) line.from.clear();
    lines.push_back(line);
  }
  std::size_t widths[4] = {};
  for (const Line& line : lines) {
    const std::string* columns[] = {&line.layer, &line.shape, &line.count, &line.from};
    for (std::size_t i = 0; i < 4; ++i) widths[i] = std::max(widths[i], columns[i]->size());
  }
  const std::size_t total = widths[0] + widths[1] + widths[2] + 4 + (widths[3] > 0 ? widths[3] + 2 : 0);
  std::string text = fmt::format("Model: {}\n{}\n", state_->name, std::string(total, '-'));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    std::string row =
        fmt::format("{:<{}}  {:<{}}  {:>{}}", line.layer, widths[0], line.shape, widths[1], line.count, widths[2]);
    if (!line.from.empty()) row += "  " + line.from;
    text += row + "\n";
    if (i == 0) text += std::string(total, '=') + "\n";
  }
  std::int64_t trained = 0, others = 0;
  double bytes = 0;
  for (const State::NamedWeight& weight : state_->weights()) {
    const std::int64_t size = number_of(weight.shape);
    (weight.trained ? trained : others) += size;
    bytes += static_cast<double>(size * base::element_size(weight.variable.dtype()));
  }
  text += fmt::format("{}\nParameters: {} ({}), {} trained, {} not\n", std::string(total, '-'),
                      with_commas(trained + others), in_bytes(bytes), with_commas(trained), with_commas(others));
  return text;
}

// ---- sequences of layers ----

Sequential::Sequential(std::initializer_list<Part> parts, const std::string& name)
    : Sequential(std::vector<Layer>(), name) {
  for (const Part& part : parts) {
    if (part.input) add(*part.input);
    if (part.layer) add(*part.layer);
  }
}

Sequential::Sequential(const std::vector<Layer>& layers, const std::string& name) : Model(std::make_shared<State>()) {
  state_->name = name.empty() ? "sequential" : name;
  state_->was_named = !name.empty();
  state_->is_sequential = true;
  for (const Layer& layer : layers) add(layer);
}

void Sequential::add(const Layer& layer) {
  if (state_->options) throw ValueError(fmt::format("{}: a layer is added after compile", state_->name));
  State next = *state_;  // an error leaves the model as it was
  if (next.added.empty() && next.outputs.empty()) {
    if (const std::optional<Shape> shape = layer.definition().input_shape())
      next.inputs =
          next.outputs = {Input(*shape, {.name = "input", .dtype = layer.definition().input_dtype()}, line_of(layer))};
  }
  if (!next.outputs.empty()) {
    next.outputs = {layer(next.outputs[0], layer.definition().made_at())};
    next.find_layers();
  }
  next.added.push_back(layer);
  next.functions.clear();  // these are of the shorter model
  *state_ = std::move(next);
}

void Sequential::add(const Tensor& input) {
  if (input.node().layer)
    throw TypeError(fmt::format("{}: takes layers, or an Input before them, but the output of {}", state_->name,
                                input.layer().name()));
  if (!state_->outputs.empty() || !state_->added.empty())
    throw ValueError(fmt::format("{}: the Input {} ({}) must come before all layers", state_->name, input.node().name,
                                 builder::describe(input.node().where)));
  state_->inputs = state_->outputs = {input};
  state_->find_layers();
}

}  // namespace croton::nn
