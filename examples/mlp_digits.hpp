// A network of three weight matrices, written as in Theano's tutorials, that learns to read handwritten digits, for
// examples/mlp_digits.cpp and `croton demo mlp`. At the end it reports the compiled kernels and the compiler, and shows
// one of the generated kernels.
#pragma once

#include <croton/croton.hpp>
#include <croton/io.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "progress.hpp"

namespace mlp_digits {

namespace ct = croton;
using command_line::number;
using command_line::text;

struct Settings {
  int epochs = 30;
  int batch = 50;
  std::uint64_t seed = 0;  // of the split and of the first weights
  bool quiet = false;
};

constexpr double accuracy_expected = 0.96;

// ---- data ---------------------------------------------------------------------------------------------------------

struct Set {
  ct::Array images, labels;
  std::int64_t size() const { return labels.size(); }
};

/// The rows of the set in the given order.
inline Set pick(const Set& from, std::span<const std::int64_t> rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  Set to{ct::Array::empty(from.images.dtype(), {count, from.images.shape(1)}),
         ct::Array::empty(from.labels.dtype(), {count})};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = rows[static_cast<std::size_t>(i)];
    to.images.row(i).copy_from(from.images.row(row));
    to.labels.row(i).copy_from(from.labels.row(row));
  }
  return to;
}

struct Data {
  Set train, held_out;
};

/// The digits in an order that depends only on the seed, with one in five held out.
inline Data load(std::uint64_t seed) {
  ct::io::Digits digits = ct::io::digits();
  const Set all{digits.images, digits.labels};
  std::vector<std::int64_t> order(static_cast<std::size_t>(all.size()));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(seed);  // std::shuffle differs between standard libraries
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
  const std::size_t held_out = order.size() / 5 + 1;
  const std::span<const std::int64_t> rows = order;
  return {pick(all, rows.subspan(held_out)), pick(all, rows.first(held_out))};
}

// ---- the network --------------------------------------------------------------------------------------------------

struct Model {
  ct::Function train;     // images, labels -> loss; changes the weights
  ct::Function accuracy;  // images, labels -> the fraction that is read correctly
};

/// Standard normal numbers times sqrt(2 / inputs), with which relu layers preserve the magnitude of their inputs (K. He
/// and others, 2015).
inline ct::SharedVariable weights(std::int64_t inputs, std::int64_t outputs, std::uint64_t seed, const char* name) {
  ct::Array values = ct::Array::normal(ct::DType::float32, {inputs, outputs}, seed);
  const float scale = std::sqrt(2.0f / static_cast<float>(inputs));
  for (float& value : values.data<float>()) value *= scale;
  return ct::shared(values, {.name = name});
}

inline Model build(std::uint64_t seed) {
  ct::Variable x = ct::fmatrix("x");
  ct::Variable y = ct::ivector("y");
  ct::SharedVariable w1 = weights(64, 100, 3 * seed, "w1");
  ct::SharedVariable w2 = weights(100, 100, 3 * seed + 1, "w2");
  ct::SharedVariable w3 = weights(100, 10, 3 * seed + 2, "w3");

  ct::Variable h1 = ct::nnet::relu(ct::dot(x, w1));
  ct::Variable h2 = ct::nnet::relu(ct::dot(h1, w2));
  ct::Variable p = ct::nnet::softmax(ct::dot(h2, w3));
  ct::Variable loss = ct::mean(ct::nnet::categorical_crossentropy(p, y)).named("loss");

  auto [g1, g2, g3] = ct::grad(loss, w1, w2, w3);
  return {
      .train = ct::function(
          {x, y}, loss, {.updates = {{w1, w1 - 0.1 * g1}, {w2, w2 - 0.1 * g2}, {w3, w3 - 0.1 * g3}}, .name = "train"}),
      .accuracy = ct::function({x, y}, ct::mean(ct::eq(ct::argmax(p, 1), y)), {.name = "accuracy"}),
  };
}

/// One pass over the images in mini-batches; returns the mean of their losses.
inline double train_epoch(const ct::Function& train, const Set& set, int batch) {
  double sum = 0;
  for (std::int64_t begin = 0; begin < set.size(); begin += batch) {
    const std::int64_t end = std::min(begin + batch, set.size());
    const double loss = train(set.images.slice(0, begin, end), set.labels.slice(0, begin, end)).item<float>();
    sum += loss * static_cast<double>(end - begin);
  }
  return sum / static_cast<double>(set.size());
}

// ---- reports --------------------------------------------------------------------------------------------------------

inline void print_devices(const ct::Function& f) {
  for (const ct::FlagInfo& flag : ct::flags()) {
    if (flag.name == "mode" && flag.value != "run") {
      std::cout << "           mode is " << flag.value << " (" << flag.origin << "): " << flag.doc << "\n";
    }
    if (flag.name != "device") continue;
    for (const std::string& name : f.devices()) {
      for (const ct::DeviceInfo& device : ct::devices()) {
        if (device.name != name) continue;
        std::cout << "Ran on:    " << device.to_string() << ": the flag device is " << flag.value << " (" << flag.origin
                  << ")\n";
        if (device.kind == ct::DeviceInfo::Kind::simulated)
          std::cout << "           (simulated: the times above say nothing about a GPU)\n";
      }
    }
  }
}

inline void print_counts(const ct::Function& f) {
  const ct::CallCounts n = f.counts();
  const std::string compiler = n.compiler.substr(0, n.compiler.find(" +"));  // without the processor's features
  std::cout << text("%-9s  %zu kernels and %zu matrix products a call, %llu calls\n", f.name().c_str(),
                    f.kernels().size(), f.product_count(), static_cast<unsigned long long>(n.calls));
  if (n.reference_kernels > 0) {
    std::cout << text(
        "           %llu kernels ran slowly in the reference evaluator: `croton doctor` tells what is missing\n",
        static_cast<unsigned long long>(n.reference_kernels));
  }
  std::cout << text("           %llu kernels run, %llu compiled by %s, %llu from the cache\n",
                    static_cast<unsigned long long>(n.kernels), static_cast<unsigned long long>(n.compiled),
                    compiler.c_str(), static_cast<unsigned long long>(n.cached))
            << text("           %llu products by %s\n", static_cast<unsigned long long>(n.products),
                    n.product_library == "none" ? "Croton's own loop" : n.product_library.c_str());
}

/// At most `count` lines of a text from the position on.
inline std::string lines_from(const std::string& text, std::size_t position, int count) {
  std::size_t end = position;
  while (count-- > 0 && end < text.size()) end = std::min(text.find('\n', end), text.size() - 1) + 1;
  return text.substr(position, end - position) + (end < text.size() ? "...\n" : "");
}

/// The text without its first comment.
inline std::string without_comment(const std::string& text) {
  std::size_t begin = 0;
  while (text.compare(begin, 2, "//") == 0) begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
  return text.substr(begin);
}

inline void show_ptx(const ct::KernelInfo& kernel) {
  std::cout << "\n---- PTX of it, by NVRTC\n";
  try {
    const std::string ptx = kernel.ptx();
    const std::size_t entry = ptx.find(".visible .entry");
    std::cout << lines_from(ptx, entry == std::string::npos ? 0 : entry, 30);
  } catch (const ct::DeviceError& error) {
    const std::string why = error.what();  // its last line names the packages
    std::cout << "NVRTC cannot be used (it needs neither a GPU nor a driver). " << why.substr(why.rfind('\n') + 1)
              << "\n`croton doctor` lists the places that were searched.\n";
  }
}

/// The text of the kernel with the most work, for both kinds of device.
inline void show_kernel(const ct::Function& f) {
  const std::vector<ct::KernelInfo> cpu = f.kernels("cpu"), cuda = f.kernels("cuda:sm_90");
  if (cpu.empty()) return;
  const auto largest = std::ranges::max_element(cpu, {}, [](const ct::KernelInfo& k) { return k.expression.size(); });
  const ct::KernelInfo& for_cuda = cuda.at(static_cast<std::size_t>(largest - cpu.begin()));
  std::cout << "\nOne of the kernels that Croton wrote, first for GPUs (" << for_cuda.target
            << "), then for the CPU:\n\n"
            << for_cuda.source << "\n---- " << largest->target << "\n"
            << without_comment(largest->source);
  show_ptx(for_cuda);
}

// ---- the program --------------------------------------------------------------------------------------------------

/// Trains the network. Returns 0 if it reads at least 96 % of the held-out digits, else 1.
inline int run(const Settings& settings) {
  const Data data = load(settings.seed);
  const Model model = build(settings.seed);
  if (!settings.quiet) {
    std::cout << text("Handwritten digits: %lld to learn from, %lld held out, 64 -> 100 -> 100 -> 10\n",
                      static_cast<long long>(data.train.size()), static_cast<long long>(data.held_out.size()))
              << std::flush;
  }
  double seconds = 0;
  {
    Progress progress("epoch", settings.epochs);
    for (int epoch = 1; epoch <= settings.epochs; ++epoch) {
      const double loss = train_epoch(model.train, data.train, settings.batch);
      if (!settings.quiet) progress.update(epoch, text("loss %.4f", loss));
    }
    seconds = progress.seconds();
  }
  const double accuracy = model.accuracy(data.held_out.images, data.held_out.labels).item<double>();
  const bool good = accuracy >= accuracy_expected;
  std::cout << text("Accuracy:  %.4f of the digits held out (%s %.2f)\n", accuracy,
                    good ? "at least" : "NOT the expected", accuracy_expected);
  if (settings.quiet) return good ? 0 : 1;

  std::cout << text("Time:      %.2f s for %d epochs, %.2f ms each, compilation included\n", seconds, settings.epochs,
                    1000 * seconds / settings.epochs);
  print_devices(model.train);
  print_counts(model.train);
  print_counts(model.accuracy);
  show_kernel(model.train);
  return good ? 0 : 1;
}

constexpr const char* usage =
    "  --epochs N   passes over the training images (30)\n"
    "  --batch N    images in one step (50)\n"
    "  --seed N     of the split and of the first weights (0)\n"
    "  --quiet      only the accuracy\n"
    "The exit status is 1 if fewer than 96 % of the digits held out are read rightly.\n";

/// Parses the options. ValueError for unknown or invalid ones.
inline Settings parse(const std::vector<std::string>& arguments) {
  Settings settings;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& option = arguments[i];
    if (option == "--quiet") {
      settings.quiet = true;
      continue;
    }
    if (option != "--epochs" && option != "--batch" && option != "--seed") {
      throw ct::ValueError(text("the option '%.40s' is not known", option.c_str()));
    }
    if (++i == arguments.size()) throw ct::ValueError(option + " needs a number");
    if (option == "--epochs") settings.epochs = number(option, arguments[i], 1, 100000);
    if (option == "--batch") settings.batch = number(option, arguments[i], 1, 1437);
    if (option == "--seed") settings.seed = static_cast<std::uint64_t>(number(option, arguments[i], 0, 1000000));
  }
  return settings;
}

/// Runs with the options of a command line; returns 2 if they are invalid.
inline int main(const std::string& program, const std::vector<std::string>& arguments) {
  if (std::ranges::find(arguments, "--help") != arguments.end()) {
    std::cout << "usage: " << program << " [options]\n" << usage;
    return 0;
  }
  Settings settings;
  try {
    settings = parse(arguments);
  } catch (const ct::ValueError& error) {
    std::cerr << program << ": " << error.what() << "\nusage: " << program << " [options]\n" << usage;
    return 2;
  }
  return run(settings);
}

}  // namespace mlp_digits
