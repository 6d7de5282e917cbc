#include "simulate.hpp"

#include <croton/error.hpp>
#include <croton/simulate.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include "confined.hpp"

namespace croton::tool {
namespace {

constexpr const char* help_text =
    "usage: croton simulate FILE --kernel NAME [options]\n"
    "  --blocks B, --threads T    sizes of the grid and of a block: 8, or 8x2 or 8x2x1 (default 1)\n"
    "  --shared BYTES             dynamic shared memory\n"
    "  --cooperative              all blocks run at the same time, for grid barriers\n"
    "  --strict                   races by the memory model of PTX: shuffles order nothing, readers need fences\n"
    "  --arg TYPE:COUNT:CONTENT   an array in device memory; CONTENT is random, zeros, arange or empty (never "
    "written)\n"
    "  --arg TYPE=NUMBER          a number; TYPE is f32, f64, i8 to i64, u8 to u64, bool\n"
    "  --seed S                   another order of blocks and threads (default 0)\n"
    "  --seeds N                  the N orders from there on, results of the last\n"
    "  --print N                  how many elements of each array are printed (default 8)\n"
    "  --memory MIB, --seconds S  what the kernel may take (default 4096 and 300)\n"
    "The kernel runs in a process of its own, which has no files, no network and no other processes.\n"
    "Arguments go to the kernel in the order of the options. docs/use/simulator.md lists the simulator's checks.\n";

struct Request {
  std::string file;
  CudaLaunch launch;
  std::vector<std::string> arguments;
  std::uint64_t orders = 1;
  std::int64_t print = 8;
  Limits limits;
};

/// A mistake in the command line.
class Misuse : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class T>
T number_of(const std::string& text, const std::string& what) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size())
    throw Misuse(fmt::format("{} needs a number, not '{}'", what, text));
  return number;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::array<unsigned, 3> sizes_of(const std::string& text, const std::string& what) {
  const std::vector<std::string> parts = split(text, 'x');
  if (parts.size() > 3) throw Misuse(fmt::format("{} has at most three sizes, not '{}'", what, text));
  std::array<unsigned, 3> sizes{1, 1, 1};
  for (std::size_t i = 0; i < parts.size(); ++i) sizes.at(i) = number_of<unsigned>(parts[i], what);
  return sizes;
}

struct Option {
  std::string_view name;
  void (*take)(Request& request, const std::string& value, const std::string& name);
};

constexpr Option options_with_value[] = {
    {"--kernel", [](Request& r, const std::string& v, const std::string&) { r.launch.kernel = v; }},
    {"--blocks", [](Request& r, const std::string& v, const std::string& n) { r.launch.blocks = sizes_of(v, n); }},
    {"--threads", [](Request& r, const std::string& v, const std::string& n) { r.launch.threads = sizes_of(v, n); }},
    {"--shared", [](Request& r, const std::string& v,
                    const std::string& n) { r.launch.shared_bytes = number_of<std::size_t>(v, n); }},
    {"--arg", [](Request& r, const std::string& v, const std::string&) { r.arguments.push_back(v); }},
    {"--seed",
     [](Request& r, const std::string& v, const std::string& n) { r.launch.seed = number_of<std::uint64_t>(v, n); }},
    {"--seeds", [](Request& r, const std::string& v,
                   const std::string& n) { r.orders = std::max<std::uint64_t>(1, number_of<std::uint64_t>(v, n)); }},
    {"--print",
     [](Request& r, const std::string& v, const std::string& n) { r.print = number_of<std::int64_t>(v, n); }},
    {"--memory",
     [](Request& r, const std::string& v, const std::string& n) {
       r.limits.memory_bytes = std::size_t{number_of<std::uint32_t>(v, n)} << 20;
     }},
    {"--seconds",
     [](Request& r, const std::string& v, const std::string& n) { r.limits.seconds = number_of<unsigned>(v, n); }},
};

Request parse(const std::vector<std::string>& words) {
  Request request;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("--")) {
      if (!request.file.empty()) throw Misuse(fmt::format("there is a second file, '{}'", word));
      request.file = word;
      continue;
    }
    if (word == "--cooperative" || word == "--strict") {
      (word == "--strict" ? request.launch.strict : request.launch.cooperative) = true;
      continue;
    }
    const auto* const option = std::ranges::find(options_with_value, word, &Option::name);
    if (option == std::end(options_with_value)) {
      std::string known = "--cooperative, --strict";
      for (const Option& one : options_with_value) known += fmt::format(", {}", one.name);
      throw Misuse(fmt::format("simulate does not take '{}'; it takes {}", word, known));
    }
    if (i + 1 == words.size()) throw Misuse(fmt::format("{} needs a value", word));
    option->take(request, words[++i], word);
  }
  if (request.file.empty()) throw Misuse("simulate needs the file of a kernel");
  if (request.launch.kernel.empty()) throw Misuse("simulate needs --kernel NAME");
  return request;
}

CudaArgument array_argument(DType dtype, const std::string& count, const std::string& content, std::uint64_t seed) {
  const auto size = number_of<std::int64_t>(count, "the size of an array");
  if (size < 0) throw Misuse("an array cannot have fewer than 0 elements");
  if (content == "zeros") return Array::zeros(dtype, {size});
  if (content == "arange") return Array::arange(size).astype(dtype);
  if (content == "empty") return CudaArgument::output(Array::zeros(dtype, {size}));
  if (content != "random")
    throw Misuse(fmt::format("an array holds random, zeros, arange or empty, not '{}'", content));
  const double highest = is_float(dtype) ? 1 : 100;
  return Array::uniform(dtype, {size}, seed, 0, highest);
}

CudaArgument number_argument(DType dtype, const std::string& text) {
  switch (dtype) {
    case DType::float32:
      return number_of<float>(text, "an argument");
    case DType::float64:
      return number_of<double>(text, "an argument");
    case DType::bool_:
      return number_of<int>(text, "an argument") != 0;
    case DType::int8:
      return number_of<std::int8_t>(text, "an argument");
    case DType::int16:
      return number_of<std::int16_t>(text, "an argument");
    case DType::int32:
      return number_of<std::int32_t>(text, "an argument");
    case DType::int64:
      return number_of<std::int64_t>(text, "an argument");
    case DType::uint8:
      return number_of<std::uint8_t>(text, "an argument");
    case DType::uint16:
      return number_of<std::uint16_t>(text, "an argument");
    case DType::uint32:
      return number_of<std::uint32_t>(text, "an argument");
    case DType::uint64:
      return number_of<std::uint64_t>(text, "an argument");
    default:
      throw Misuse(fmt::format("a number cannot be {}", name_of(dtype)));
  }
}

std::vector<CudaArgument> arguments_of(const Request& request) {
  std::vector<CudaArgument> arguments;
  for (const std::string& text : request.arguments) {
    const std::vector<std::string> array = split(text, ':'), number = split(text, '=');
    if (array.size() == 3) {
      arguments.push_back(array_argument(dtype_from_name(array[0]), array[1], array[2], arguments.size() + 1));
    } else if (number.size() == 2) {
      arguments.push_back(number_argument(dtype_from_name(number[0]), number[1]));
    } else {
      throw Misuse(fmt::format("an argument is TYPE:COUNT:CONTENT or TYPE=NUMBER, not '{}'", text));
    }
  }
  return arguments;
}

/// Whole numbers with all their digits.
std::string element_text(const Array& array, std::int64_t at) {
  const Array element = array.slice(0, at, at + 1);
  if (array.dtype() == DType::uint64) return fmt::format("{}", element.item<std::uint64_t>());
  return is_discrete(array.dtype()) ? fmt::format("{}", element.item<std::int64_t>())
                                    : fmt::format("{:.9g}", element.item<double>());
}

void print(const std::vector<CudaArgument>& arguments, std::int64_t most) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is_array()) continue;
    const Array& array = arguments[i].array();
    const std::int64_t shown = std::clamp<std::int64_t>(most, 0, array.size());
    std::cout << fmt::format("argument {}: {}[{}]", i + 1, short_name_of(array.dtype()), array.size());
    for (std::int64_t j = 0; j < shown; ++j) std::cout << " " << element_text(array, j);
    std::cout << (shown < array.size() ? " ...\n" : "\n");
  }
}

int run(const CudaText& text, Request request) {
  std::vector<CudaArgument> arguments;
  for (std::uint64_t order = 0; order < request.orders; ++order, ++request.launch.seed) {
    arguments = arguments_of(request);
    try {
      text.launch(request.launch, arguments);
    } catch (const DeviceError& error) {
      if (request.orders == 1) throw;
      throw DeviceError(fmt::format("{} (--seed {})", error.what(), request.launch.seed));
    }
  }
  print(arguments, request.print);
  return 0;
}

int run_confined(const Request& request) {
  std::ifstream file(request.file);
  if (!file) throw FileError(fmt::format("{} cannot be read", request.file));
  const CudaText text(std::string(std::istreambuf_iterator<char>(file), {}), request.file);
  arguments_of(request);  // an error in them is an error of the command line
  const auto prepare = [&]() -> std::function<int()> {
    text.compile(request.launch.kernel);
    return [&] { return run(text, request); };
  };
  return run_confined(request.limits, prepare, &CudaText::describe_running);
}

}  // namespace

int simulate(const std::vector<std::string>& arguments) {
  if (arguments.size() == 1 && arguments[0] == "--help") {
    std::cout << help_text;
    return 0;
  }
  try {
    return run_confined(parse(arguments));
  } catch (const Misuse& mistake) {
    std::cerr << "croton: " << mistake.what() << "\n" << help_text;
    return 2;
  }
}

}  // namespace croton::tool
