#include "inspect.hpp"

#include <croton/croton.hpp>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <iostream>
#include <optional>
#include <string_view>

#include "base/config.hpp"
#include "base/file.hpp"
#include "compile.hpp"
#include "expr/parse.hpp"
#include "expr/print.hpp"
#include "expr/verify.hpp"
#include "plan/plan.hpp"
#include "rewrite/pipeline.hpp"
#include "settings.hpp"
#include "shown_kernels.hpp"

namespace croton::tool {
namespace {

constexpr std::size_t max_file = std::size_t{4} << 20;

// ---- the examples ----

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

// ---- output ----

std::string heading(std::string_view name) { return fmt::format("==== {}\n", name); }

std::string show(const std::vector<KernelInfo>& kernels, const InspectRequest& request) {
  std::string text;
  for (const KernelInfo& kernel : kernels) {
    text += heading(fmt::format("kernel {} for {}", kernel.name, kernel.target));
    text += fmt::format("schedule {}\nlaunch {}\n", kernel.schedule, kernel.launch);
    if (request.schedule) {
      for (const KernelSchedule& schedule : kernel.schedules) text += to_string(schedule);
    }
    if (request.kernels) text += kernel.source;
    if (request.facts) {
      for (const KernelFacts& facts : kernel.facts()) text += to_string(facts) + "\n";
    }
    if (request.ptx) text += heading("ptx of " + kernel.name) + kernel.ptx();
    if (request.sass) text += heading("sass of " + kernel.name) + kernel.annotated_sass();
  }
  return text;
}

bool shows_kernels(const InspectRequest& request) {
  return request.kernels || request.schedule || request.ptx || request.facts || request.sass;
}

std::string show(const Function& f, const InspectRequest& request) {
  std::string text;
  if (request.graph) text += heading("graph") + f.graph();
  if (request.rewrites) text += heading("rewrites") + f.rewrites();
  if (request.plan) text += heading("plan") + f.plan();
  if (shows_kernels(request)) text += show(f.kernels(request.target, {.shapes = request.shapes}), request);
  return text;
}

/// "4096x1024,1024,": the shapes of three arguments, of which the last one is a scalar. Nothing for other text.
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
  if (!bytes)
    throw FileError(
        fmt::format("{} is no file, and no example: croton inspect --list names those that there are", path));
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

// ---- the command line ----

constexpr const char* help_text =
    "usage: croton inspect EXAMPLE_OR_FILE [--target cuda:sm_90] [--shapes SHAPES] [--graph] [--rewrites] [--plan] "
    "[--kernels] [--schedule] [--ptx] [--facts] [--sass]\n"
    "FILE is a graph as f.graph() or --graph prints it; no pickle.\n"
    "  --list               the examples\n"
    "  --target TARGET      cpu, or cuda:sm_XX of any architecture that NVRTC knows; no device is needed\n"
    "  --shapes SHAPES      those of the arguments of a call, such as 4096x1024,1024: its kernels and launches\n"
    "  --graph              the graph after rewriting\n"
    "  --rewrites           the rules that fired\n"
    "  --plan               steps, buffers, lifetimes\n"
    "  --kernels            the generated text of each kernel\n"
    "  --schedule           the schedule of each kernel, and why it was chosen\n"
    "  --ptx, --facts       by NVRTC: PTX; registers, memory, spills\n"
    "  --sass               by nvdisasm: the lines of each kernel with their instructions\n"
    "Without any of these: graph, plan and kernels.\n";

int refuse(const std::string& message) {
  std::cerr << "croton: inspect: " << message << "\n" << help_text;
  return 2;
}

}  // namespace

std::string inspect_text(const std::string& source, const InspectRequest& request) {
  const std::string shown = heading("graph");  // what --graph has printed is read again
  const std::string_view graph = std::string_view(source).substr(source.starts_with(shown) ? shown.size() : 0);
  builder::Imported imported =
      detail::import_graph("", [&] { return builder::Imported{expr::parse_graph(graph), {}, {}}; });
  expr::verify(imported.graph);
  const detail::Rewritten rewritten = detail::rewrite_graph("", std::move(imported.graph), {});
  std::string text;
  if (request.graph) text += heading("graph") + expr::print(*rewritten.graph);
  if (request.rewrites) text += heading("rewrites") + rewrite::print(rewritten.reports);
  const auto executable = detail::plan_graph("", *rewritten.graph, {}).executable;
  if (request.plan) text += heading("plan") + plan::print(executable->plan, executable->program);
  if (shows_kernels(request))
    text +=
        show(request.shapes.empty()
                 ? detail::show_kernels(*executable, {.target = request.target, .schedule = base::config().schedule})
                 : function_of_graph(std::string(graph)).kernels(request.target, {.shapes = request.shapes}),
             request);
  return text;
}

int inspect(const std::vector<std::string>& arguments) {
  InspectRequest request;
  bool any = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    struct Part {
      const char* name;
      bool InspectRequest::* member;
    };
    static constexpr Part parts[]{{"--graph", &InspectRequest::graph},       {"--rewrites", &InspectRequest::rewrites},
                                  {"--plan", &InspectRequest::plan},         {"--kernels", &InspectRequest::kernels},
                                  {"--schedule", &InspectRequest::schedule}, {"--ptx", &InspectRequest::ptx},
                                  {"--facts", &InspectRequest::facts},       {"--sass", &InspectRequest::sass}};
    const auto* part = std::ranges::find_if(parts, [&](const Part& p) { return word == p.name; });
    if (part != std::end(parts)) {
      request.*part->member = any = true;
    } else if (word == "--help") {
      std::cout << help_text;
      return 0;
    } else if (word == "--list") {
      for (const Example& example : examples) std::cout << fmt::format("{:10} {}\n", example.name, example.text);
      return 0;
    } else if (word == "--target") {
      if (++i == arguments.size()) return refuse("--target needs a target, such as cuda:sm_90");
      request.target = arguments[i];
    } else if (word == "--shapes") {
      const auto shapes = ++i < arguments.size() ? parse_shapes(arguments[i]) : std::nullopt;
      if (!shapes) return refuse("--shapes needs a shape for each argument, such as 4096x1024,1024");
      request.shapes = *shapes;
    } else if (word.starts_with("-") || !request.what.empty()) {
      return refuse(fmt::format("'{}' is not understood", word));
    } else {
      request.what = word;
    }
  }
  if (request.what.empty()) return refuse("an example or a file is missing");
  if (!any) request.graph = request.plan = request.kernels = true;
  detail::apply_settings();
  const auto* example = std::ranges::find_if(examples, [&](const Example& e) { return request.what == e.name; });
  std::cout << (example != examples.end() ? show(example->make(), request)
                                          : inspect_text(read_graph(request.what), request));
  return 0;
}

}  // namespace croton::tool
