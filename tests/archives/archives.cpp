// For check.py: `croton_archives copy FROM TO` reads an archive and writes its contents, each in the format of its
// suffix; `croton_archives events FOLDER` writes an event file and prints its name.
#include <croton/archive.hpp>
#include <croton/event_file.hpp>

#include <filesystem>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using namespace croton;

bool is_npz(const fs::path& file) { return file.extension() == ".npz"; }

void copy(const fs::path& from, const fs::path& to) {
  const io::Archive archive = is_npz(from) ? io::Archive{io::load_npz(from), {}} : io::load_safetensors(from);
  if (is_npz(to)) {
    io::save_npz(to, archive.arrays);
  } else {
    io::save_safetensors(to, archive.arrays, archive.metadata);
  }
}

void write_events(const fs::path& folder) {
  io::EventFile file(folder);
  for (int step = 0; step < 300; ++step) file.scalar("train/loss", 1.0 / (step + 1), step);
  file.scalar("größe", -0.5, std::int64_t{1} << 40);
  file.scalar("nan", std::numeric_limits<double>::quiet_NaN(), -1);
  file.flush();
  std::cout << file.path().string() << "\n";
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + 1, values + count);
  try {
    if (arguments.size() == 3 && arguments[0] == "copy") {
      copy(arguments[1], arguments[2]);
    } else if (arguments.size() == 2 && arguments[0] == "events") {
      write_events(arguments[1]);
    } else {
      std::cerr << "usage: croton_archives copy FROM TO | events FOLDER\n";
      return 2;
    }
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
