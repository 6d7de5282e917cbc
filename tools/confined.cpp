#include "confined.hpp"

#include <croton/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <vector>

namespace croton::tool {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool may_limit_memory = false;  // the sanitizer's own tables take terabytes of address space
#else
constexpr bool may_limit_memory = true;
#endif

#if defined(__x86_64__)
constexpr unsigned machine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned machine = AUDIT_ARCH_AARCH64;
#else
constexpr unsigned machine = 0;
#endif

// The system calls for computing, printing and exiting. All others fail with EPERM: files, sockets, processes, signals.
constexpr unsigned allowed[] = {SYS_read,
                                SYS_write,
                                SYS_writev,
                                SYS_close,
                                SYS_fstat,
                                SYS_lseek,
                                SYS_mmap,
                                SYS_munmap,
                                SYS_mremap,
                                SYS_mprotect,
                                SYS_brk,
                                SYS_madvise,
                                SYS_futex,
                                SYS_exit,
                                SYS_exit_group,
                                SYS_rt_sigaction,
                                SYS_rt_sigprocmask,
                                SYS_rt_sigreturn,
                                SYS_sigaltstack,
                                SYS_clock_gettime,
                                SYS_gettimeofday,
                                SYS_getrandom,
                                SYS_sched_yield,
                                SYS_getpid,
                                SYS_gettid,
                                SYS_sched_getaffinity,
                                SYS_restart_syscall};

sock_filter load(std::size_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)); }

/// False if the system has no such filters.
bool restrict_system_calls() {
  std::vector<sock_filter> program = {
      load(offsetof(seccomp_data, arch)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, machine, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), load(offsetof(seccomp_data, nr))};
  for (const unsigned number : allowed) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return machine != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// `more`: the distance from the limit with a signal to the limit that ends the process.
void limit(decltype(RLIMIT_AS) what, rlim_t most, rlim_t more = 0) {
  rlimit now{};
  getrlimit(what, &now);
  const rlim_t highest = std::min(now.rlim_max, most + more);  // infinity is the largest of all
  const rlimit wanted{std::min(most, highest), highest};
  setrlimit(what, &wanted);
}

std::string (*words_of_child)() = nullptr;

/// In the child, which is about to end: this may allocate, although a handler must not; if that fails, the handler is
/// called again, and ends the child without the words.
void report_signal(int number) {
  static volatile std::sig_atomic_t before = 0;
  if (before != 0) _exit(128 + number);
  before = 1;
  std::string text = fmt::format("croton: the kernel ended its process by {} ({})\n",
                                 number == SIGXCPU ? "taking too much time" : strsignal(number), words_of_child());
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = write(STDERR_FILENO, text.data() + written, text.size() - written);
    if (n <= 0) break;
    written += static_cast<std::size_t>(n);
  }
  _exit(1);
}

void handle_signals() {
  static std::array<std::byte, 64 * 1024> stack;
  stack_t other{};
  other.ss_sp = stack.data();
  other.ss_size = stack.size();
  sigaltstack(&other, nullptr);
  struct sigaction action{};
  action.sa_handler = &report_signal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU, SIGTRAP, SIGSYS})
    sigaction(number, &action, nullptr);
}

/// A temporary folder that is removed with its contents.
class EmptyFolder {
 public:
  EmptyFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "croton_simulate.XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw FileError(pattern + ": no folder can be made there");
    path_ = pattern;
  }
  ~EmptyFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  EmptyFolder(const EmptyFolder&) = delete;
  EmptyFolder& operator=(const EmptyFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error("no pipe can be made for a child process");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(std::size_t end) {
    if (ends.at(end) >= 0) close(ends.at(end));
    ends.at(end) = -1;
  }
};

[[noreturn]] void be_the_child(const Limits& limits, const std::filesystem::path& folder,
                               const std::function<std::function<int()>()>& prepare) {
  int status = 1;
  try {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_CPU, limits.seconds, 2);  // SIGXCPU, for the report; then SIGKILL
    if (may_limit_memory) limit(RLIMIT_AS, limits.memory_bytes);
    if (chdir(folder.c_str()) != 0) throw FileError(folder.string() + " cannot be entered");
    handle_signals();
    const std::function<int()> work = prepare();
    if (!restrict_system_calls())
      std::cerr
          << "croton: warning: this system has no filters of system calls (seccomp), so that only limits confine the "
             "kernel\n";
    status = work();
  } catch (const std::exception& error) {
    std::cerr << "croton: " << error.what() << "\n";
  }
  std::cout.flush();
  std::cerr.flush();
  _exit(status);
}

/// Until the child has closed both.
void pass_on(Pipe& out, Pipe& err) {
  std::array<pollfd, 2> ends{{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};
  std::array<char, 4096> bytes{};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    if (poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR) return;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends.at(i).fd < 0 || ends.at(i).revents == 0) continue;
      const ssize_t n = read(ends.at(i).fd, bytes.data(), bytes.size());
      if (n > 0)
        (i == 0 ? std::cout : std::cerr).write(bytes.data(), n).flush();
      else if (n == 0 || errno != EINTR)
        ends.at(i).fd = -1;
    }
  }
}

}  // namespace

int run_confined(const Limits& limits, const std::function<std::function<int()>()>& prepare,
                 std::string (*last_words)()) {
  const EmptyFolder folder;
  Pipe out, err;
  std::cout.flush();
  words_of_child = last_words;
  const pid_t child = fork();
  if (child < 0) throw Error("no child process can be made for the kernel");
  if (child == 0) {
    dup2(out.ends[1], STDOUT_FILENO);
    dup2(err.ends[1], STDERR_FILENO);
    be_the_child(limits, folder.path(), prepare);
  }
  out.close_end(1);
  err.close_end(1);
  pass_on(out, err);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::cerr << fmt::format("croton: the process of the kernel was ended by signal {} ({})\n", WTERMSIG(status),
                           strsignal(WTERMSIG(status)));
  return 1;
}

}  // namespace croton::tool
