// Model parallel training, as in Keras's guide: one LSTM reads two texts, each on its own device; both encodings are
// joined on the CPU, which decides whether the texts are by the same writer. The layer has one set of weights, stored
// where it was made: each step sends them to the other device, and the gradient of its text back, where both are added
// up. Exits with 0 if two devices give the same results as one, and the network has learnt.
//
// Usage: shared_lstm [FIRST SECOND [HOST]]    (cpu1 cpu2 cpu)
#include <croton/croton.hpp>
#include <croton/nn.hpp>

#include <algorithm>
#include <cmath>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "device_names.hpp"

namespace ct = croton;
namespace nn = croton::nn;

namespace {

constexpr std::int64_t texts = 16, length = 140, characters = 256;
constexpr int steps = 15;

/// Texts of two writers, as rows of 140 characters of 256 (one of each row is 1): one writer uses the first half of the
/// alphabet more, the other one the second half.
struct Texts {
  ct::Array a = ct::Array::zeros(ct::DType::float32, {texts, length, characters});
  ct::Array b = a.copy();
  ct::Array same = ct::Array::zeros(ct::DType::float32, {texts, 1});
};
Texts make_texts() {
  Texts made;
  const ct::Array random = ct::Array::uniform(ct::DType::float32, {2, texts, length}, 3);
  for (std::int64_t i = 0; i < texts; ++i) {
    const std::int64_t writers[] = {i % 2, i / 2 % 2};
    made.same.at<float>(i, 0) = writers[0] == writers[1] ? 1 : 0;
    for (std::int64_t side : {0, 1}) {
      for (std::int64_t t = 0; t < length; ++t) {
        const auto letter = static_cast<std::int64_t>(random.at<float>(side, i, t) * 127.f) + 128 * writers[side];
        (side == 0 ? made.a : made.b).at<float>(i, t, letter) = 1;
      }
    }
  }
  return made;
}

struct Network {
  std::vector<ct::SharedVariable> weights;
  ct::Function encode, train;
};

Network build(const std::string& first, const std::string& second, const std::string& host) {
  nn::set_seed(2);
  const ct::change_flags stored("device=" + first);  // the weights are made on this device
  const nn::LSTM reader(64);
  const nn::Dense hidden(32, {.activation = "tanh"}), guess(1);
  reader.build({{length, characters}});
  hidden.build({{128}});
  const ct::Variable a = ct::tensor3("a"), b = ct::tensor3("b"), same = ct::matrix("same");
  ct::Variable of_a, of_b, both, loss;
  {
    const ct::device_scope on(first);
    of_a = reader(a).named("of a");
  }
  {
    const ct::device_scope on(second);
    of_b = reader(b).named("of b");
  }
  {
    const ct::device_scope on(host);
    both = ct::concatenate({of_a, of_b}, -1).named("both");
    loss = nn::BinaryCrossentropy({.from_logits = true})(same, guess(hidden(both))).named("loss");
  }
  std::vector<ct::SharedVariable> weights;
  for (const nn::Layer& layer : {nn::Layer(reader), nn::Layer(hidden), nn::Layer(guess)}) {
    for (const ct::SharedVariable& w : layer.trainable_weights()) weights.push_back(w);
  }
  const ct::device_scope on(first);  // the updates are made on the device of the weights
  const nn::Adam adam({.learning_rate = 3e-3});
  return {.weights = weights,
          .encode = ct::function({a, b}, both, {.name = "encode"}),
          .train = ct::function({a, b, same}, loss, {.updates = adam.minimize(loss, weights), .name = "train"})};
}

/// The number of calls, of 10, in which the loop of one text began before that of the other one ended.
int calls_that_overlap(const ct::Function& encode, const Texts& data) {
  const ct::change_flags threads("device_threads=on");  // also if one thread would be as fast
  int overlap = 0;
  for (int call = 0; call < 10; ++call) {
    const ct::Trace trace;
    encode(data.a, data.b);
    std::vector<ct::TraceEvent> events = trace.events();
    std::erase_if(events, [](const ct::TraceEvent& event) { return event.what != "loop"; });
    if (events.size() == 2 && events[1].start < events[0].end) ++overlap;
  }
  return overlap;
}

int run(const std::string& first, const std::string& second, const std::string& host) {
  device_names::provide({first, second, host});
  const Texts data = make_texts();
  const Network two = build(first, second, host), one = build(first, first, host);

  std::int64_t parameters = 0;
  for (std::size_t i = 0; i < 3; ++i) parameters += two.weights[i].get_value().size();
  std::cout << "the LSTM has " << parameters << " parameters, on " << two.weights[0].home() << "\n";
  ct::log_device_placement(std::cout);
  const ct::Array encoded = two.encode(data.a, data.b);
  ct::log_device_placement(nullptr);
  std::cout << "the loops ran at the same time in " << calls_that_overlap(two.encode, data) << " of 10 calls\n";
  const bool same = encoded.same_bits(one.encode(data.a, data.b));
  std::cout << "encodings of " << encoded.shape(0) << " x " << encoded.shape(1)
            << " numbers: " << (same ? "the same bits" : "OTHER bits") << " as on one device\n\n";

  std::vector<double> losses;
  double apart = 0;
  for (int step = 0; step < steps; ++step) {
    losses.push_back(two.train(data.a, data.b, data.same).item<double>());
    apart = std::max(apart, std::abs(losses.back() - one.train(data.a, data.b, data.same).item<double>()));
    if (step % 5 == 4) std::cout << command_line::text("step %d  loss %.4f\n", step + 1, losses.back());
  }
  std::cout << "a step sends\n";
  for (const ct::TransferInfo& t : two.train.transfers())
    std::cout << "  " << t.what << ": " << t.from << " -> " << t.to << ", " << t.bytes << " bytes\n";
  std::cout << "the weights are on " << two.weights[0].home() << "; losses on one device "
            << (apart < 1e-4 ? "are the same" : "DIFFER") << " within 1e-4\n";
  return same && apart < 1e-4 && losses.back() < losses.front() / 2 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 1 && argc != 3 && argc != 4) {
    std::cerr << "usage: shared_lstm [FIRST SECOND [HOST]]\n";
    return 2;
  }
  try {
    return run(argc > 2 ? argv[1] : "cpu1", argc > 2 ? argv[2] : "cpu2", argc > 3 ? argv[3] : "cpu");
  } catch (const std::exception& error) {
    std::cerr << "shared_lstm: " << error.what() << "\n";
    return 1;
  }
}
