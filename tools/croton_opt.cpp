// croton-opt: one stage of the compiler on a text, its result as text. For experiments, bug reports and reading the
// code.
#include <croton/error.hpp>

#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

#include "codegen/emit.hpp"
#include "expr/evaluate.hpp"
#include "expr/parse.hpp"
#include "expr/print.hpp"
#include "expr/verify.hpp"
#include "rewrite_programs.hpp"
#include "text_stages.hpp"

namespace {

using namespace croton;

constexpr std::string_view usage = R"(croton-opt [options] [file]

Reads a graph (or with --kernel a kernel) from the file or standard input, takes it through the stages asked for, prints the result.

  --rewrite=GROUP   rewrite by all groups of rules (all) or one: canonical, stability, filters, expand, algebra, specialise
  --ieee            leave out rules that change results at special points
  --off=RULES       leave out the rules of these names, joined by +
  --rules           print the table of all rules for docs/internals/rewrites.md
  --place=WORDS     put every node on a device: "devices=cuda0+cuda1 scoped=cuda1 fallback=cuda0 soft"
  --fuse            cut into kernels and products, and print these
  --codegen=TARGET  print the generated text of each kernel: cpu or cuda
  --evaluate        print the values of the outputs for random inputs, by the reference evaluator
  --verify          check the promises of graphs; prints nothing unless another option asks for it
  --kernel          the text is a kernel
)";

struct Options {
  std::string rewrite, place, codegen, file, off;
  bool rules = false, ieee = false, fuse = false, evaluate = false, verify = false, kernel = false, help = false;
};

Options parse_arguments(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    const auto value = [&](std::string_view name, std::string& to) {
      if (!argument.starts_with(name)) return false;
      to = argument.substr(name.size());
      return true;
    };
    if (value("--rewrite=", options.rewrite) || value("--place=", options.place) || value("--off=", options.off))
      continue;
    if (value("--codegen=", options.codegen)) {
      if (options.codegen != "cpu" && options.codegen != "cuda")
        throw ValueError(fmt::format("--codegen={}: cpu or cuda is expected", options.codegen));
    } else if (argument == "--ieee")
      options.ieee = true;
    else if (argument == "--rules")
      options.rules = true;
    else if (argument == "--fuse")
      options.fuse = true;
    else if (argument == "--evaluate")
      options.evaluate = true;
    else if (argument == "--verify")
      options.verify = true;
    else if (argument == "--kernel")
      options.kernel = true;
    else if (argument == "--help")
      options.help = true;
    else if (argument.starts_with("-"))
      throw ValueError(fmt::format("there is no option {}\n\n{}", argument, usage));
    else
      options.file = argument;
  }
  return options;
}

std::string read(const std::string& file) {
  std::ostringstream text;
  if (file.empty() || file == "-") {
    text << std::cin.rdbuf();
  } else {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw FileError(fmt::format("{} cannot be read", file));
    text << in.rdbuf();
  }
  return std::move(text).str();
}

std::string generated(const kernel::Kernel& kernel, std::string_view target) {
  const auto analysis = codegen::analyse(kernel);
  const codegen::Launch launch = codegen::default_launch(*analysis);
  return codegen::emit({analysis.get(), &launch.variant},
                       target == "cpu" ? codegen::Target::cpu : codegen::Target::cuda)
      .code;
}

std::string of_kernel(const std::string& text, const Options& options) {
  const kernel::Kernel kernel = kernel::parse_kernel(text);
  return options.codegen.empty() ? kernel::print(kernel) : generated(kernel, options.codegen);
}

std::string values(const expr::Graph& graph) {
  const std::vector<Array> inputs = text::random_inputs(graph, 1);
  std::ostringstream out;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    out << graph.inputs[i].name << " =\n" << inputs[i].to_string() << '\n';
  const std::vector<Array> results = expr::evaluate(graph, inputs);
  const expr::Names names(graph);
  for (std::size_t i = 0; i < results.size(); ++i)
    out << names(graph.roots()[i]) << " =\n" << results[i].to_string() << '\n';
  return std::move(out).str();
}

std::string of_graph(const std::string& text, const Options& options) {
  expr::Graph graph = expr::parse_graph(text);
  if (options.verify) expr::verify(graph);
  rewrite::Fired fired;
  if (!options.rewrite.empty())
    graph = text::rewrite(std::move(graph), options.rewrite, !options.ieee, fired, rewrite::rule_names(options.off));
  if (!options.place.empty()) {
    std::istringstream in(options.place);
    const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
    graph = text::place(graph, words);
  }
  if (options.evaluate) return values(graph);
  if (!options.fuse && options.codegen.empty()) {
    const bool silent = options.verify && options.rewrite.empty() && options.place.empty();
    return silent ? "" : expr::print(graph);
  }
  const fuse::Program program = fuse::fuse(std::move(graph));
  if (options.codegen.empty()) return fuse::print(program);
  std::string code;
  for (const fuse::Call& call : program.calls) {
    if (const auto* kernel = std::get_if<fuse::KernelCall>(&call.work))
      code += generated(*kernel->kernel, options.codegen) + '\n';
  }
  return code;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const Options options = parse_arguments(count, arguments);
    if (options.help) {
      std::cout << usage;
      return 0;
    }
    if (options.rules) {
      std::cout << tool::rules_markdown();
      return 0;
    }
    const std::string text = read(options.file);
    std::cout << (options.kernel ? of_kernel(text, options) : of_graph(text, options));
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "croton-opt: " << e.what() << '\n';
    return 1;
  }
}
