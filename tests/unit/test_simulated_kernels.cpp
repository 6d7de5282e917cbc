// tests/simulator/kernels.txt: broken kernels are reported, corrected ones are not.
#include <algorithm>
#include <croton/config.hpp>
#include <croton/error.hpp>
#include <croton/simulate.hpp>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"
#include "folders.hpp"

using croton::Array;
using croton::CudaArgument;
using croton::CudaLaunch;
using croton::CudaText;

namespace {

using Words = std::vector<std::string>;

Words split(const std::string& text, char at) {
  Words parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

// One side of a case.
struct Kernel {
  std::string name;
  std::string text;
  CudaLaunch launch;
  Words arguments;
  Words expected;          // one of these
  std::string line;        // and this; may be empty
  bool sometimes = false;  // only some orders of threads and blocks show the fault
  unsigned launches = 1;   // one after another, on the same arrays
  std::string architecture = "sm_90";
};

std::array<unsigned, 3> parse_shape(const std::string& text) {
  std::array<unsigned, 3> shape{1, 1, 1};
  const Words sizes = split(text, 'x');
  for (std::size_t i = 0; i < sizes.size(); ++i) shape.at(i) = static_cast<unsigned>(std::stoul(sizes[i]));
  return shape;
}

void parse_launch(Kernel& kernel, const Words& words) {
  CudaLaunch& launch = kernel.launch;
  launch = {.kernel = "k"};
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "cooperative") {
      launch.cooperative = true;
    } else if (words[i] == "strict") {
      launch.strict = true;
    } else if (words[i] == "twice") {
      kernel.launches = 2;
    } else if (words[i] == "architecture") {
      kernel.architecture = words.at(++i);
    } else if (words[i] == "blocks") {
      launch.blocks = parse_shape(words.at(++i));
    } else if (words[i] == "threads") {
      launch.threads = parse_shape(words.at(++i));
    } else if (words[i] == "shared") {
      launch.shared_bytes = std::stoul(words.at(++i));
    } else {
      throw std::runtime_error("a launch has no " + words[i]);
    }
  }
}

void read_line(Kernel& kernel, const std::string& line) {
  const Words words = split(line, ' ');
  if (!words.empty() && words[0] == "launch") {
    parse_launch(kernel, words);
  } else if (!words.empty() && words[0] == "args") {
    kernel.arguments.assign(words.begin() + 1, words.end());
  } else if (!words.empty() && (words[0] == "expect" || words[0] == "sometimes")) {
    kernel.sometimes = words[0] == "sometimes";
    const std::string rest = line.substr(words[0].size() + 1);
    const std::size_t at = rest.find(" @ ");
    kernel.expected = split(rest.substr(0, at), '|');
    if (at != std::string::npos) kernel.line = rest.substr(at + 3);
  } else {
    kernel.text += line + "\n";
  }
}

// For each case the broken kernel and the right one.
std::vector<std::pair<Kernel, Kernel>> read_cases() {
  std::ifstream file(croton::test::source_folder() + "/tests/simulator/kernels.txt");
  std::vector<std::pair<Kernel, Kernel>> cases;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) {
      Kernel kernel;
      kernel.name = line.substr(3);
      cases.emplace_back(kernel, kernel);
    } else if (!cases.empty()) {
      auto& [broken, right] = cases.back();
      const bool only_broken = line.starts_with('-'), only_right = line.starts_with('+');
      const std::string rest = only_broken || only_right ? line.substr(1) : line;
      if (!only_right) read_line(broken, rest);
      if (!only_broken) read_line(right, rest);
    }
  }
  return cases;
}

Array array_of(croton::DType dtype, std::int64_t count, const std::string& content) {
  if (content == "arange") return Array::arange(count).astype(dtype);
  return Array::zeros(dtype, {count});
}

struct Outcome {
  std::string report;  // empty if there was none
  std::vector<Array> arrays;
};

Outcome run(const Kernel& kernel, const CudaText& text, std::uint64_t seed) {
  Outcome outcome;
  std::vector<float> on_the_host(1000, 1.0f);
  std::vector<CudaArgument> arguments;
  for (const std::string& word : kernel.arguments) {
    const Words parts = split(word, ':');
    if (parts[0] == "host") {
      arguments.emplace_back(reinterpret_cast<std::uint64_t>(on_the_host.data()));
    } else if (parts.size() == 3) {
      const Array array = array_of(croton::dtype_from_name(parts[0]), std::stoll(parts[1]), parts[2]);
      outcome.arrays.push_back(array);
      arguments.push_back(parts[2] == "empty" ? CudaArgument::output(array) : CudaArgument(array));
    } else {
      const std::string number = word.substr(word.find('=') + 1);
      if (word.starts_with("i32"))
        arguments.emplace_back(static_cast<std::int32_t>(std::stol(number)));
      else
        arguments.emplace_back(static_cast<std::int64_t>(std::stoll(number)));
    }
  }
  const croton::change_flags flags{"cuda_simulator_architecture=" + kernel.architecture};
  CudaLaunch launch = kernel.launch;
  launch.seed = seed;
  try {
    for (unsigned i = 0; i < kernel.launches; ++i) text.launch(launch, arguments);
  } catch (const croton::DeviceError& error) {
    outcome.report = error.what();
  }
  return outcome;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Orders of threads and blocks: all of the first ones must show a fault, or one of them all.
constexpr std::uint64_t orders = 4, more_orders = 32;

bool is_expected(const Kernel& kernel, const std::string& report) {
  const bool named = std::ranges::any_of(kernel.expected, [&](const auto& words) { return has(report, words); });
  if (!named || !has(report, kernel.line)) return false;
  return kernel.line.empty() || (has(report, "simulated kernel k stopped in block ") && has(report, "line "));
}

}  // namespace

TEST_CASE("broken kernels are reported, with the line", "[simulator]") {
  std::size_t found = 0;
  const auto cases = read_cases();
  for (const auto& [broken, right] : cases) {
    const CudaText text(broken.text);
    bool always = true, ever = false;
    for (std::uint64_t seed = 0; seed < (broken.sometimes ? more_orders : orders) && !(broken.sometimes && ever);
         ++seed) {
      const std::string report = run(broken, text, seed).report;
      INFO(broken.name << ", order " << seed << ": " << report);
      const bool expected = is_expected(broken, report);
      if (!broken.sometimes || !report.empty()) CHECK(expected);
      always = always && expected;
      ever = ever || expected;
    }
    INFO(broken.name);
    CHECK(ever);
    found += (broken.sometimes ? ever : always) ? 1 : 0;
  }
  CHECK(cases.size() >= 60);
  CHECK(found == cases.size());
  WARN(found << " of " << cases.size() << " broken kernels were reported");
}

TEST_CASE("right kernels are not reported, and do not depend on the order", "[simulator]") {
  for (const auto& [broken, right] : read_cases()) {
    const CudaText text(right.text);
    std::vector<Array> first;
    for (std::uint64_t seed = 0; seed < (right.sometimes ? more_orders : orders); ++seed) {
      const Outcome outcome = run(right, text, seed);
      INFO(right.name << ", order " << seed);
      CHECK(outcome.report == "");
      if (first.empty()) first = outcome.arrays;
      for (std::size_t i = 0; i < first.size(); ++i) CHECK(first[i].same_bits(outcome.arrays[i]));
    }
  }
}
