// What tests have compared, for docs/ops.md (tools/op_page.py): lines "op back-end dtype what count" in a file of this
// process in the folder that CROTON_OP_RECORDS names; nothing where it is not set.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <tuple>

#include <unistd.h>

namespace croton_test {

/// Counts, written when the program ends. A test that failed needs no care: what comes after it does not run.
class OpRecords {
 public:
  static OpRecords& all() {
    static OpRecords records;
    return records;
  }
  void add(std::string_view op, const std::string& backend, std::string_view dtype, const std::string& what,
           std::int64_t count) {
    counts_[{std::string(op), backend.substr(backend.find('=') + 1), std::string(dtype), what}] += count;
  }
  /// The gradient of the op agrees with differences to that order.
  void add_gradient(std::string_view op, const std::string& backend, int order) {
    std::int64_t& known = counts_[{std::string(op), backend, "float64", "gradient:yes"}];
    known = std::max<std::int64_t>(known, order);
  }
  OpRecords(const OpRecords&) = delete;
  OpRecords& operator=(const OpRecords&) = delete;

 private:
  OpRecords() = default;
  ~OpRecords() {
    const char* folder = std::getenv("CROTON_OP_RECORDS");
    if (folder == nullptr || counts_.empty()) return;
    std::filesystem::create_directories(folder);
    std::ofstream out(std::filesystem::path(folder) / ("cpp_" + std::to_string(getpid()) + ".txt"));
    for (const auto& [key, count] : counts_) {
      const auto& [op, backend, dtype, what] = key;
      out << op << ' ' << backend << ' ' << dtype << ' ' << what << ' ' << count << '\n';
    }
  }

  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::int64_t> counts_;
};

}  // namespace croton_test
