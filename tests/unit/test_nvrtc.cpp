// NVRTC: no GPU is needed, but the library is. If it is missing, the tests check the message.
#include "runtime/cuda/libraries/nvrtc.hpp"

#include <algorithm>
#include <atomic>
#include <croton/error.hpp>
#include <fstream>
#include <set>
#include <thread>

#include "catch.hpp"
#include "codegen/emit.hpp"
#include "runtime/cuda/toolkit/toolkit.hpp"
#include "temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace croton;
using namespace croton::runtime::cuda;
using croton::test::TemporaryFolder;

namespace {

// Another cuda_root until the end of the test.
struct RootScope {
  explicit RootScope(std::string root) { set_cuda_root(std::move(root)); }
  ~RootScope() { set_cuda_root(before); }
  std::string before = cuda_root();
};

constexpr std::string_view scale = R"(
extern "C" __global__ void scale(float* x, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * factor + 1.0f;
}
)";

bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

// False, after checking the message, if there is no NVRTC.
bool have_nvrtc() {
  std::string why;
  if (Nvrtc::available(&why)) return true;
  CHECK(contains(why, "NVRTC (the run-time compiler of CUDA) was not found. Tried:"));
  CHECK_THROWS_AS(Nvrtc::instance(), DeviceError);
  WARN("NVRTC is not installed: its tests are skipped");
  return false;
}

std::string internal_error_of(std::string_view source) {
  try {
    Nvrtc::instance().compile(source, "sm_90");
  } catch (const InternalError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("cuda_root=none hides the toolkit", "[nvrtc]") {
  RootScope scope("none");
  std::string why;
  CHECK_FALSE(Nvrtc::available(&why));
  CHECK(contains(why, "cuda_root=none"));
  CHECK(Nvrtc::list_tried().empty());
}

TEST_CASE("a cuda_root without NVRTC is explained, and nothing else is searched", "[nvrtc]") {
  TemporaryFolder folder;
  fs::create_directories(folder / "lib64");
  RootScope scope(folder.path().string());
  std::string why;
  CHECK_FALSE(Nvrtc::available(&why));
  CHECK(contains(why, (folder / "lib64/libnvrtc.so.13").string() + ": no such file"));
  CHECK(contains(why, "pip install nvidia-cuda-nvrtc"));
  for (const auto& attempt : Nvrtc::list_tried()) CHECK(attempt.candidate.starts_with(folder.path().string()));
}

TEST_CASE("NVRTC says what it is", "[nvrtc]") {
  if (!have_nvrtc()) return;
  const Nvrtc& nvrtc = Nvrtc::instance();
  CHECK(&nvrtc == &Nvrtc::instance());
  CHECK(nvrtc.version().first >= 12);
  CHECK(nvrtc.identity().starts_with("nvrtc " + std::to_string(nvrtc.version().first) + "."));
  CHECK(nvrtc.identity().size() > 30);
  CHECK(nvrtc.path().is_absolute());
  const auto known = nvrtc.architectures();
  CHECK(std::ranges::find(known, "sm_90") != known.end());
  CHECK(Nvrtc::list_tried().back().outcome == "loaded");
}

TEST_CASE("NVRTC has its builtins from its own folder, which the loader need not search", "[nvrtc]") {
  if (!have_nvrtc()) return;
  const std::string folder = Nvrtc::instance().path().parent_path().string() + "/";
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> files;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("libnvrtc-builtins.so") != line.npos) files.insert(line.substr(line.find('/')));
  }
  REQUIRE(files.size() == 1);
  CHECK(files.begin()->starts_with(folder));
}

TEST_CASE("a kernel becomes a cubin and PTX for every architecture", "[nvrtc]") {
  if (!have_nvrtc()) return;
  for (const std::string& arch : Nvrtc::instance().architectures()) {
    const auto result = Nvrtc::instance().compile(scale, arch);
    REQUIRE(result.cubin.size() > 4);
    CHECK(croton::test::text_of(std::span(result.cubin).first(4)) == "\177ELF");
    CHECK(contains(result.ptx, ".target " + arch));
    CHECK(contains(result.ptx, ".entry scale("));
    CHECK(result.log.empty());
  }
}

TEST_CASE("virtual architectures give PTX only, and PTX is given only if wanted", "[nvrtc]") {
  if (!have_nvrtc()) return;
  const Nvrtc& nvrtc = Nvrtc::instance();
  CHECK(nvrtc.compile(scale, "compute_90").cubin.empty());
  CHECK(contains(nvrtc.compile(scale, "compute_90").ptx, ".entry scale("));
  CHECK(nvrtc.compile(scale, "sm_90", {}, false).ptx.empty());
  CHECK(contains(nvrtc.compile(scale, "sm_90a").ptx, ".target sm_90a"));
}

TEST_CASE("nothing is contracted, and functions need no mark", "[nvrtc]") {
  if (!have_nvrtc()) return;
  CHECK_FALSE(contains(Nvrtc::instance().compile(scale, "sm_90").ptx, "fma"));
  const std::string contract = "--fmad=true";
  CHECK(contains(Nvrtc::instance().compile(scale, "sm_90", std::span(&contract, 1)).ptx, "fma"));
  CHECK(internal_error_of("constexpr float table[2] = {1, 2};\nfloat f(float x) { return x + table[1]; }\n"
                          "__global__ void k(float* x) { x[0] = f(x[threadIdx.x]); }") == "no error");
}

TEST_CASE("packs of up to 16 bytes are one load and one store", "[nvrtc]") {
  if (!have_nvrtc()) return;
  const std::string prelude = codegen::prelude(codegen::Target::cuda);
  const auto ptx_of = [&](const std::string& element, int n) {
    const std::string many = std::to_string(n), i = many + " * threadIdx.x";
    return Nvrtc::instance()
        .compile(prelude + "CT_KERNEL void k(const " + element + "* x, " + element + "* y) { ct::store_pack(y + " + i +
                     ", ct::load_pack<" + many + ">(x + " + i + ")); }",
                 "sm_90")
        .ptx;
  };
  for (const auto& [element, n] : {std::pair<const char*, int>{"float", 4},
                                   {"double", 2},
                                   {"ct::f16", 8},
                                   {"ct::bf16", 8},
                                   {"bool", 16},
                                   {"ct::u8", 16},
                                   {"ct::complex<float>", 2}}) {
    const std::string ptx = ptx_of(element, n);
    INFO(n << " of " << element << "\n" << ptx);
    CHECK(contains(ptx, "ld.global.v2.u64"));
    CHECK(contains(ptx, "st.global.v2.u64"));
    CHECK(ptx.find("ld.global", ptx.find("ld.global") + 1) == ptx.npos);
  }
  CHECK(contains(ptx_of("ct::i8", 8), "ld.global.u64"));
}

TEST_CASE("compiling twice gives the same bytes", "[nvrtc]") {
  if (!have_nvrtc()) return;
  const auto first = Nvrtc::instance().compile(scale, "sm_90"), second = Nvrtc::instance().compile(scale, "sm_90");
  CHECK(first.cubin == second.cubin);
  CHECK(first.ptx == second.ptx);
}

TEST_CASE("code that does not compile is an internal error with its lines", "[nvrtc]") {
  if (!have_nvrtc()) return;
  const std::string message =
      internal_error_of("// one\n// two\n// three\n// four\n__global__ void k() { missing(); }\n// six\n");
  CHECK(contains(message, "does not compile for sm_90"));
  CHECK(contains(message, "identifier \"missing\" is undefined"));
  CHECK(contains(message, "\n>     5 | __global__ void k() { missing(); }\n"));
  CHECK(contains(message, "\n      2 | // two\n"));
  CHECK_FALSE(contains(message, "    1 | // one"));
  CHECK(contains(internal_error_of("__global__ void k( {"), "> "));
  CHECK(contains(internal_error_of(std::string_view("int x;\0int y;", 13)), "zero byte"));
}

TEST_CASE("an architecture that the compiler does not know is a device error that lists those it does", "[nvrtc]") {
  if (!have_nvrtc()) return;
  for (const char* arch : {"sm_20", "sm_9999", "sm_", "avx2", "", "90", "sm_90x", "sm_90 --fmad=true"}) {
    std::string message;
    try {
      Nvrtc::instance().compile(scale, arch);
    } catch (const DeviceError& error) {
      message = error.what();
    }
    CHECK(contains(message, "it knows sm_"));
  }
}

TEST_CASE("several threads compile at once", "[nvrtc]") {
  if (!have_nvrtc()) return;
  const Nvrtc& nvrtc = Nvrtc::instance();
  const auto alone = nvrtc.compile(scale, "sm_90").cubin;
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) good += nvrtc.compile(scale, "sm_90").cubin == alone ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 20);
}

TEST_CASE("a failure shows the lines around each error once", "[nvrtc]") {
  std::string source;
  for (int line = 1; line <= 30; ++line) source += "line" + std::to_string(line) + "\n";
  const std::string text = explain_failure(
      source, "kernel.cu",
      "kernel.cu(5): error: a\nkernel.cu(20): error: b\nkernel.cu(9): warning: c\nkernel.cu(99): error: d\n");
  CHECK(text.starts_with("kernel.cu(5): error: a\n"));
  CHECK(contains(text, "\n>     5 | line5\n"));
  CHECK(contains(text, "\n      8 | line8\n  ...\n     17 | line17\n"));
  CHECK(contains(text, "\n>    20 | line20\n"));
  CHECK_FALSE(contains(text, "line9\n"));
  CHECK(explain_failure("", "kernel.cu", "kernel.cu(1): error: a") == "kernel.cu(1): error: a");
}
