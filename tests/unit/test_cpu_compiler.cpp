// The CPU compiler: text to native code in the process, its messages, and its guarantees about numbers.
#include <atomic>
#include <cmath>
#include <croton/error.hpp>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "contains.hpp"
#include "runtime/cpu/compiler.hpp"
#include "runtime/cpu/kernels.hpp"
#include "runtime/cpu/threads/threads.hpp"

using croton::runtime::cpu::CompileOptions;
using croton::runtime::cpu::Compiler;
using croton::runtime::cpu::Module;

namespace {

std::shared_ptr<Module> build(const std::string& text) {
  Compiler& compiler = Compiler::instance();
  return compiler.load(compiler.compile(text));
}

const std::string axpy = R"(
extern "C" void axpy(float a, const float* __restrict x, float* __restrict y, long n) {
  for (long i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
})";

std::string message_of(const std::string& text) {
  try {
    Compiler::instance().compile(text);
  } catch (const croton::InternalError& error) {
    return error.what();
  }
  return "compiled";
}

}  // namespace

TEST_CASE("the CPU compiler makes callable code", "[cpu_compiler]") {
  const auto module = build(axpy);
  std::vector<float> x(1001), y(1001, 1.0f);
  std::iota(x.begin(), x.end(), 0.0f);
  module->get<void(float, const float*, float*, long)>("axpy")(2.0f, x.data(), y.data(), 1001);
  for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(y[i] == 2.0f * static_cast<float>(i) + 1.0f);
  CHECK(module->symbol("another") == nullptr);
  CHECK_THROWS_AS(module->get<void()>("another"), croton::InternalError);
}

TEST_CASE("nothing is contracted and fma is fused only where written", "[cpu_compiler]") {
  const auto module = build(R"(
extern "C" float plain(float a, float b, float c) { return a * b + c; }
extern "C" float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
extern "C" double root(double x) { return __builtin_sqrt(x); }
extern "C" float sum(const float* x, long n) { float s = 0; for (long i = 0; i < n; ++i) s += x[i]; return s; }
)");
  const float a = 1.0f + 0x1p-12f, c = -1.0f;
  const volatile float product = a * a;  // volatile: this file's own compiler may not fuse either
  CHECK(module->get<float(float, float, float)>("plain")(a, a, c) == product + c);
  CHECK(module->get<float(float, float, float)>("fused")(a, a, c) == std::fmaf(a, a, c));
  CHECK(std::fmaf(a, a, c) != product + c);  // otherwise the two checks above prove nothing
  CHECK(module->get<double(double)>("root")(2.0) == std::sqrt(2.0));
  CHECK(std::isnan(module->get<double(double)>("root")(-1.0)));

  // A sum has the order of its source: (1 + 2^24) - 2^24 loses the 1, every other order keeps it.
  std::vector<float> terms(64, 0.0f);
  terms[0] = 1.0f;
  terms[1] = 0x1p24f;
  terms[2] = 1.0f;
  terms[63] = -0x1p24f;
  const float in_order = std::accumulate(terms.begin(), terms.end(), 0.0f);
  CHECK(module->get<float(const float*, long)>("sum")(terms.data(), 64) == in_order);
}

TEST_CASE("kernels are vectorised for this processor", "[cpu_compiler]") {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2")) return;
  const std::string narrow = Compiler::instance().assembly(axpy, {.vectorize_512 = false});
  CHECK(narrow.find("ymm") != std::string::npos);
  CHECK(narrow.find("zmm") == std::string::npos);
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl")) return;
  CHECK(Compiler::instance().assembly(axpy).find("zmm") != std::string::npos);
#endif
}

TEST_CASE("calls that the code generator adds are resolved", "[cpu_compiler]") {
  const auto module = build(R"(
struct Large { char bytes[4000]; };
extern "C" void copy(Large* to, const Large* from) { *to = *from; }
extern "C" void clear(Large* to) { *to = Large(); }
extern "C" double remainder_of(double a, double b) { return __builtin_fmod(a, b); }
)");
  std::vector<char> from(4000, 'x'), to(4000, 'y');
  module->get<void(char*, const char*)>("copy")(to.data(), from.data());
  CHECK(to == from);
  module->get<void(char*)>("clear")(to.data());
  CHECK(to == std::vector<char>(4000, '\0'));
  CHECK(module->get<double(double, double)>("remainder_of")(7.5, 2.0) == 1.5);
}

TEST_CASE("a text that does not compile is shown with its lines", "[cpu_compiler]") {
  std::string text = "int first;\n";
  for (int i = 2; i < 20; ++i) text += "int line_" + std::to_string(i) + ";\n";
  text += "int wrong = unknown_name;\n";
  for (int i = 21; i < 40; ++i) text += "int line_" + std::to_string(i) + ";\n";
  const std::string message = message_of(text);
  CHECK(message.find("unknown_name") != std::string::npos);
  CHECK(message.find("kernel.cpp:20:13: error") != std::string::npos);
  CHECK(message.find(">     20 | int wrong = unknown_name;") != std::string::npos);
  CHECK(message.find("      17 | int line_17;") != std::string::npos);
  CHECK(message.find("line_16") == std::string::npos);
  CHECK(message.find("line_24") == std::string::npos);
}

TEST_CASE("a prelude is parsed once, and texts after it compile as without it", "[cpu_compiler]") {
  Compiler& compiler = Compiler::instance();
  const std::string prelude =
      "#define TWICE(x) (2 * (x))\nnamespace ct {\ntemplate <typename T>\nstruct Pair { T a, b; };\n"
      "static const int table[3] = {5, 6, 7};\n"
      "static inline __attribute__((always_inline)) int third() { return table[2]; }\n}\n";
  CompileOptions options;
  options.prelude_size = prelude.size();
  for (int i = 0; i < 4; ++i) {
    const std::string own =
        "extern \"C\" int f() { ct::Pair<int> p{ct::third(), " + std::to_string(i) + "}; return TWICE(p.a) + p.b; }\n";
    const auto module = compiler.load(compiler.compile(prelude + own, options));
    CHECK(module->get<int()>("f")() == 14 + i);
    // Line numbers count from the start of the text, with the prelude.
    try {
      compiler.compile(prelude + own + "int g() { return unknown; }\n", options);
      FAIL("compiled");
    } catch (const croton::InternalError& error) {
      CHECK_THAT(error.what(), contains("kernel.cpp:9:18: error: use of undeclared identifier 'unknown'"));
      CHECK_THAT(error.what(), contains(">      9 | int g() { return unknown; }"));
    }
  }
  // An error in a prelude is reported each time.
  const std::string wrong = "int h() { return 1 }\n";
  options.prelude_size = wrong.size();
  for (int i = 0; i < 3; ++i) {
    try {
      compiler.compile(wrong + "int k() { return h(); }\n", options);
      FAIL("compiled");
    } catch (const croton::InternalError& error) {
      CHECK_THAT(error.what(), contains("kernel.cpp:1:19: error: expected ';' after return statement"));
    }
  }
}

TEST_CASE("headers and libraries of the machine are out of reach", "[cpu_compiler]") {
  CHECK(message_of("#include <cstdio>\n").find("file not found") != std::string::npos);
  CHECK(message_of("#include \"/etc/passwd\"\n").find("file not found") != std::string::npos);
}

TEST_CASE("symbols come from the caller, never from the process", "[cpu_compiler]") {
  Compiler& compiler = Compiler::instance();
  const auto object =
      compiler.compile("extern \"C\" int given(int); extern \"C\" int twice(int x) { return 2 * given(x); }");
  CHECK_THROWS_AS(compiler.load(object), croton::DeviceError);
  CHECK_THROWS_WITH(compiler.load(object), contains("given"));
  int (*given)(int) = [](int x) { return x + 1; };
  const std::vector<std::pair<std::string, void*>> symbols = {{"given", reinterpret_cast<void*>(given)}};
  CHECK(compiler.load(object, symbols)->get<int(int)>("twice")(20) == 42);

  const auto prints =
      compiler.compile("extern \"C\" int puts(const char*); extern \"C\" int f() { return puts(\"\"); }");
  CHECK_THROWS_WITH(compiler.load(prints), contains("puts"));
}

TEST_CASE("damaged objects are errors", "[cpu_compiler]") {
  Compiler& compiler = Compiler::instance();
  const auto object = compiler.compile(axpy);
  CHECK_THROWS_AS(compiler.load({}), croton::DeviceError);
  const std::string text = "this is not an object file";
  CHECK_THROWS_AS(compiler.load(std::as_bytes(std::span(text))), croton::DeviceError);
  for (std::size_t size = 0; size < object.size(); size += 7) {
    INFO("cut to " << size << " of " << object.size() << " bytes");
    CHECK_THROWS_AS(compiler.load(std::span(object).first(size)), croton::DeviceError);
  }
  CHECK_NOTHROW(compiler.load(object));  // the session still works
}

TEST_CASE("an object is the same each time and survives its module", "[cpu_compiler]") {
  Compiler& compiler = Compiler::instance();
  const auto object = compiler.compile(axpy);
  CHECK(object == compiler.compile(axpy));
  CHECK(compiler.identity().find("LLVM 19") == 0);
  for (int i = 0; i < 100; ++i) {
    const auto one = compiler.load(object);
    const auto other = compiler.load(object);
    CHECK(one->symbol("axpy") != other->symbol("axpy"));
  }
}

TEST_CASE("several threads compile, load and run at once", "[cpu_compiler]") {
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &right] {
      for (int i = 0; i < 4; ++i) {
        const int value = 10 * t + i;
        const auto module = build("extern \"C\" int f() { return " + std::to_string(value) + "; }");
        if (module->get<int()>("f")() == value) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 16);
}

TEST_CASE("kernels that are missing are compiled in several modules at once, and one that is wrong spoils no other",
          "[cpu_compiler]") {
  using croton::codegen::Text;
  using croton::runtime::cpu::ThreadPool;
  struct WithThreads {
    explicit WithThreads(int count) { ThreadPool::instance().set_threads(count); }
    ~WithThreads() { ThreadPool::instance().set_threads(0); }
  };
  const auto texts_of = [](int count, const std::string& prefix, const std::string& body) {
    std::vector<Text> texts;
    for (int i = 0; i < count; ++i) {
      Text text;
      text.name = prefix + std::to_string(i);
      text.digest = text.name + body;  // the correct texts may be in the cache
      text.code = "extern \"C\" void " + text.name +
                  "(const void* at, ct::index begin, ct::index) { *(ct::index*)at = begin + " + std::to_string(i) +
                  "; " + (i == count / 2 ? body : "") + " }\n";
      texts.push_back(text);
    }
    return texts;
  };
  for (const int threads : {1, 2, 3, 16}) {
    const WithThreads with(threads);
    for (const int count : {1, 2, 7}) {
      INFO(count << " kernels, " << threads << " threads");
      const std::string prefix = "shared_out_" + std::to_string(threads) + "_" + std::to_string(count) + "_";
      std::vector<Text> texts = texts_of(count, prefix, "");
      texts.push_back(texts.front());  // requested twice, compiled once
      croton::runtime::cpu::KernelCounts counts;
      const auto entries = croton::runtime::cpu::get_kernels(texts, counts);
      CHECK(counts.compiled + counts.cached == static_cast<std::uint64_t>(count));
      for (std::size_t i = 0; i < texts.size(); ++i) {
        std::int64_t result = 0;
        entries[i].run(&result, 100, 0);
        CHECK(result == 100 + static_cast<std::int64_t>(i % static_cast<std::size_t>(count)));
        CHECK(entries[i].finish == nullptr);
      }
      croton::runtime::cpu::KernelCounts again;
      croton::runtime::cpu::get_kernels(texts, again);
      CHECK(again.compiled + again.cached == 0);
    }
    const std::string prefix = "one_wrong_" + std::to_string(threads) + "_";
    croton::runtime::cpu::KernelCounts counts;
    CHECK_THROWS_WITH(croton::runtime::cpu::get_kernels(texts_of(6, prefix, "what is this"), counts),
                      Catch::Contains("unknown type name 'what'"));
    std::int64_t result = 0;
    croton::runtime::cpu::get_kernels(texts_of(6, prefix, ""), counts).back().run(&result, 1, 0);
    CHECK(result == 6);
  }
}
