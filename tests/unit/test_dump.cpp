// dump_kernels: its files are complete, and the programs around kernels compile: with nvcc if it is installed, and
// always the device's part with NVRTC and the host's part with the host's compiler.
#include <croton/croton.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "base/process.hpp"
#include "catch.hpp"
#include "codegen/standalone.hpp"
#include "kernels_of_each_family.hpp"
#include "runtime/cuda/inspect/cubin.hpp"
#include "runtime/cuda/libraries/nvrtc.hpp"
#include "temporary_folder.hpp"

namespace ct = croton;
namespace fs = std::filesystem;
using croton::runtime::cuda::Nvrtc;
using croton::test::get_file;
using croton::test::put_file;

namespace {

/// The kernels of each family, written to a folder.
std::vector<ct::KernelInfo> dumped(const fs::path& folder, const std::string& flags = "") {
  const ct::change_flags dump("dump_kernels=" + folder.string() + ",dump_forms=all" + flags);
  std::vector<ct::KernelInfo> all;
  for (const ct::Function& f : ct::test::one_of_each_family()) {
    for (ct::KernelInfo& kernel : f.kernels("cuda:sm_90")) all.push_back(std::move(kernel));
  }
  return all;
}

bool run(const std::string& command) { return std::system(command.c_str()) == 0; }

/// Compiles the two parts of the kernel's program; returns the binary of the host's part.
std::string build(const croton::test::TemporaryFolder& folder, const ct::KernelInfo& kernel) {
  const std::string program = get_file(folder / "kernels" / (kernel.name + "_main.cu"));
  const std::size_t mark = program.find(croton::codegen::standalone_mark);
  REQUIRE(mark != std::string::npos);
  if (Nvrtc::available()) CHECK_FALSE(Nvrtc::instance().compile(program.substr(0, mark), "sm_90").cubin.empty());
  put_file(folder / "host.cpp", "extern \"C\" void " + kernel.name + "() {}\nextern \"C\" void " + kernel.name +
                                    "_finish() {}\n" + program.substr(mark));
  std::string binary = (folder / "host").string();
  REQUIRE(run(std::string(CROTON_CXX) +
              " -std=c++17 -Wall -Wextra -Werror -I " CROTON_SOURCE_FOLDER "/tests/stand_in " +
              (folder / "host.cpp").string() + " -o " + binary));
  return binary;
}

}  // namespace

TEST_CASE("dump_kernels writes text, program, PTX and cubin of every family") {
  croton::test::TemporaryFolder folder;
  const std::vector<ct::KernelInfo> kernels = dumped(folder / "kernels");
  REQUIRE(kernels.size() == 6);
  for (const char* family : {"pointwise_", "row_", "column_", "split_", "contract_", "group_"})
    CHECK(std::ranges::any_of(kernels, [&](const ct::KernelInfo& k) { return k.name.starts_with(family); }));
  const bool nvrtc = Nvrtc::available();
  for (const ct::KernelInfo& kernel : kernels) {
    const fs::path base = folder / "kernels" / kernel.name;
    INFO(kernel.name);
    CHECK(get_file(base.string() + ".cu") == kernel.unit);
    CHECK(get_file(base.string() + "_main.cu").find(kernel.source) != std::string::npos);
    CHECK(fs::exists(base.string() + ".ptx") == nvrtc);
    CHECK(fs::exists(base.string() + ".cubin") == nvrtc);
    if (!nvrtc) continue;
    CHECK(get_file(base.string() + ".ptx") == kernel.ptx());
    CHECK_FALSE(croton::runtime::cuda::read_cubin(croton::test::bytes_of(get_file(base.string() + ".cubin"))).empty());
  }
}

TEST_CASE("dump_forms chooses, and what cannot be written fails nothing") {
  croton::test::TemporaryFolder folder;
  const ct::change_flags only("dump_kernels=" + (folder / "kernels").string() + ",dump_forms=main");
  const ct::Function f = ct::test::one_of_each_family()[1];
  const std::string name = f.kernels("cuda:sm_90")[0].name;
  CHECK(fs::exists(folder / "kernels" / (name + "_main.cu")));
  CHECK_FALSE(fs::exists(folder / "kernels" / (name + ".cu")));
  CHECK(dumped("/proc/nowhere", ",warn=false").size() == 6);
  // An architecture unknown to the compiler: the other files are written, and the call does not report it.
  const ct::change_flags all("dump_kernels=" + (folder / "unknown").string() + ",dump_forms=all,warn=false");
  CHECK(f.kernels("cuda:sm_11").size() == 1);
  CHECK(fs::exists(folder / "unknown" / (name + "_main.cu")));
  CHECK_FALSE(fs::exists(folder / "unknown" / (name + ".cubin")));
  // A bound call writes the sizes of the call.
  const std::string of_call = f.kernels("cuda:sm_90", {.shapes = {{3, 77}}})[0].name;
  const ct::change_flags bound("dump_kernels=" + (folder / "bound").string() + ",dump_forms=main");
  f(ct::Array::zeros(ct::DType::float32, {3, 77}));
  CHECK(get_file(folder / "bound" / (of_call + "_main.cu")).find("{Type::f32, 231, 0, false}") != std::string::npos);
}

TEST_CASE("the two parts of a dumped program compile, and the host's runs") {
  croton::test::TemporaryFolder folder;
  for (const ct::KernelInfo& kernel : dumped(folder / "kernels")) {
    INFO(kernel.name);
    const std::string binary = build(folder, kernel);
    const croton::base::ProgramResult finished = croton::base::run_program(binary, {"3", "64", "5"}, {});
    CHECK(finished.errors.empty());
    CHECK(finished.status == 0);
    CHECK(finished.output.starts_with(kernel.name + ": "));
    CHECK(finished.output.find("5 blocks of 64 threads\noperand ") != std::string::npos);
    CHECK(finished.output.ends_with("ms a launch, mean of 3\n"));
    CHECK(croton::base::run_program(binary, {"3", "65"}, {}).status == 2);
  }
}

TEST_CASE("a dumped program whose blocks wait for each other starts all of them") {
  croton::test::TemporaryFolder folder;
  const ct::change_flags dump("dump_kernels=" + (folder / "kernels").string() + ",dump_forms=main");
  const ct::Variable x = ct::matrix("x");
  const ct::KernelInfo kernel =
      ct::function({x}, ct::nnet::softmax(x, 1)).kernels("cuda:sm_90", {.shapes = {{2, 100'000}}})[0];
  REQUIRE(kernel.schedule.find(" meets=2 ") != std::string::npos);
  const std::string binary = build(folder, kernel);
  const auto finished = croton::base::run_program(binary, {"3"}, {});
  CHECK(finished.status == 0);
  CHECK(finished.output.find("\ncooperative\n") != std::string::npos);
  CHECK(finished.output.find(std::to_string(kernel.blocks) + " blocks of ") != std::string::npos);
  const auto refused = croton::base::run_program(binary, {"3", "64", "5"}, {});
  CHECK(refused.status == 2);
  CHECK(refused.errors.find("its blocks wait for each other") != std::string::npos);
}

TEST_CASE("nvcc builds the dumped programs", "[nvcc]") {
  const std::string path = "PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin ";
  if (!run(path + "nvcc --version > /dev/null 2>&1")) {
    std::cout << "NOT RUN: there is no nvcc on PATH, in CUDA_HOME or in /usr/local/cuda\n";
    return;
  }
  croton::test::TemporaryFolder folder;
  for (const ct::KernelInfo& kernel : dumped(folder / "kernels")) {
    const std::string program = (folder / "kernels" / (kernel.name + "_main.cu")).string();
    CHECK(run(path + "nvcc -arch=sm_90 -fmad=false " + program + " -o " + (folder / "program").string()));
  }
}
