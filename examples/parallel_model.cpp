// Keras's multi_gpu_model: a parallel model shares the weights of its template, splits each batch into one part per
// device, and joins the results on the CPU, in order. Training the parallel model changes the weights of the template,
// and both are saved as the same file. Exits with 0 if this is true.
//
// Usage: parallel_model [DEVICE ...]    (cpu0 ... cpu7)
#include <croton/nn.hpp>

#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "device_names.hpp"
#include "digits_split.hpp"

namespace ct = croton;
namespace nn = croton::nn;

namespace {

constexpr int batch = 256, epochs = 20;

/// Class numbers as one-hot rows.
ct::Array one_hot(const ct::Array& labels) {
  ct::Array rows = ct::Array::zeros(ct::DType::float32, {labels.size(), 10});
  for (std::int64_t i = 0; i < labels.size(); ++i)
    rows.at<float>(i, static_cast<std::int64_t>(labels.as_double(i))) = 1;
  return rows;
}

std::string bytes_of(const char* file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

int run(const std::vector<std::string>& devices) {
  device_names::provide(devices);
  const digits::Split data = digits::load(28);
  nn::set_seed(1);
  nn::Sequential model{nn::Dense(128, {.activation = "relu", .input_shape = {784}}),
                       nn::Dense(10, {.activation = "softmax"})};
  const ct::Array before = model.predict(data.test_x);

  nn::Model parallel = nn::multi_gpu_model(model, devices);
  // Products of 4 rows may be added up in another order than those of 32.
  const bool alike = parallel.predict(data.test_x).all_close(before, 1e-4, 1e-6);
  std::cout << "On " << devices.size() << " devices the parallel model predicts "
            << (alike ? "the same, in the same order" : "SOMETHING ELSE") << "\n";
  parallel.compile({.loss = "categorical_crossentropy", .optimizer = "rmsprop", .metrics = {"accuracy"}});
  const nn::History history = parallel.fit(data.train_x, one_hot(data.train_y),
                                           {.epochs = epochs, .batch_size = batch, .verbose = nn::Verbose::silent});
  std::cout << "history: " << history.logs.size() << " epochs; " << history.logs.back() << "\n";
  // These are for the last batch of an epoch, which is smaller than the others.
  for (const ct::TransferInfo& sent : parallel.train_function().transfers()) {
    if (sent.kind == ct::TransferInfo::Kind::input && sent.what.starts_with("input"))
      std::cout << "  " << sent.bytes / (784 * sizeof(float)) << " rows to " << sent.to << "\n";
  }

  parallel.save_weights("parallel.safetensors");
  model.save_weights("template.safetensors");
  const bool same = bytes_of("parallel.safetensors") == bytes_of("template.safetensors");
  std::cout << "Saved, both are " << (same ? "the same file" : "OTHER files") << "\n";
  const bool learnt = !model.predict(data.test_x).same_bits(before);
  return alike && same && learnt && history["accuracy"].back() > 0.9 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::string> devices(argv + 1, argv + argc);
    for (int i = 0; devices.size() < 8 && argc == 1; ++i) devices.push_back("cpu" + std::to_string(i));
    return run(devices);
  } catch (const std::exception& error) {
    std::cerr << "parallel_model: " << error.what() << "\n";
    return 1;
  }
}
