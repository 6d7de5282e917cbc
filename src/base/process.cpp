#include "base/process.hpp"

#include <croton/error.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/index.hpp"

namespace croton::base {
namespace {

[[noreturn]] void fail(const std::filesystem::path& program, std::string_view what, int error) {
  throw FileError(
      fmt::format("{} cannot be run: {}: {}", program.string(), what, std::generic_category().message(error)));
}

/// A file in memory. The output of a program also goes to such a file: unlike a pipe, it takes all output without
/// a reader.
Descriptor memory_file(const std::filesystem::path& program, std::span<const std::byte> content = {}) {
  Descriptor file(::memfd_create("croton", MFD_CLOEXEC));
  if (!file) fail(program, "no memory for its files", errno);
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(program, "its input cannot be written", errno);
    content = content.subspan(to_size(written));
  }
  return file;
}

std::string content_of(const Descriptor& file) {
  std::string text;
  char piece[16 * 1024];
  while (true) {
    const ssize_t count = ::pread(file.get(), piece, sizeof piece, std::ssize(text));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(piece, to_size(count));
  }
}

/// The changes of descriptors in the new process before the program starts.
class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  void duplicate(int from, int to) { ::posix_spawn_file_actions_adddup2(&actions_, from, to); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

/// The same file with a descriptor that is not one of the standard ones or the input's, so that no dup2 overwrites
/// another one.
Descriptor moved_up(const std::filesystem::path& program, Descriptor file) {
  constexpr int first_free = 10;
  Descriptor moved(::fcntl(file.get(), F_DUPFD_CLOEXEC, first_free));
  if (!moved) fail(program, "no free descriptor", errno);
  return moved;
}

}  // namespace

ProgramResult run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                          std::span<const std::byte> input) {
  if (const std::string reason = why_untrusted(program); !reason.empty())
    throw FileError(fmt::format("{} is not run: {}", program.string(), reason));
  const Descriptor in = moved_up(program, memory_file(program, input)),
                   nothing = moved_up(program, memory_file(program));
  const Descriptor out = moved_up(program, memory_file(program)), errors = moved_up(program, memory_file(program));
  FileActions actions;
  actions.duplicate(nothing.get(), 0);
  actions.duplicate(out.get(), 1);
  actions.duplicate(errors.get(), 2);
  actions.duplicate(in.get(), 3);

  std::vector<std::string> texts{program.string()};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  char language[] = "LC_ALL=C";
  char* environment[] = {language, nullptr};
  pid_t child = 0;
  const int started = ::posix_spawn(&child, texts[0].c_str(), actions.get(), nullptr, pointers.data(), environment);
  if (started != 0) fail(program, "it does not start", started);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail(program, "its exit status is unknown", errno);
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content_of(out), content_of(errors)};
}

}  // namespace croton::base
