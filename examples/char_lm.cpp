// A recurrent network learns a text character by character and then generates text (docs/use/char_lm.md). Without
// --text it reads Croton's documentation. The standard output depends only on the options and the text; times are
// written to the standard error stream.
#include "char_lm.hpp"

#include <exception>
#include <iostream>

#include "char_text.hpp"
#include "progress.hpp"

namespace {

namespace ct = croton;
namespace fs = std::filesystem;
using char_lm::Alphabet;
using char_lm::Model;
using char_lm::Pieces;
using command_line::number;
using command_line::text;

struct Settings {
  std::vector<std::string> texts;
  char_lm::Size size;
  int steps = 1500, length = 64, sample_length = 600;
  double rate = 0.003, temperature = 0.6;
  std::uint64_t seed = 0;
  std::string prompt, save, load;  // the last two: folders
};

constexpr const char* usage =
    "usage: char_lm [options]\n"
    "  --text FILE        what to learn, several times for several files (Croton's documents)\n"
    "  --steps N          batches to learn from; 0: none (1500)\n"
    "  --batch N          pieces of the text that are read side by side (32)\n"
    "  --length N         characters of each piece in a batch, and steps that gradients go back (64)\n"
    "  --hidden N         numbers that a layer remembers (256)\n"
    "  --layers N         layers (1)\n"
    "  --rate X           step size of Adam; at the end it is a tenth of that (0.003)\n"
    "  --seed N           of the first weights and of the samples (0)\n"
    "  --sample-length N  characters to write at the end (600)\n"
    "  --prompt TEXT      what it shall go on from (a line break)\n"
    "  --temperature X    below 1: rather what is likely; above: bolder (0.6)\n"
    "  --save FOLDER      write the weights there at the end, as .npy files\n"
    "  --load FOLDER      begin with such weights\n"
    "Threads, device and so on: CROTON_FLAGS (docs/use/flags.md).\n";

/// Parses the options. ValueError for unknown or invalid ones.
Settings parse(const std::vector<std::string>& arguments) {
  Settings s;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& option = arguments[i];
    if (i + 1 == arguments.size()) throw ct::ValueError(text("'%.40s' is not known, or needs a value", option.c_str()));
    const std::string& value = arguments[i + 1];
    if (option == "--text")
      s.texts.push_back(value);
    else if (option == "--steps")
      s.steps = number(option, value, 0, 10'000'000);
    else if (option == "--batch")
      s.size.batch = number(option, value, 1, 4096);
    else if (option == "--length")
      s.length = number(option, value, 1, 4096);
    else if (option == "--hidden")
      s.size.hidden = number(option, value, 1, 8192);
    else if (option == "--layers")
      s.size.layers = number(option, value, 1, 16);
    else if (option == "--rate")
      s.rate = number(option, value, 1e-8, 1.0);
    else if (option == "--seed")
      s.seed = number<std::uint64_t>(option, value, 0, 1'000'000'000);
    else if (option == "--sample-length")
      s.sample_length = number(option, value, 0, 10'000'000);
    else if (option == "--temperature")
      s.temperature = number(option, value, 0.01, 100.0);
    else if (option == "--prompt")
      s.prompt = value;
    else if (option == "--save")
      s.save = value;
    else if (option == "--load")
      s.load = value;
    else
      throw ct::ValueError(text("the option '%.40s' is not known", option.c_str()));
  }
  return s;
}

std::string read_text(const Settings& settings) {
  if (settings.texts.empty()) return char_lm::read_documents(CROTON_CHAR_LM_SOURCES);
  std::string all;
  for (const std::string& file : settings.texts) all += char_lm::read_file(file);
  return all;
}

// ---- weights in files ---------------------------------------------------------------------------------------------

void save(const Model& model, const Alphabet& alphabet, const fs::path& folder) {
  fs::create_directories(folder);
  const std::string& characters = alphabet.characters();
  ct::save_npy(folder / "characters.npy",
               ct::Array::copy_of(characters.data(), ct::DType::uint8, {std::ssize(characters)}));
  for (const ct::SharedVariable& p : model.parameters.all()) ct::save_npy(folder / (p.name() + ".npy"), p.get_value());
}

/// Loads weights. ValueError for weights of another network, or of a text with other characters.
void load(const Model& model, const Alphabet& alphabet, const fs::path& folder) {
  const ct::Array characters = ct::load_npy(folder / "characters.npy");
  const std::span<const std::uint8_t> known = characters.data<std::uint8_t>();
  if (!std::ranges::equal(known, alphabet.characters(), {}, {}, [](char c) { return static_cast<std::uint8_t>(c); })) {
    throw ct::ValueError("the weights in '" + folder.string() + "' are for a text of other characters");
  }
  for (ct::SharedVariable p : model.parameters.all()) {
    const ct::Array value = ct::load_npy(folder / (p.name() + ".npy"));
    if (value.shape() != p.get_value(true).shape()) {
      throw ct::ValueError("the weights in '" + folder.string() + "' are for other --hidden or --layers: " + p.name() +
                           " has another shape");
    }
    p.set_value(value);
  }
}

// ---- training, evaluation, generation -------------------------------------------------------------------------------

/// Bits per character of all batches.
double read_all(const Model& model, const Pieces& pieces) {
  char_lm::forget(model.reading);
  double sum = 0;
  for (std::int64_t i = 0; i < pieces.count(); ++i) {
    const Pieces::Batch batch = pieces.batch(i);
    sum += model.read(batch.x, batch.y).item<float>();
  }
  return sum / static_cast<double>(pieces.count());
}

/// The prompt, followed by this many generated characters.
std::string write(const Model& model, const Alphabet& alphabet, const Settings& settings, int count) {
  std::vector<std::int64_t> given;
  for (const char c : settings.prompt) given.push_back(alphabet.number(c));
  given.resize(given.size() + static_cast<std::size_t>(count), -1);
  const ct::Array first{std::int64_t{alphabet.number('\n')}};
  const ct::Array numbers = model.write(first, given, settings.temperature).only();
  std::string written;
  for (std::int64_t i = 0; i < numbers.size(); ++i) {
    written += alphabet.character(static_cast<std::int64_t>(numbers.as_double(i)));
  }
  return written;
}

std::string on_one_line(std::string line) {
  std::ranges::replace(line, '\n', ' ');
  return line;
}

/// Trains and prints ten lines: the loss of the steps since the last line, the loss of the held-out part, and a sample.
void learn(const Model& model, const Settings& settings, const Alphabet& alphabet, const Pieces& training,
           const Pieces& held_out) {
  std::cout << "   step  training  held out  bits per character\n";
  Progress progress("step", std::max(settings.steps, 1));
  double sum = 0;
  int summed = 0;
  for (int step = 1; step <= settings.steps; ++step) {
    const std::int64_t part = (step - 1) % training.count();
    if (part == 0) char_lm::forget(model.training);  // the pieces start again
    const Pieces::Batch batch = training.batch(part);
    const double rate = settings.rate * (1 - 0.9 * (step - 1) / settings.steps);
    const double loss = model.train(batch.x, batch.y, rate).item<float>();
    sum += loss;
    ++summed;
    progress.update(step, text("%.3f bits  %.1f steps/s", loss, step / progress.seconds()));
    if (step * 10LL / settings.steps == (step - 1) * 10LL / settings.steps) continue;
    progress.clear();
    const std::string sample = write(model, alphabet, settings, 60);
    std::cout << text("%7d  %8.3f  %8.3f  ", step, sum / summed, read_all(model, held_out)) << on_one_line(sample)
              << std::endl;
    sum = summed = 0;
  }
  if (settings.steps == 0) std::cout << text("%7d  %8s  %8.3f\n", 0, "-", read_all(model, held_out));
  std::cerr << text("Learned for %.1f s\n", progress.seconds());
}

void run(Settings settings) {
  const std::string all = read_text(settings);
  const Alphabet alphabet(all);
  settings.size.characters = alphabet.size();
  if (settings.prompt.find_first_not_of(alphabet.characters()) != std::string::npos) {
    throw ct::ValueError("the prompt has a character that the text has not");
  }
  const int batch = static_cast<int>(settings.size.batch);
  const std::string_view view = all;
  const std::size_t end = view.size() - view.size() / 16;
  const Pieces training(view.substr(0, end), alphabet, batch, settings.length, "to learn from");
  const Pieces held_out(view.substr(end), alphabet, batch, settings.length, "held out");
  const Model model = char_lm::make_model(settings.size, settings.seed);
  if (!settings.load.empty()) load(model, alphabet, settings.load);

  std::int64_t weights = 0;
  for (const ct::SharedVariable& p : model.parameters.all()) weights += p.get_value(true).size();
  std::cout << text("Text:    %zu characters of %lld kinds, the last %zu held out\n", all.size(),
                    static_cast<long long>(alphabet.size()), all.size() - end)
            << text("Network: %d layer(s) of %d, %lld weights\n\n", settings.size.layers, settings.size.hidden,
                    static_cast<long long>(weights));
  learn(model, settings, alphabet, training, held_out);
  if (!settings.save.empty()) save(model, alphabet, settings.save);
  if (settings.sample_length == 0) return;
  std::cout << text("\nIt writes, at temperature %g:\n\n", settings.temperature)
            << write(model, alphabet, settings, settings.sample_length) << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (std::ranges::find(arguments, "--help") != arguments.end()) {
    std::cout << usage;
    return 0;
  }
  Settings settings;
  try {
    settings = parse(arguments);
  } catch (const ct::ValueError& error) {
    std::cerr << "char_lm: " << error.what() << "\n" << usage;
    return 2;
  }
  try {
    run(settings);
  } catch (const std::exception& error) {
    std::cerr << "char_lm: " << error.what() << "\n";
    return 1;
  }
}
