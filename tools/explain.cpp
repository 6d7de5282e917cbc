#include "explain.hpp"

#include <croton/croton.hpp>

#include <iostream>

#include "examples.hpp"

namespace croton::tool {
namespace {

constexpr const char* help_text =
    "usage: croton explain EXAMPLE_OR_FILE --shapes SHAPES [--machine NAME] [--schedule OVERRIDES] [--json]\n"
    "For each kernel and product of a call: time, limit, what limits it, why it is a kernel of its own.\n"
    "FILE is a graph as f.graph() or croton inspect --graph prints it; no pickle.\n"
    "  --shapes SHAPES      those of the arguments of a call, such as 4096x1024,1024\n"
    "  --machine NAME       a GPU by a part of its name, such as H100, or cpu, where it is measured, too; no GPU is "
    "needed\n"
    "  --schedule OVERRIDES as in the flag schedule\n"
    "  --json               one object\n"
    "  --list, --machines   the examples; the GPUs\n";

int refuse(const std::string& message) {
  std::cerr << "croton: explain: " << message << "\n" << help_text;
  return 2;
}

}  // namespace

int explain(const std::vector<std::string>& arguments) {
  ExplainOptions options{.machine = "H200"};
  std::string what;
  bool json = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const bool more = i + 1 < arguments.size();
    if (word == "--help") {
      std::cout << help_text;
      return 0;
    }
    if (word == "--list") {
      std::cout << list_of_examples();
      return 0;
    }
    if (word == "--machines") {
      std::cout << "cpu\n";
      for (const std::string& name : known_gpus()) std::cout << name << "\n";
      return 0;
    }
    if (word == "--json") {
      json = true;
    } else if (word == "--machine") {
      if (!more) return refuse("--machine needs a name: --machines lists them");
      options.machine = arguments[++i];
    } else if (word == "--schedule") {
      if (!more) return refuse("--schedule needs overrides, such as threads=128");
      options.schedule = arguments[++i];
    } else if (word == "--shapes") {
      const auto shapes = more ? parse_shapes(arguments[++i]) : std::nullopt;
      if (!shapes) return refuse("--shapes needs a shape for each argument, such as 4096x1024,1024");
      options.shapes = *shapes;
    } else if (word.starts_with("-") || !what.empty()) {
      return refuse("'" + word + "' is not understood");
    } else {
      what = word;
    }
  }
  if (what.empty()) return refuse("an example or a file is missing");
  Function function = make_example(what);
  if (!function.defined()) function = function_of_graph(std::string(graph_part(read_graph(what))));
  const Explanation explanation = function.explain(options);
  std::cout << (json ? explanation.to_json() + "\n" : to_string(explanation));
  return 0;
}

}  // namespace croton::tool
