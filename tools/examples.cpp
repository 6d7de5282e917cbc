#include "examples.hpp"

#include <croton/croton.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/file.hpp"

namespace croton::tool {
namespace {

constexpr std::size_t max_file = std::size_t{4} << 20;

Function softmax_example() {
  const Variable x = matrix("x");
  return function({x}, nnet::softmax(x, 1), {.name = "softmax"});
}

Function layernorm_example() {
  const Variable x = matrix("x");
  return function({x}, nnet::layer_norm(x), {.name = "layernorm"});
}

Function mlp_step_example() {
  const Variable x = matrix("x"), y = ivector("y");
  const auto zeros = [](const char* name, Sizes shape) {
    return shared(Array::zeros(DType::float32, std::move(shape)), {.name = name});
  };
  const Variable w = zeros("w", {784, 128}), b = zeros("b", {128}), v = zeros("v", {128, 10}), c = zeros("c", {10});
  const Variable hidden = nnet::relu(dot(x, w) + b);
  const Variable loss = mean(nnet::categorical_crossentropy(nnet::softmax(dot(hidden, v) + c, 1), y));
  FunctionOptions options{.name = "mlp_step"};
  for (const Variable& parameter : {w, b, v, c})
    options.updates.emplace_back(parameter, parameter - 0.1f * grad(loss, parameter));
  return function({x, y}, loss, options);
}

Function axpy_example() {
  const Variable a = scalar("a"), x = vector("x"), y = vector("y");
  return function({a, x, y}, a * x + y, {.name = "axpy"});
}

struct Example {
  const char* name;
  Function (*make)();
  const char* text;
};

constexpr std::array<Example, 4> examples{
    {{"softmax", softmax_example, "softmax of the rows of a matrix: one kernel of the family row"},
     {"layernorm", layernorm_example, "layer norm of the rows of a matrix"},
     {"mlp_step", mlp_step_example, "a step of training of a small network: products, loss, gradients, updates"},
     {"axpy", axpy_example, "a * x + y of vectors: one kernel of the family pointwise"}}};

}  // namespace

Function make_example(std::string_view name) {
  const auto* example = std::ranges::find_if(examples, [&](const Example& e) { return name == e.name; });
  return example != examples.end() ? example->make() : Function();
}

std::string list_of_examples() {
  std::string text;
  for (const Example& example : examples) text += fmt::format("{:10} {}\n", example.name, example.text);
  return text;
}

std::optional<std::vector<Sizes>> parse_shapes(std::string_view text) {
  std::vector<Sizes> shapes(1);
  while (!text.empty()) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    const bool is_size = error == std::errc() && size >= 0;
    if (is_size) {
      shapes.back().push_back(size);
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    }
    if (text.empty()) break;
    const char next = text.front();
    text.remove_prefix(1);
    if (next == ',')
      shapes.emplace_back();
    else if (next != 'x' || !is_size || text.empty() || text.front() == ',')
      return std::nullopt;
  }
  return shapes;
}

std::string read_graph(const std::string& path) {
  const auto bytes = base::read_file(path, max_file);
  if (!bytes) throw FileError(fmt::format("{} is no file, and no example: --list names those that there are", path));
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

std::string_view graph_part(std::string_view text) {
  constexpr std::string_view heading = "==== graph\n";
  return text.substr(text.starts_with(heading) ? heading.size() : 0);
}

}  // namespace croton::tool
