// Shared code of the tests of programs: the machines they run on, and checks of a call, its log and its trace.
#pragma once

#include <croton/croton.hpp>
#include <croton/device.hpp>
#include <croton/trace.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "unit/contains.hpp"
#include "unit/machines.hpp"

namespace croton::test {

/// Parts of the host and simulated GPUs; GPUs of the fake driver replace real ones.
inline std::vector<Machine::Kind> program_machines() {
  return {Machine::Kind::logical, Machine::Kind::simulated, Machine::Kind::fake};
}

/// Captures the standard error stream during its lifetime.
class CapturedErrors {
 public:
  CapturedErrors() : before_(std::cerr.rdbuf(text_.rdbuf())) {}
  ~CapturedErrors() { std::cerr.rdbuf(before_); }
  CapturedErrors(const CapturedErrors&) = delete;
  CapturedErrors& operator=(const CapturedErrors&) = delete;
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

/// Captures the placement log of all functions during its lifetime.
class CapturedLog {
 public:
  CapturedLog() { log_device_placement(text_); }
  ~CapturedLog() { log_device_placement(nullptr); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;
  /// The text since the last call of this.
  std::string take() {
    std::string all = text_.str();
    text_.str("");
    return all;
  }

 private:
  std::ostringstream text_;
};

/// A copy of the last call as one text: "value p: cuda0 -> cpu, 16 bytes".
inline std::string text_of(const TransferInfo& t) {
  static constexpr const char* kinds[] = {"input", "shared", "value", "output", "constant"};
  return std::string(kinds[static_cast<std::size_t>(t.kind)]) + " " + t.what + ": " + t.from + " -> " + t.to + ", " +
         std::to_string(t.bytes) + " bytes";
}
/// All copies of the last call, sorted, because the order of the two devices varies.
inline std::vector<std::string> sent_by(const Function& f) {
  std::vector<std::string> all;
  for (const TransferInfo& t : f.transfers()) all.push_back(text_of(t));
  std::ranges::sort(all);
  return all;
}
inline std::vector<std::string> sent_by(const Function& f, TransferInfo::Kind kind) {
  std::vector<std::string> all;
  for (const TransferInfo& t : f.transfers()) {
    if (t.kind == kind) all.push_back(text_of(t));
  }
  std::ranges::sort(all);
  return all;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}
inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}
/// A message without the lines of the test's file, "(test_program_mlp.cpp:12)".
inline std::string without_lines(const std::string& message) {
  return std::regex_replace(message, std::regex(R"( \(\w+\.cpp:\d+\))"), "");
}

/// Whether both devices work at the same time in some call. On a busy machine the work of one may start after the work
/// of the other has ended, so calls are repeated for a minute; work in sequence never overlaps.
template <class Call>
bool overlaps(const std::string& first, const std::string& second, Call&& call) {
  const change_flags on{"device_threads=on"};
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < end) {
    Trace trace;
    call();
    trace.stop();
    const std::vector<TraceEvent> events = trace.events();
    for (const TraceEvent& a : events) {
      for (const TraceEvent& b : events) {
        if (a.lane == first && b.lane == second && a.start < b.end && b.start < a.end) return true;
      }
    }
  }
  return false;
}

inline Array uniform(Sizes shape, std::uint64_t seed, double low = 0, double high = 1) {
  return Array::uniform(DType::float32, std::move(shape), seed, low, high);
}

}  // namespace croton::test
