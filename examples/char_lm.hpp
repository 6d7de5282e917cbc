// The network of examples/char_lm.cpp: layers of long short-term memory (Hochreiter and Schmidhuber 1997, with the
// forget gate of Gers and others 2000) that read a text character by character and predict the next one. A cell is
// written for one step; `scan` makes the loop over the text, and the gradient is a loop backwards.
#pragma once

#include <croton/croton.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace char_lm {

namespace ct = croton;
using ct::Variable;
using Updates = std::vector<std::pair<Variable, Variable>>;

struct Size {
  std::int64_t characters = 0, batch = 32;
  int hidden = 256, layers = 1;
};

/// A layer's weights, with the gates i, f, c and o concatenated.
struct Layer {
  ct::SharedVariable w, u, b;
};

struct Parameters {
  ct::SharedVariable embedding;  // a row for each character: its embedding
  std::vector<Layer> layers;
  ct::SharedVariable out, out_b;  // from the last layer to one number per character

  std::vector<ct::SharedVariable> all() const {
    std::vector<ct::SharedVariable> list{embedding};
    for (const Layer& layer : layers) list.insert(list.end(), {layer.w, layer.u, layer.b});
    list.insert(list.end(), {out, out_b});
    return list;
  }
};

/// The states of the layers between batches: a row for each piece of the text.
using Memory = std::vector<std::pair<ct::SharedVariable, ct::SharedVariable>>;  // h and c of each layer

constexpr int embedding_size = 64;

inline Parameters make_parameters(const Size& size, std::uint64_t seed) {
  seed *= 1000;
  const auto uniform = [&seed](ct::Sizes shape, std::int64_t inputs, const std::string& name) {
    const double bound = 1 / std::sqrt(static_cast<double>(inputs));
    return ct::shared(ct::Array::uniform(ct::DType::float32, std::move(shape), ++seed, -bound, bound), {.name = name});
  };
  Parameters p;
  p.embedding = uniform({size.characters, embedding_size}, 1, "embedding");
  for (int i = 0; i < size.layers; ++i) {
    const std::string number = std::to_string(i + 1);
    const std::int64_t inputs = i == 0 ? embedding_size : size.hidden;
    // Cells with initially open forget gates remember for longer (Jozefowicz and others 2015).
    ct::Array bias = ct::Array::zeros(ct::DType::float32, {4 * size.hidden});
    bias.slice(0, size.hidden, 2 * size.hidden).copy_from(ct::Array::full(ct::DType::float32, {size.hidden}, 1));
    p.layers.push_back({uniform({inputs, 4 * size.hidden}, inputs + size.hidden, "w" + number),
                        uniform({size.hidden, 4 * size.hidden}, inputs + size.hidden, "u" + number),
                        ct::shared(bias, {.name = "b" + number})});
  }
  p.out = uniform({size.hidden, size.characters}, size.hidden, "out");
  p.out_b = ct::shared(ct::Array::zeros(ct::DType::float32, {size.characters}), {.name = "out_b"});
  return p;
}

inline Memory make_memory(const Size& size) {
  const ct::Array zeros = ct::Array::zeros(ct::DType::float32, {size.batch, size.hidden});
  Memory memory;
  for (int i = 1; i <= size.layers; ++i) {
    const std::string number = std::to_string(i);
    memory.emplace_back(ct::shared(zeros, {.name = "h" + number}), ct::shared(zeros, {.name = "c" + number}));
  }
  return memory;
}

inline void forget(const Memory& memory) {
  for (auto [h, c] : memory) {
    const ct::Array zeros = ct::Array::zeros(ct::DType::float32, h.get_value(true).shape());
    h.set_value(zeros);
    c.set_value(zeros);
  }
}

/// One step of a layer: {h, c} from its input and the {h, c} of the previous step.
inline std::vector<Variable> cell(const Layer& layer, const Variable& x, const Variable& h, const Variable& c) {
  const Variable z = ct::dot(x, layer.w) + ct::dot(h, layer.u) + layer.b;
  const int size = static_cast<int>(layer.u.get_value(true).shape(0));
  const auto gate = [&](int k) { return z.at({ct::slice(), ct::slice(k * size, (k + 1) * size)}); };
  const Variable next = ct::sigmoid(gate(1)) * c + ct::sigmoid(gate(0)) * ct::tanh(gate(2));
  return {ct::sigmoid(gate(3)) * ct::tanh(next), next};
}

inline Variable embedded(const Parameters& p, const Variable& characters) {
  return ct::take(p.embedding, characters, 0);
}

inline Variable logits(const Parameters& p, const Variable& h) { return ct::dot(h, p.out) + p.out_b; }

/// The mean of -log2 of the predicted probability of each of y, the characters after those of x; both (time, batch).
/// The layers start with the memory, and the updates set it to the states after the last step.
inline Variable bits(const Parameters& p, const Memory& memory, const Variable& x, const Variable& y,
                     Updates& updates) {
  Variable sequence = embedded(p, x);
  for (std::size_t i = 0; i < p.layers.size(); ++i) {
    const auto& [h, c] = memory[i];
    const ct::ScanResult states =
        ct::scan([&](const std::vector<Variable>& in) { return ct::Step(cell(p.layers[i], in[0], in[1], in[2])); },
                 {sequence}, {h, c});
    sequence = states.outputs[0];
    updates.emplace_back(h, states.outputs[0][-1]);
    updates.emplace_back(c, states.outputs[1][-1]);
  }
  const Variable probabilities = ct::nnet::softmax(logits(p, sequence));
  return ct::mean(ct::nnet::categorical_crossentropy(probabilities, y)) / std::log(2.0);
}

/// Adam (Kingma and Ba 2015) on gradients that are scaled down together to a norm of at most `longest`, since those of
/// a recurrent layer are sometimes huge (Pascanu and others 2013).
inline void add_adam(const Variable& loss, const std::vector<ct::SharedVariable>& parameters, const Variable& rate,
                     Updates& updates, double longest = 1) {
  constexpr double keep_mean = 0.9, keep_square = 0.999;
  const std::vector<Variable> gradients = ct::grad(loss, {parameters.begin(), parameters.end()});
  Variable squares = ct::sum(ct::sqr(gradients[0]));
  for (std::size_t i = 1; i < gradients.size(); ++i) squares = squares + ct::sum(ct::sqr(gradients[i]));
  const Variable scale = ct::minimum(longest / ct::sqrt(squares), 1);

  const ct::SharedVariable step = ct::shared(ct::Array(0.f), {.name = "step"});
  const Variable n = step + 1;
  updates.emplace_back(step, n);
  const Variable corrected = rate * ct::sqrt(1 - ct::pow(keep_square, n)) / (1 - ct::pow(keep_mean, n));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ct::Array zeros = ct::Array::zeros(ct::DType::float32, parameters[i].get_value(true).shape());
    const ct::SharedVariable mean = ct::shared(zeros, {.name = "mean of " + parameters[i].name()});
    const ct::SharedVariable square = ct::shared(zeros, {.name = "square of " + parameters[i].name()});
    const Variable g = scale * gradients[i];
    const Variable next_mean = keep_mean * mean + (1 - keep_mean) * g;
    const Variable next_square = keep_square * square + (1 - keep_square) * ct::sqr(g);
    updates.emplace_back(mean, next_mean);
    updates.emplace_back(square, next_square);
    updates.emplace_back(parameters[i], parameters[i] - corrected * next_mean / (ct::sqrt(next_square) + 1e-8));
  }
}

/// Characters in order: those of `given` that are not negative; the others are drawn from the probabilities that the
/// network predicts from all earlier ones. The largest of logits / temperature + g is such a draw if each g =
/// -log(-log(u)) has its own u, uniform between 0 and 1 (Gumbel 1954).
inline ct::Function make_writer(const Parameters& p, std::uint64_t seed) {
  const Variable first = ct::lvector("first"), given = ct::lvector("given");
  const Variable temperature = ct::scalar("temperature");
  ct::RandomStreams streams(seed);
  std::vector<ct::OutputInfo> begin{first};
  for (const Layer& layer : p.layers) {
    const Variable zero = ct::zeros({first.shape(0), layer.u.shape(0)});
    begin.insert(begin.end(), {zero, zero});
  }
  const ct::ScanResult written = ct::scan(
      [&](const std::vector<Variable>& in) {  // given, the previous character, h and c of each layer
        std::vector<Variable> out{Variable()};
        Variable x = embedded(p, in[1]);
        for (std::size_t i = 0; i < p.layers.size(); ++i) {
          const std::vector<Variable> states = cell(p.layers[i], x, in[2 + 2 * i], in[3 + 2 * i]);
          out.insert(out.end(), states.begin(), states.end());
          x = states[0];
        }
        const Variable z = logits(p, x);
        const Variable gumbel = -ct::log(-ct::log(streams.uniform(z.shape())));
        out[0] = ct::where(in[0] >= 0, in[0], ct::argmax(z / temperature + gumbel, 1));
        return ct::Step(out);
      },
      {given}, begin);
  return ct::function({first, given, temperature}, written.outputs[0], {.name = "write"});
}

struct Model {
  Parameters parameters;
  Memory training, reading;  // of the two functions below
  ct::Function train;        // x, y, rate -> bits per character; changes the parameters and its memory
  ct::Function read;         // x, y -> bits per character; changes its memory
  ct::Function write;        // first characters (pieces), given (count), temperature -> (count, pieces) characters
};

inline Model make_model(const Size& size, std::uint64_t seed) {
  Model model{make_parameters(size, seed), make_memory(size), make_memory(size), {}, {}, {}};
  const Variable x = ct::imatrix("x"), y = ct::imatrix("y"), rate = ct::scalar("rate");
  Updates updates, read_updates;
  const Variable loss = bits(model.parameters, model.training, x, y, updates);
  add_adam(loss, model.parameters.all(), rate, updates);
  model.train = ct::function({x, y, rate}, loss, {.updates = updates, .name = "train"});
  const Variable read_loss = bits(model.parameters, model.reading, x, y, read_updates);
  model.read = ct::function({x, y}, read_loss, {.updates = read_updates, .name = "read"});
  model.write = make_writer(model.parameters, seed);
  return model;
}

}  // namespace char_lm
