// .npy files: those of NumPy, those of Croton, and damaged ones, which raise a FileError and have no other effect.
#include <croton/array.hpp>

#include <complex>
#include <filesystem>
#include <random>

#include "catch.hpp"
#include "contains.hpp"
#include "temporary_folder.hpp"

using croton::Array;
using croton::DType;
using croton::Sizes;
using croton::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

/// A format 1 file with this header.
std::string npy(const std::string& header, const std::string& data, char major = 1) {
  std::string text = "\x93NUMPY";
  text += {major, 0, static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  if (major > 1) text += {0, 0};
  return text + header + data;
}

Array load(const TemporaryFolder& folder, const std::string& content) {
  croton::test::put_file(folder / "file.npy", content);
  return croton::load_npy(folder / "file.npy");
}

const std::string two_floats("\0\0\x80\x3F\0\0\0\x40", 8);  // 1 and 2

}  // namespace

TEST_CASE("saved arrays load again", "[npy]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "a.npy";
  for (int i = 0; i < croton::dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::bfloat16) continue;
    for (const Sizes& shape : {Sizes{}, Sizes{6}, Sizes{2, 3}, Sizes{3, 1, 2}, Sizes{0, 3}}) {
      const std::int64_t count = Array::empty(DType::int8, shape).size();
      const Array array = Array::arange(count, dtype).reshape(shape);
      croton::save_npy(file, array);
      CHECK(croton::load_npy(file).same_bits(array));
    }
  }
  const Array turned = Array::arange(6, DType::float32).reshape({2, 3}).transpose();
  croton::save_npy(file, turned);
  CHECK(croton::load_npy(file).same_bits(turned));
  CHECK_THROWS_AS(croton::save_npy(file, Array{1.f}.astype(DType::bfloat16)), croton::TypeError);
  CHECK(croton::load_npy(file).same_bits(turned));
}

TEST_CASE("the bytes are those that NumPy writes", "[npy]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "a.npy";
  croton::save_npy(file, Array{1.f, 2.f});
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  header.resize(128 - 10 - 1, ' ');
  CHECK(croton::test::get_file(file) == npy(header + "\n", two_floats));
}

TEST_CASE("formats, orders of keys and of bytes", "[npy]") {
  const TemporaryFolder folder;
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  for (const char major : {char{1}, char{2}, char{3}})
    CHECK(load(folder, npy(header, two_floats, major)).equals(Array{1.f, 2.f}));
  CHECK(load(folder, npy("{\"shape\":(2L,),'fortran_order':False,'descr':'=f4'}", two_floats)).equals(Array{1.f, 2.f}));
  CHECK(load(folder, npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", two_floats.substr(4)))
            .equals(Array(2.f)));

  const std::string big_endian("\x3F\x80\0\0\x40\0\0\0", 8);
  CHECK(load(folder, npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", big_endian))
            .equals(Array{1.f, 2.f}));
  CHECK(load(folder, npy("{'descr': '>c8', 'fortran_order': False, 'shape': (), }", big_endian))
            .item<std::complex<float>>() == std::complex<float>(1, 2));

  const Array fortran = load(folder, npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "\1\2\3\4\5\6"));
  CHECK(fortran.is_contiguous());
  CHECK(fortran.equals(Array{{1, 3, 5}, {2, 4, 6}}.astype(DType::uint8)));
  // A byte of a bool that is neither 0 nor 1 is made 1.
  CHECK(load(folder, npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", std::string("\2\0", 2)))
            .equals(Array{true, false}));
}

TEST_CASE("faults of a file are named", "[npy]") {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& content) -> std::string {
    try {
      load(folder, content);
    } catch (const croton::FileError& error) {
      return error.what();
    }
    return "no error";
  };
  const std::string rest = "'fortran_order': False, 'shape': (2,), }";
  CHECK_THAT(message("hello"), contains("file.npy") && contains("does not start as a .npy file"));
  CHECK_THAT(message(npy("{'descr': '|O', " + rest, "")), contains("type '|O'"));
  CHECK_THAT(message(npy("{'descr': '|V8', " + rest, "")), contains("type '|V8'"));
  CHECK_THAT(message(npy("{'descr': '<f3', " + rest, "")), contains("type '<f3'"));
  CHECK_THAT(message(npy("{'descr': [('a', '<f4')], " + rest, "")), contains("structured"));
  CHECK_THAT(message(npy("{'descr': '<f4', " + rest, two_floats + "x")), contains("takes 8 bytes, but 9 follow"));
  CHECK_THAT(message(npy("{'descr': '<f4', " + rest, "x")), contains("takes 8 bytes, but 1 follow"));
  CHECK_THAT(message(npy("{'descr': '<f4', " + rest, two_floats, 4)), contains("format 4.0 is not known"));
  CHECK_THAT(message(npy("{'descr': '<f4', 'descr': '<f4', " + rest, two_floats)), contains("'descr' twice"));
  CHECK_THAT(message(npy("{" + rest, two_floats)), contains("lacks one of"));
  CHECK_THAT(message(npy("{'x': 1, " + rest, two_floats)), contains("unknown key 'x'"));
  CHECK_THAT(message(npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,), }", "")), contains("True or False"));
  CHECK_THAT(message(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", "")), contains("a size from 0"));
  CHECK_THAT(message(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "")),
             contains("a size from 0"));
  CHECK_THAT(message(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", "")),
             contains("more bytes"));
  CHECK_THAT(message(npy("{'descr': '<f4', " + rest + " x", two_floats)), contains("nothing more"));
  CHECK_THROWS_WITH(croton::load_npy(folder / "none.npy"), contains("there is no such file"));
  CHECK_THROWS_AS(croton::load_npy(folder.path()), croton::FileError);
  CHECK_THROWS_AS(croton::save_npy(folder / "none/a.npy", Array{1.f}), croton::FileError);
  fs::create_directory(folder / "folder.npy");
  CHECK_THROWS_AS(croton::save_npy(folder / "folder.npy", Array{1.f}), croton::FileError);
}

TEST_CASE("damaged files end in a FileError or an array, never otherwise", "[npy]") {
  const TemporaryFolder folder;
  std::string header = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1), }";
  header.resize(118, ' ');
  const std::string good = npy(header, two_floats);
  CHECK_NOTHROW(load(folder, good));
  int errors = 0;
  const auto try_load = [&](const std::string& content) {
    try {
      const Array array = load(folder, content);
      REQUIRE(array.size() <= static_cast<std::int64_t>(content.size()));
    } catch (const croton::FileError&) {
      ++errors;
    }
  };
  for (std::size_t length = 0; length < good.size(); ++length) try_load(good.substr(0, length));
  CHECK(errors == static_cast<int>(good.size()));  // no truncation is accepted
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string flipped = good;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    try_load(flipped);
  }
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = good;
    for (int k = 0; k < 4; ++k) damaged[random() % damaged.size()] = "{}()':,0123456789<>|LTF \n\\\xFF"[random() % 28];
    try_load(damaged);
  }
  CHECK(errors > 1000);
}
