// The search for NVRTC, cuBLASLt, cuDNN, nvdisasm and compute-sanitizer, in planted folders. The libraries are those of
// tests/fake_cuda; the programs are scripts that print a version.
#include "runtime/cuda/toolkit/toolkit.hpp"

#include <croton/config.hpp>
#include <croton/error.hpp>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "catch.hpp"
#include "contains.hpp"
#include "fake_cuda.hpp"
#include "runtime/cuda/inspect/nvdisasm.hpp"
#include "runtime/cuda/inspect/program.hpp"
#include "runtime/cuda/libraries/blaslt.hpp"
#include "runtime/cuda/libraries/dnn.hpp"
#include "runtime/cuda/libraries/nvrtc.hpp"
#include "temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace croton;
using namespace croton::runtime::cuda;
using croton::test::error_of;
using croton::test::FakeCuda;
using croton::test::TemporaryFolder;

namespace {

constexpr const char* nvdisasm_prints =
    "nvdisasm: NVIDIA (R) CUDA disassembler\nCopyright (c) 2005-2026 NVIDIA Corporation\n"
    "Cuda compilation tools, release 13.0, V13.0.39\nBuild cuda_13.0.r13.0/compiler.36260728_0\n";
constexpr const char* sanitizer_prints =
    "NVIDIA (R) Compute Sanitizer\nCopyright (c) 2020-2025 NVIDIA Corporation\n"
    "Version 2025.3.0.0 (build 36260728) (public-release)\n";

/// The folders found, one per line: "toolkit: lib64", relative to `base`.
std::string shown(const std::vector<SearchFolder>& folders, const fs::path& base) {
  std::string text;
  for (const SearchFolder& folder : folders)
    text += std::string(name_of(folder.place)) + ": " + folder.path.lexically_relative(base).string() + "\n";
  return text;
}

void put_library(const fs::path& file) {
  fs::create_directories(file.parent_path());
  fs::copy_file(fs::path(test::fake_cuda_folder()) / file.filename(), file);
}

void put_program(const fs::path& file, const std::string& printed) {
  fs::create_directories(file.parent_path());
  test::put_file(file, "#!/bin/sh\nprintf '%s' '" + printed + "'\n");
  fs::permissions(file, fs::perms::owner_all);
}

/// The result of search_folders() for `part` in a process with this environment, and with `system` as the root folder.
std::string found_with(const std::vector<std::pair<const char*, std::string>>& environment, const fs::path& base,
                       ToolkitPart part) {
  const fs::path answer = base / "answer.txt";
  const int status = test::run_child([&] {
    for (const char* name : {"CUDA_PATH", "CUDA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PATH"})
      unsetenv(name);
    setenv("HOME", (base / "home").c_str(), 1);
    for (const auto& [name, value] : environment) setenv(name, value.c_str(), 1);
    std::ofstream(answer) << shown(search_folders(part, {.root = "", .system = base / "system"}), base);
    return 0;
  });
  CHECK(status == 0);
  return test::get_file(answer);
}

/// A virtual environment as venv makes it: its program is a link to another one.
void make_venv(const fs::path& folder, const fs::path& real_prefix) {
  fs::create_directories(folder / "bin");
  fs::create_directories(real_prefix / "bin");
  put_program(real_prefix / "bin/python3.12", "");
  fs::create_symlink(real_prefix / "bin/python3.12", folder / "bin/python3");
  test::put_file(folder / "pyvenv.cfg", "home = " + (real_prefix / "bin").string() + "\n");
}

/// Settings in which a part's flag names its file.
ToolkitSettings named(ToolkitPart part, const fs::path& file) {
  ToolkitSettings settings;
  settings.files[static_cast<std::size_t>(part)] = file.string();
  return settings;
}

}  // namespace

TEST_CASE("cuda_root has the layouts of toolkits and of packages", "[toolkit]") {
  const TemporaryFolder folder;
  for (const char* name : {"lib64", "bin", "compute-sanitizer", "nvidia/cu13/lib", "nvidia/cu13/bin", "nvidia/cu12/lib",
                           "nvidia/cuda_nvrtc/lib", "nvidia/cublas/lib", "nvidia/cudnn/lib", "nvidia/cuda_nvdisasm/bin",
                           "nvidia/cuda_sanitizer_api/bin"}) {
    fs::create_directories(folder / name);
  }
  const auto found = [&](ToolkitPart part) {
    return shown(search_folders(part, {.root = folder.path().string()}), folder.path());
  };
  const std::string common =
      "toolkit: lib64\nPython package: nvidia/cu13/lib\nPython package: nvidia/cu12/lib\nPython package: nvidia/";
  CHECK(found(ToolkitPart::nvrtc) == common + "cuda_nvrtc/lib\nnamed by a flag: .\n");
  CHECK(found(ToolkitPart::blaslt) == common + "cublas/lib\nnamed by a flag: .\n");
  CHECK(found(ToolkitPart::dnn) == common + "cudnn/lib\nnamed by a flag: .\n");
  CHECK(
      found(ToolkitPart::nvdisasm) ==
      "toolkit: bin\nPython package: nvidia/cu13/bin\nPython package: nvidia/cuda_nvdisasm/bin\nnamed by a flag: .\n");
  CHECK(found(ToolkitPart::sanitizer) ==
        "toolkit: bin\ntoolkit: compute-sanitizer\nPython package: nvidia/cu13/bin\n"
        "Python package: nvidia/cuda_sanitizer_api/bin\nnamed by a flag: .\n");
  CHECK(search_folders(ToolkitPart::blaslt, {.root = "none"}).empty());
}

TEST_CASE("paths of the environment come first, then toolkits, then Python", "[toolkit]") {
  const TemporaryFolder folder;
  for (const char* name :
       {"path/lib64", "home_of_cuda/lib64", "active/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib",
        "conda/targets/x86_64-linux/lib", "conda/targets/sbsa-linux/lib", "importable/nvidia/cu13/lib",
        "venv/lib/python3.12/site-packages/nvidia/cu13/lib", "home/.local/lib/python3.11/site-packages/nvidia/cu12/lib",
        "system/usr/lib/python3/dist-packages/nvidia/cu13/lib"}) {
    fs::create_directories(folder / name);
  }
  make_venv(folder / "venv", folder / "real");
  const std::string found =
      found_with({{"CUDA_PATH", folder / "path"},
                  {"CUDA_HOME", folder / "home_of_cuda"},
                  {"VIRTUAL_ENV", folder / "active"},
                  {"CONDA_PREFIX", folder / "conda"},
                  {"PYTHONPATH", "relative:" + (folder / "importable").string() + ":" + (folder / "none").string()},
                  {"PATH", (folder / "none").string() + ":" + (folder / "venv/bin").string()}},
                 folder.path(), ToolkitPart::nvrtc);
#if defined(__aarch64__)
  const std::string target = "sbsa-linux";
#else
  const std::string target = "x86_64-linux";
#endif
  CHECK(found ==
        "toolkit: path/lib64\n"
        "toolkit: home_of_cuda/lib64\n"
        "Python package: active/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib\n"
        "Python package: active/lib\n"
        "Python package: conda/targets/" +
            target +
            "/lib\n"
            "Python package: importable/nvidia/cu13/lib\n"
            "Python package: venv/lib/python3.12/site-packages/nvidia/cu13/lib\n"
            "Python package: venv/lib\n"
            "Python package: home/.local/lib/python3.11/site-packages/nvidia/cu12/lib\n"
            "Python package: system/usr/lib/python3/dist-packages/nvidia/cu13/lib\n");
}

TEST_CASE("toolkits are found below /usr/local and /opt, the highest version first", "[toolkit]") {
  const TemporaryFolder folder;
  for (const char* name : {"usr/local/cuda-9.2", "usr/local/cuda-12.9", "usr/local/cuda-13.0", "opt/cuda",
                           "opt/cuda-12.4", "opt/nvidia/cuda-13.1", "opt/nvidia/nsight-compute"}) {
    fs::create_directories(folder / (std::string("system/") + name + "/bin"));
  }
  fs::create_symlink("cuda-12.9", folder / "system/usr/local/cuda");
  CHECK(found_with({}, folder.path(), ToolkitPart::sanitizer) ==
        "toolkit: system/usr/local/cuda-12.9/bin\n"
        "toolkit: system/usr/local/cuda-13.0/bin\n"
        "toolkit: system/usr/local/cuda-9.2/bin\n"
        "toolkit: system/opt/cuda/bin\n"
        "toolkit: system/opt/cuda-12.4/bin\n"
        "toolkit: system/opt/nvidia/cuda-13.1/bin\n");
}

TEST_CASE("folders that the program gives come before installed toolkits", "[toolkit]") {
  const TemporaryFolder folder;
  for (const char* name : {"given/nvidia/cu13/lib", "system/usr/local/cuda/lib64", "home_of_cuda/lib64"})
    fs::create_directories(folder / name);
  const int status = test::run_child([&] {
    setenv("CUDA_HOME", (folder / "home_of_cuda").c_str(), 1);
    unsetenv("CUDA_PATH");
    add_library_folder(folder / "given");
    const std::string found =
        shown(search_folders(ToolkitPart::nvrtc, {.root = "", .system = folder / "system"}), folder.path());
    return found.starts_with(
               "toolkit: home_of_cuda/lib64\nPython package: given/nvidia/cu13/lib\nnamed by a flag: given\n"
               "toolkit: system/usr/local/cuda/lib64\n")
               ? 0
               : 1;
  });
  CHECK(status == 0);
}

TEST_CASE("the Python of PATH: an environment is not left by its link, others are followed", "[toolkit]") {
  const TemporaryFolder folder;
  const std::string package = "lib/python3.12/site-packages/nvidia/cu13/bin";
  for (const char* prefix : {"venv/", "real/"}) fs::create_directories(folder / (prefix + package));
  make_venv(folder / "venv", folder / "real");
  const auto found = [&](const std::string& path) {
    return found_with({{"PATH", path}}, folder.path(), ToolkitPart::nvdisasm);
  };
  const std::string venv = "Python package: venv/" + package + "\nPython package: venv/bin\n";
  const std::string real = "Python package: real/" + package + "\n";
  CHECK(found(folder / "venv/bin") == venv);
  CHECK(found((folder / "venv/bin").string() + "/") == venv);
  // A link from elsewhere leads to the installation, whose bin is not a folder of packages.
  fs::create_directories(folder / "links");
  fs::create_symlink(folder / "venv/bin/python3", folder / "links/python");
  CHECK(found(folder / "links") == real);
  // python3 is preferred to python, anywhere on PATH.
  CHECK(found((folder / "links").string() + ":" + (folder / "venv/bin").string()) == venv);
  // Files that are not programs are skipped, and so are relative folders.
  fs::create_directories(folder / "broken/python3");
  CHECK(found((folder / "broken").string() + ":" + (folder / "venv/bin").string()) == venv);
  CHECK(found("venv/bin").empty());
  CHECK(found("").empty());
}

TEST_CASE("each part is found in toolkits, packages of CUDA 13 and packages of CUDA 12", "[toolkit]") {
  FakeCuda fake;
  struct Layout {
    Place place;
    std::array<const char*, part_count> folders;  // in the order of ToolkitPart
  };
  const Layout layouts[]{
      {Place::toolkit, {"lib64", "lib64", "lib64", "bin", "compute-sanitizer"}},
      {Place::python_package,
       {"nvidia/cu13/lib", "nvidia/cu13/lib", "nvidia/cudnn/lib", "nvidia/cu13/bin", "nvidia/cu13/bin"}},
      {Place::python_package,
       {"nvidia/cuda_nvrtc/lib", "nvidia/cublas/lib", "nvidia/cudnn/lib", "nvidia/cuda_nvdisasm/bin",
        "nvidia/cuda_sanitizer_api/bin"}},
      {Place::named, {".", ".", ".", ".", "."}}};
  for (const Layout& layout : layouts) {
    const TemporaryFolder folder;
    const auto file = [&](ToolkitPart part, const char* name) {
      return (folder / layout.folders[static_cast<std::size_t>(part)] / name).lexically_normal();
    };
    const fs::path nvrtc = file(ToolkitPart::nvrtc, "libnvrtc.so.13"),
                   blaslt = file(ToolkitPart::blaslt, "libcublasLt.so.13");
    const fs::path dnn = file(ToolkitPart::dnn, "libcudnn.so.9"), nvdisasm = file(ToolkitPart::nvdisasm, "nvdisasm");
    const fs::path sanitizer = file(ToolkitPart::sanitizer, "compute-sanitizer");
    for (const fs::path& library : {nvrtc, blaslt, dnn}) put_library(library);
    put_program(nvdisasm, nvdisasm_prints);
    put_program(sanitizer, sanitizer_prints);
    set_toolkit({.root = folder.path().string()});
    CHECK(Nvrtc::found().path == nvrtc);
    CHECK(Nvrtc::found().place == layout.place);
    CHECK(Nvrtc::found().version == "13.0");
    CHECK(BlasLt::found().path == blaslt);
    CHECK(BlasLt::found().place == layout.place);
    CHECK_THAT(BlasLt::found().version, Catch::Matchers::StartsWith("13."));
    CHECK(Dnn::found().path == dnn);
    CHECK(Dnn::found().place == layout.place);
    CHECK_THAT(Dnn::found().version, Catch::Matchers::StartsWith("9."));
    CHECK(find_program(ToolkitPart::nvdisasm).path == nvdisasm);
    CHECK(find_program(ToolkitPart::nvdisasm).place == layout.place);
    CHECK(version_of_program(nvdisasm) == "13.0.39");
    CHECK(find_program(ToolkitPart::sanitizer).path == sanitizer);
    CHECK(find_program(ToolkitPart::sanitizer).place == layout.place);
    CHECK(version_of_program(sanitizer) == "2025.3.0.0");
  }
}

TEST_CASE("programs are found on PATH, in its absolute folders alone", "[toolkit]") {
  const TemporaryFolder folder;
  put_program(folder / "tools/compute-sanitizer", sanitizer_prints);
  const int status = test::run_child([&] {
    for (const char* name : {"CUDA_PATH", "CUDA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH"}) unsetenv(name);
    set_toolkit({.root = "", .system = folder / "system"});
    setenv("HOME", (folder / "home").c_str(), 1);
    fs::current_path(folder.path());
    setenv("PATH", "tools", 1);
    if (!find_program(ToolkitPart::sanitizer).path.empty()) return 1;
    setenv("PATH", (folder / "tools").c_str(), 1);
    const ProgramSearch search = find_program(ToolkitPart::sanitizer);
    return search.path == folder / "tools/compute-sanitizer" && search.place == Place::system ? 0 : 2;
  });
  CHECK(status == 0);
}

TEST_CASE("a flag names a file, and another value gives another library", "[toolkit]") {
  FakeCuda fake;
  const TemporaryFolder folder;
  for (const char* name : {"a/libnvrtc.so.13", "b/libnvrtc.so.13", "a/libcublasLt.so.13", "a/libcudnn.so.9"})
    put_library(folder / name);
  put_program(folder / "a/disassembler", nvdisasm_prints);
  fs::rename(folder / "a/libcudnn.so.9", folder / "a/dnn.so");
  for (const char* name : {"a/libnvrtc.so.13", "b/libnvrtc.so.13"}) {
    set_toolkit(named(ToolkitPart::nvrtc, folder / name));
    CHECK(Nvrtc::found().path == folder / name);
    CHECK(Nvrtc::found().place == Place::named);
    CHECK(Nvrtc::list_tried().size() == 1);
  }
  set_toolkit(named(ToolkitPart::blaslt, folder / "a/libcublasLt.so.13"));
  CHECK(BlasLt::found().path == folder / "a/libcublasLt.so.13");
  set_toolkit(named(ToolkitPart::dnn, folder / "a/dnn.so"));  // a name chosen by the user
  CHECK(Dnn::found().path == folder / "a/dnn.so");
  set_toolkit(named(ToolkitPart::nvdisasm, folder / "a/disassembler"));
  CHECK(find_program(ToolkitPart::nvdisasm).path == folder / "a/disassembler");
  CHECK(find_program(ToolkitPart::nvdisasm).place == Place::named);

  ToolkitSettings hidden = named(ToolkitPart::nvrtc, folder / "a/libnvrtc.so.13");
  hidden.root = "none";
  set_toolkit(hidden);
  CHECK_THAT(error_of<DeviceError>([] { Nvrtc::instance(); }), contains("hidden by cuda_root=none"));
}

TEST_CASE("a file that a flag names and that cannot be used is an error, and nothing else is searched", "[toolkit]") {
  FakeCuda fake;
  const TemporaryFolder folder;
  put_library(folder / "libnvrtc.so.13");
  put_program(folder / "compute-sanitizer", sanitizer_prints);
  test::put_file(folder / "text.so", "no library");
  const std::string at = folder.path().string();
  const auto error = [&](ToolkitPart part, const char* file) {
    set_toolkit(named(part, folder / file));
    return error_of<ConfigError>([&] {
      if (part == ToolkitPart::nvrtc) Nvrtc::available();
      if (part == ToolkitPart::blaslt) BlasLt::available();
      if (part == ToolkitPart::dnn) Dnn::found();
      if (part == ToolkitPart::nvdisasm) can_disassemble();
      if (part == ToolkitPart::sanitizer) require_program(part);
    });
  };
  CHECK_THAT(error(ToolkitPart::nvrtc, "none.so"),
             contains("cuda_nvrtc=" + at + "/none.so: NVRTC (the run-time compiler of CUDA) was not found. Tried:\n  " +
                      at + "/none.so: no such file\nIt is part of: "));
  CHECK_THAT(error(ToolkitPart::blaslt, "none.so"),
             contains("cuda_blaslt=" + at + "/none.so: cuBLASLt (matrix products"));
  CHECK_THAT(error(ToolkitPart::dnn, "none.so"), contains("cuda_dnn=" + at + "/none.so: cuDNN (convolutions"));
  CHECK_THAT(error(ToolkitPart::nvdisasm, "none"),
             contains("cuda_nvdisasm=" + at + "/none: nvdisasm (the disassembler of CUDA) was not found. Tried:\n  " +
                      at + "/none: no such file\nIt is part of: "));
  CHECK_THAT(error(ToolkitPart::sanitizer, "none"), contains("cuda_sanitizer=" + at + "/none: compute-sanitizer (the"));
  CHECK_THAT(error(ToolkitPart::sanitizer, "text.so"), contains("text.so: not a program: it may not be executed"));
  CHECK_THAT(error(ToolkitPart::nvrtc, "text.so"), contains("text.so: "));
  // Another library has none of its entry points.
  CHECK_THAT(error(ToolkitPart::dnn, "libnvrtc.so.13"), contains("cuda_dnn=" + at +
                                                                 "/libnvrtc.so.13: cuDNN (convolutions on "
                                                                 "NVIDIA GPUs) at " +
                                                                 at + "/libnvrtc.so.13 lacks the function"));
  fs::permissions(folder / "libnvrtc.so.13", fs::perms::others_write, fs::perm_options::add);
  CHECK_THAT(error(ToolkitPart::nvrtc, "libnvrtc.so.13"), contains("libnvrtc.so.13: refused: "));
  fs::permissions(folder / "compute-sanitizer", fs::perms::others_write, fs::perm_options::add);
  CHECK_THAT(error(ToolkitPart::sanitizer, "compute-sanitizer"), contains("compute-sanitizer: refused: "));
}

TEST_CASE("flags become settings", "[toolkit]") {
  const FakeCuda fake;  // restores the settings
  const change_flags scope("cuda_root=/a,cuda_nvrtc=/b,cuda_blaslt=/c,cuda_dnn=/d,cuda_nvdisasm=/e,cuda_sanitizer=/f");
  set_toolkit(base::config());
  CHECK(cuda_root() == "/a");
  std::string files;
  for (const ToolkitPart part :
       {ToolkitPart::nvrtc, ToolkitPart::blaslt, ToolkitPart::dnn, ToolkitPart::nvdisasm, ToolkitPart::sanitizer})
    files += std::string(flag_of(part)) + "=" + toolkit().file(part) + " ";
  CHECK(files == "cuda_nvrtc=/b cuda_blaslt=/c cuda_dnn=/d cuda_nvdisasm=/e cuda_sanitizer=/f ");
  set_cuda_root("/g");
  CHECK(toolkit().root == "/g");
  CHECK(toolkit().file(ToolkitPart::dnn) == "/d");
}

TEST_CASE("versions of programs are read from what they print", "[toolkit]") {
  CHECK(version_in(nvdisasm_prints) == "13.0.39");
  CHECK(version_in(sanitizer_prints) == "2025.3.0.0");
  CHECK(version_in("Version 3") == "3");
  CHECK(version_in("release 13.0, V") == "");
  CHECK(version_in("").empty());
}
