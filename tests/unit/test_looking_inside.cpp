// Facts, SASS and its source lines. Parsers are tested on stored texts; the whole path if NVRTC and nvdisasm are
// installed.
#include <croton/croton.hpp>

#include <cstring>
#include <iostream>

#include "base/process.hpp"
#include "catch.hpp"
#include "kernels_of_each_family.hpp"
#include "runtime/cuda/inspect/cubin.hpp"
#include "runtime/cuda/inspect/facts.hpp"
#include "runtime/cuda/inspect/nvdisasm.hpp"
#include "runtime/cuda/inspect/sass.hpp"
#include "runtime/cuda/libraries/nvrtc.hpp"
#include "runtime/cuda/toolkit/toolkit.hpp"
#include "temporary_folder.hpp"

namespace ct = croton;
using namespace croton::runtime::cuda;

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

/// False, with a message by which ctest shows the test as skipped, if a part of CUDA is not installed.
bool have(bool (*available)(std::string*)) {
  std::string why;
  if (available(&why)) return true;
  std::cout << "NOT RUN: " << why << "\n";
  return false;
}

ct::Function softmax_rows() {
  const auto x = ct::matrix("x");
  return ct::function({x}, ct::nnet::softmax(x, 1));
}

using ct::test::one_of_each_family;

constexpr std::string_view log_of_two = R"(ptxas info    : 64 bytes gmem, 152 bytes cmem[4]
ptxas info    : Compiling entry function 'split_0053_finish' for 'sm_75'
ptxas info    : Function properties for split_0053_finish
ptxas         .     184 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 16 registers, used 0 barriers, 184 bytes cumulative stack size, 384 bytes cmem[0]
ptxas info    : Compile time = 16.199 ms
ptxas info    : Compiling entry function 'split_0053' for 'sm_75'
ptxas info    : Function properties for helper
    8 bytes stack frame, 1 bytes spill stores, 1 bytes spill loads
ptxas info    : Function properties for split_0053
    16 bytes stack frame, 24 bytes spill stores, 28 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 4096 bytes smem, 392 bytes cmem[0]
)";

// Output of nvdisasm 13 with -c -gi, shortened; the program has ten lines before the kernel's own.
constexpr std::string_view listing = R"(	.target	sm_90

//--------------------- .text.k                   --------------------------
	.section	.text.k,"ax",@progbits
	.align	128
        .global         k
        .type           k,@function
k:
.text.k:
	//## File "/croton/k.cu", line 12
        /*0000*/                   LDC R1, c[0x0][0x28] ;
	//## File "/croton/k.cu", line 7 inlined at "/croton/k.cu", line 11
	//## File "/croton/k.cu", line 11 inlined at "/croton/k.cu", line 13
	//## File "/croton/k.cu", line 13
        /*0010*/                   S2R R2, SR_TID.X ;
        /*0020*/               @P0 EXIT ;
.L_x_1:
	//## File "/croton/k.cu", line 3
        /*0030*/                   BRA `(.L_x_1);
.L_x_2:
)";

}  // namespace

TEST_CASE("the log of ptxas is read, entry by entry") {
  const auto facts = parse_log(log_of_two);
  REQUIRE(facts.size() == 2);
  CHECK(to_string(facts[0]) ==
        "split_0053_finish: 16 registers, 0 bytes of static shared memory, a stack of 184 bytes, "
        "no spills, 0 bytes of constants");
  CHECK(to_string(facts[1]) ==
        "split_0053: 255 registers, 4096 bytes of static shared memory, a stack of 16 bytes, "
        "spills 24 bytes and reads 28 back, 0 bytes of constants");
  CHECK(write_facts(read_facts(write_facts(facts))) == write_facts(facts));
  CHECK_THROWS_AS(read_facts("row_1 2 three"), croton::InternalError);
  CHECK(parse_log("ptxas info : Compiling entry function 'cut").empty());
  CHECK(parse_log("").empty());
}

TEST_CASE("the output of nvdisasm is parsed, and assigned to the lines of the text") {
  const auto functions = parse_sass(listing);
  REQUIRE(functions.size() == 1);
  CHECK(functions[0].name == "k");
  REQUIRE(functions[0].lines.size() == 6);
  CHECK(functions[0].lines[1].lines == std::vector<int>{7, 11, 13});
  CHECK(functions[0].lines[2].lines == std::vector<int>{7, 11, 13});
  CHECK(functions[0].lines[4].lines == std::vector<int>{3});
  CHECK(print_sass(functions) == R"(k:
  /*0000*/                   LDC R1, c[0x0][0x28] ;
  /*0010*/                   S2R R2, SR_TID.X ;
  /*0020*/               @P0 EXIT ;
.L_x_1:
  /*0030*/                   BRA `(.L_x_1);
.L_x_2:
)");
  CHECK(annotate(functions, "first\nsecond\nthird\n", 10) == R"(k: 4 instructions
    1 | first
      |     /*0010*/                   S2R R2, SR_TID.X ;
      |     /*0020*/               @P0 EXIT ;
    2 | second
      |     /*0000*/                   LDC R1, c[0x0][0x28] ;
    3 | third
      | of no line
      |     /*0030*/                   BRA `(.L_x_1);
)");
  CHECK(parse_sass("").empty());
  CHECK(parse_sass("//## File \"x\", line 99999999999999999999\n.text.:\n/*").size() == 1);
}

TEST_CASE("bytes that are no cubin are refused, wherever they are cut or changed") {
  CHECK_THROWS_AS(read_cubin({}), croton::DeviceError);
  CHECK_THROWS_AS(read_cubin(croton::test::bytes_of("\x7f"
                                                    "ELF and no more")),
                  croton::DeviceError);
  if (!have(Nvrtc::available)) return;
  const std::vector<std::byte> whole = softmax_rows().kernels("cuda:sm_90")[0].cubin();
  REQUIRE(read_cubin(whole).size() == 1);
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 97 + 1)
    CHECK_THROWS_AS(read_cubin(std::span(whole).first(size)), croton::DeviceError);
  for (std::size_t at = 0; at < whole.size(); at += 13) {
    std::vector<std::byte> changed = whole;
    changed[at] = std::byte{0xff};
    try {
      read_cubin(changed);  // some bytes do not matter; no change causes reads out of bounds
    } catch (const croton::DeviceError&) {
    }
  }
}

TEST_CASE("a log that says nothing of the cubin is no source of facts") {
  if (!have(Nvrtc::available)) return;
  const std::vector<std::byte> cubin = softmax_rows().kernels("cuda:sm_90")[0].cubin();
  CHECK_THROWS_AS(collect_facts("", cubin), croton::DeviceError);
  CHECK_THROWS_AS(collect_facts(log_of_two, cubin), croton::DeviceError);
}

TEST_CASE("facts of every family, and what the cubin says of them") {
  if (!have(Nvrtc::available)) return;
  for (const char* target : {"cuda:sm_75", "cuda:sm_90", "cuda:sm_120"}) {
    for (const ct::Function& f : one_of_each_family()) {
      for (const ct::KernelInfo& kernel : f.kernels(target)) {
        const std::vector<ct::KernelFacts> facts = kernel.facts();
        INFO(kernel.name << " " << target);
        REQUIRE(facts.size() == 1);
        CHECK(facts[0].entry == kernel.name);
        for (const CubinEntry& entry : read_cubin(kernel.cubin())) {
          const auto at = std::ranges::find(facts, entry.name, &ct::KernelFacts::entry);
          REQUIRE(at != facts.end());
          CHECK(at->registers == entry.registers);
          CHECK(at->stack_bytes == entry.frame_bytes);
          CHECK(at->constant_bytes >= 0x160);  // reserved by drivers
          CHECK(at->registers >= 8);
        }
      }
    }
  }
  CHECK_THROWS_AS(softmax_rows().kernels()[0].facts(), croton::ValueError);
}

TEST_CASE("a kernel with lines runs the same instructions") {
  if (!have(Nvrtc::available)) return;
  const auto plain = softmax_rows().kernels("cuda:sm_90")[0].cubin();
  const ct::change_flags lines("lineinfo=true");
  const auto lined = softmax_rows().kernels("cuda:sm_90")[0].cubin();
  CHECK_FALSE(has(croton::test::text_of(plain), ".debug_line"));
  CHECK(has(croton::test::text_of(lined), ".debug_line"));
  CHECK(read_cubin(plain)[0].registers == read_cubin(lined)[0].registers);
}

TEST_CASE("a disassembler that anybody may change is not run, and its absence is explained") {
  croton::test::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "bin");
  struct Root {
    explicit Root(std::string root) { set_cuda_root(std::move(root)); }
    ~Root() { set_cuda_root(before); }
    std::string before = cuda_root();
  } root(folder.path().string());
  std::string why;
  CHECK_FALSE(can_disassemble(&why));
  CHECK(has(why, "nvdisasm (the disassembler of CUDA) was not found. Tried:\n  " + (folder / "bin").string()));
  CHECK(has(why, "pip install nvidia-cuda-nvdisasm"));
  croton::test::put_file(folder / "bin" / "nvdisasm", "#!/bin/sh\n");
  std::filesystem::permissions(folder / "bin" / "nvdisasm", std::filesystem::perms::all);
  CHECK_FALSE(can_disassemble(&why));
  CHECK(has(why, "nvdisasm: refused: "));
  CHECK_THROWS_AS(croton::base::run_program(folder / "bin" / "nvdisasm", {}, {}), croton::FileError);
  CHECK_THROWS_AS(disassemble({}, false), croton::DeviceError);
}

TEST_CASE("programs get their input as a file, and leave output, errors and status") {
  using croton::base::run_program;
  const auto input = croton::test::bytes_of(std::string(300000, 'x'));
  const auto copied = run_program("/bin/cat", {croton::base::input_path}, input);
  CHECK(copied.status == 0);
  CHECK(copied.output == croton::test::text_of(input));
  const auto failed = run_program("/bin/sh", {"-c", "echo out; echo problem >&2; exit 3"}, {});
  CHECK(failed.status == 3);
  CHECK(failed.output == "out\n");
  CHECK(failed.errors == "problem\n");
  CHECK(run_program("/bin/sh", {"-c", "kill -9 $$"}, {}).status == 128 + 9);
  CHECK_THROWS_AS(run_program("/bin/no-such-program", {}, {}), croton::FileError);
}

TEST_CASE("SASS of every family, by nvdisasm", "[sass]") {
  if (!have(Nvrtc::available) || !have(can_disassemble)) return;
  for (const ct::Function& f : one_of_each_family()) {
    for (const ct::KernelInfo& kernel : f.kernels("cuda:sm_90")) {
      const std::string sass = kernel.sass();
      CHECK(has(sass, kernel.name + ":\n"));
      CHECK(has(sass, "EXIT ;"));
    }
  }
  const ct::KernelInfo row = softmax_rows().kernels("cuda:sm_90")[0];
  const std::string text = row.annotated_sass();
  CHECK(text.starts_with(row.name + ": "));
  // Instructions follow the line that computes the exponential, and every line of the text is there.
  const std::size_t exponential = text.find("ct::exp("), below = text.find('\n', exponential) + 1;
  REQUIRE(exponential != text.npos);
  CHECK(text.substr(below).starts_with("      |     /*"));
  CHECK(has(text, "team.template reduce<ct::Sum<float>"));
}
