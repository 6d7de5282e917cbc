// A record is the length of an event, a checksum of that length, the event, and a checksum of the event. An event is a
// protocol buffer: fields one after another, each a key (number and wire type) and a value.
#include <croton/error.hpp>
#include <croton/event_file.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/output.hpp"
#include "io/crc32c.hpp"

namespace croton::io {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they are in memory");

/// The fields of one message.
class Message {
 public:
  Message& number(unsigned field, std::int64_t value) {
    key(field, 0);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& number(unsigned field, double value) {
    key(field, 1);
    plain(value);
    return *this;
  }
  Message& number(unsigned field, float value) {
    key(field, 5);
    plain(value);
    return *this;
  }
  Message& bytes(unsigned field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  void key(unsigned field, unsigned wire_type) { varint(field << 3 | wire_type); }

  /// Seven bits per byte, the lowest first; the eighth is set if more bytes follow.
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }

  template <class T>
  void plain(T value) {
    const auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
    text_.append(bytes.data(), bytes.size());
  }

  std::string text_;
};

// Numbers of fields, from event.proto and summary.proto.
namespace event {
constexpr unsigned wall_time = 1, step = 2, file_version = 3, summary = 5;
}
namespace summary {
constexpr unsigned value = 1;
}
namespace value {
constexpr unsigned tag = 1, simple_value = 2;
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "host";
  std::string host = name.data();
  for (char& c : host) c = c == '/' ? '_' : c;
  return host;
}

base::AppendFile create_file(const std::filesystem::path& folder, std::filesystem::path& path) {
  base::make_folders(folder);
  const std::string name =
      fmt::format("events.out.tfevents.{:010}.{}", static_cast<std::int64_t>(seconds_since_1970()), host_name());
  constexpr int attempts = 1000;  // for programs that start in the same second
  for (int i = 0; i < attempts; ++i) {
    path = folder / (i == 0 ? name : fmt::format("{}.{}", name, i));
    if (auto file = base::AppendFile::create(path)) return std::move(*file);
  }
  throw FileError(fmt::format("cannot create {}: that name and those after it are taken", path.string()));
}

}  // namespace

struct EventFile::State {
  explicit State(const std::filesystem::path& folder) : file(create_file(folder, path)) {}

  void add(const Message& message) {
    const auto put = [this](std::span<const std::byte> bytes) {
      pending.insert(pending.end(), bytes.begin(), bytes.end());
    };
    const auto put_masked_crc = [&](std::span<const std::byte> bytes) {
      const std::uint32_t masked = std::rotr(crc32c(bytes), 15) + 0xA282EAD8;
      put(std::as_bytes(std::span(&masked, 1)));
    };
    const std::uint64_t size = message.text().size();
    const auto size_bytes = std::as_bytes(std::span(&size, 1));
    const auto text = std::as_bytes(std::span(message.text()));
    put(size_bytes);
    put_masked_crc(size_bytes);
    put(text);
    put_masked_crc(text);
  }

  std::filesystem::path path;
  base::AppendFile file;
  std::vector<std::byte> pending;  // records that are not written yet
};

EventFile::EventFile(const std::filesystem::path& folder) : state_(std::make_unique<State>(folder)) {
  state_->add(Message().number(event::wall_time, seconds_since_1970()).bytes(event::file_version, "brain.Event:2"));
  flush();
}

EventFile::EventFile(EventFile&&) noexcept = default;

EventFile& EventFile::operator=(EventFile&& other) noexcept {
  std::swap(state_, other.state_);  // the destructor of `other` writes the pending records of this one
  return *this;
}

EventFile::~EventFile() {
  if (!state_) return;  // moved from
  try {
    flush();
  } catch (...) {
    state_->pending.clear();  // a destructor cannot report the error
  }
}

void EventFile::scalar(const std::string& tag, double value, std::int64_t step) {
  const Message point = Message().bytes(value::tag, tag).number(value::simple_value, static_cast<float>(value));
  const Message points = Message().bytes(summary::value, point.text());
  state_->add(Message()
                  .number(event::wall_time, seconds_since_1970())
                  .number(event::step, step)
                  .bytes(event::summary, points.text()));
  constexpr std::size_t many = 64 * 1024;
  if (state_->pending.size() >= many) flush();
}

void EventFile::flush() { state_->file.append(state_->pending); }

const std::filesystem::path& EventFile::path() const { return state_->path; }

}  // namespace croton::io
