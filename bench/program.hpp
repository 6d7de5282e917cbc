// Shared code of the benchmark programs: options as pairs of a name and a value, and the end of main.
#pragma once

#include <exception>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// An option such as "--threads 2": `set` gets the value, and throws std::exception for an invalid one.
struct Option {
  std::string_view name;
  std::function<void(const std::string& value)> set;
};

/// Reads the command line and runs the program, which returns the exit status. An exception is passed to `fail` as text
/// (by default to the standard error stream), and the status is 2.
inline int run_program(
    int argc, char** argv, const std::vector<Option>& options, const std::function<int()>& run,
    const std::function<void(const std::string&)>& fail = [](const std::string& text) { std::cerr << text << "\n"; }) {
  try {
    for (int i = 1; i < argc; i += 2) {
      const Option* found = nullptr;
      std::string known;
      for (const Option& option : options) {
        if (option.name == argv[i]) found = &option;
        known += (known.empty() ? "" : ", ") + std::string(option.name);
      }
      if (found == nullptr) throw std::invalid_argument(std::string(argv[i]) + " is not known; there are " + known);
      if (i + 1 == argc) throw std::invalid_argument(std::string(argv[i]) + " needs a value");
      found->set(argv[i + 1]);
    }
    return run();
  } catch (const std::exception& error) {
    fail(std::string(argv[0]).substr(std::string(argv[0]).rfind('/') + 1) + ": " + error.what());
    return 2;
  }
}

}  // namespace bench
