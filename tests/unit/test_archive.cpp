// Archives: saved arrays load again, damaged or malicious files are rejected with their names, and no failure of the
// operating system leaves half a file. tests/archives checks that other programs read them.
#include <croton/archive.hpp>

#include <cerrno>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "base/memory.hpp"
#include "catch.hpp"
#include "contains.hpp"
#include "fault_hook.hpp"
#include "temporary_folder.hpp"

using croton::Array;
using croton::DType;
using croton::Sizes;
using croton::io::Archive;
using croton::io::load_npz;
using croton::io::load_safetensors;
using croton::io::NamedArrays;
using croton::io::save_npz;
using croton::io::save_safetensors;
using croton::test::get_file;
using croton::test::HookScope;
using croton::test::put_file;
using croton::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const croton::FileError& error) {
    return error.what();
  }
  return "no error";
}

/// The bytes of a number, little-endian.
template <class T>
std::string bytes(T value) {
  std::string text(sizeof(T), '\0');
  std::memcpy(text.data(), &value, sizeof(T));
  return text;
}

std::string safetensors(const std::string& header, const std::string& data) {
  return bytes(std::uint64_t{header.size()}) + header + data;
}

/// Arrays of all dtypes except `left_out`, of ranks 0 to 4, empty, and not contiguous.
NamedArrays all_kinds(DType left_out) {
  NamedArrays arrays;
  for (int i = 0; i < croton::dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == left_out) continue;
    const std::string name(croton::name_of(dtype));
    for (const Sizes& shape :
         {Sizes{}, Sizes{7}, Sizes{2, 3}, Sizes{3, 1, 2}, Sizes{2, 1, 3, 2}, Sizes{0}, Sizes{2, 0, 3}})
      arrays.emplace_back(name + " " + std::to_string(arrays.size()),
                          Array::normal(DType::float64, shape, 1 + arrays.size())
                              .astype(is_complex(dtype) ? DType::float64 : dtype)
                              .astype(dtype));
    const Array matrix = Array::arange(12, dtype).reshape({3, 4});
    arrays.emplace_back(name + " transposed", matrix.transpose());
    arrays.emplace_back(name + " sliced", matrix.slice(1, 3, -5, -2));
  }
  return arrays;
}

void check_same(const NamedArrays& found, const NamedArrays& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].first == expected[i].first);
    CHECK(found[i].second.same_bits(expected[i].second));
    CHECK(found[i].second.is_contiguous());
  }
}

/// A valid file with one or two changed bytes loads or raises a FileError, and allocates memory in proportion.
int count_refused(const std::string& good, const std::function<NamedArrays(const std::string&)>& load,
                  std::size_t most_ratio) {
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 4'000; ++i) {
    std::string damaged = good;
    for (unsigned k = 0; k <= random() % 2; ++k) {
      char& byte = damaged[random() % damaged.size()];
      byte = random() % 2 == 0 ? static_cast<char>(random()) : "{}[]\":,0123456789eU"[random() % 19];
    }
    try {
      std::size_t total = 0;
      for (const auto& [name, array] : load(damaged)) total += array.bytes();
      REQUIRE(total <= damaged.size() * most_ratio);
    } catch (const croton::FileError&) {
      ++refused;
    }
  }
  return refused;
}

/// After any failing call `file` has its old contents or those that `save` writes, and there is no other file.
void check_faults_of_saving(const fs::path& file, const std::function<void()>& save_old,
                            const std::function<void()>& save) {
  save();
  const std::string after = get_file(file);
  for (const int error : {EIO, ENOSPC, EROFS}) {
    std::string message;
    for (std::size_t failing = 0; message != "no error"; ++failing) {
      save_old();
      const std::string before = get_file(file);
      std::size_t call = 0;
      {
        HookScope hook([&](croton::base::FileCall) {
          return croton::base::Fault{.error = call++ == failing ? error : 0, .at_most = 200};
        });
        message = message_of(save);
      }
      CHECK(get_file(file) == (message == "no error" ? after : before));
      CHECK(std::distance(fs::directory_iterator(file.parent_path()), fs::directory_iterator()) == 1);
      CHECK((failing > 5 || message != "no error"));  // open, create, write, ...: all of them were made to fail
    }
  }
}

void check_faults_of_loading(const std::function<void()>& load) {
  constexpr std::size_t calls = 3;  // open, status, read
  for (std::size_t failing = 0; failing <= calls; ++failing) {
    std::size_t call = 0;
    HookScope hook([&](croton::base::FileCall) { return croton::base::Fault{.error = call++ == failing ? EIO : 0}; });
    CHECK_THAT(message_of(load), contains(failing < calls ? "Input/output error" : "no error"));
  }
}

}  // namespace

TEST_CASE("safetensors: saved arrays load again", "[archive]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "a.safetensors";
  const NamedArrays arrays = all_kinds(DType::complex128);
  const std::map<std::string, std::string> metadata{{"format", "croton"}, {"", ""}, {"\"größe\"\n", "\x01\\"}};
  save_safetensors(file, arrays, metadata);
  const Archive again = load_safetensors(file);
  check_same(again.arrays, arrays);
  CHECK(again.metadata == metadata);

  save_safetensors(file, {});
  CHECK(load_safetensors(file).arrays.empty());
  CHECK(load_safetensors(file).metadata.empty());
  save_safetensors(file, {{"", Array(1.f)}, {"a/../b \"\n\x7f", Array(2.f)}});
  CHECK(load_safetensors(file).arrays[1].first == "a/../b \"\n\x7f");
}

TEST_CASE("safetensors: the bytes are those of the format", "[archive]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "a.safetensors";
  save_safetensors(file, {{"b", Array{true, false, true}}, {"x", Array{{1.f}, {2.f}}}}, {{"k", "v"}});
  // Larger elements come first, so that they are aligned.
  std::string header = R"({"__metadata__":{"k":"v"},"b":{"dtype":"BOOL","shape":[3],"data_offsets":[8,11]},)"
                       R"("x":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  CHECK(get_file(file) == safetensors(header, bytes(1.f) + bytes(2.f) + std::string("\1\0\1", 3)));
}

TEST_CASE("safetensors: files that other programs may write", "[archive]") {
  const TemporaryFolder folder;
  const auto load = [&](const std::string& content) {
    put_file(folder / "a", content);
    return load_safetensors(folder / "a");
  };
  // Spaces, escapes, any order of fields and arrays; elements that are not aligned; any byte for a bool.
  const Archive archive = load(
      safetensors("{ \"\\u0078\\n\" : {\n\t\"data_offsets\":[1, 5], \"shape\":[ ], \"dtype\":\"F32\"},\r\n"
                  "\"b\":{\"dtype\":\"BOOL\",\"shape\":[1,1],\"data_offsets\":[0,1]},"
                  "\"nothing\":{\"dtype\":\"I64\",\"shape\":[4,0],\"data_offsets\":[1,1]}, \"__metadata__\": {} }\n ",
                  "\x80" + bytes(1.5f)));
  check_same(archive.arrays,
             {{"x\n", Array(1.5f)}, {"b", Array{{true}}}, {"nothing", Array::empty(DType::int64, {4, 0})}});
}

TEST_CASE("safetensors: faults are named before memory is requested", "[archive]") {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& content) {
    put_file(folder / "w.safetensors", content);
    const std::uint64_t before = croton::base::memory_counters().allocations;
    const std::string said = message_of([&] { load_safetensors(folder / "w.safetensors"); });
    CHECK_THAT(said, contains("w.safetensors is not a safetensors file that can be read: "));
    CHECK(croton::base::memory_counters().allocations == before);
    return said;
  };
  struct Case {
    std::string header, data, expected;
  };
  const std::string data = "12345678";
  const std::string x = R"("x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  const std::string deep = "{\"x\":{\"shape\":" + std::string(100'000, '[');
  std::string axes = "1";
  for (int i = 0; i < 64; ++i) axes += ",1";
  const std::vector<Case> cases{
      {"", "", "does not begin with '{'"},
      {"[" + x + "]", data, "does not begin with '{'"},
      {" {" + x + "}", data, "does not begin with '{'"},
      {"\xEF\xBB\xBF{" + x + "}", data, "does not begin with '{'"},
      {"{" + x, data, "is not valid in JSON in UTF-8"},
      {"{" + x + ",}", data, "is not valid in JSON in UTF-8"},
      {"{" + x + "}x", data, "is not valid in JSON in UTF-8"},
      {"{" + x + "}{}", data, "is not valid in JSON in UTF-8"},
      {"{/**/" + x + "}", data, "byte 2 of the header is not valid in JSON"},
      {"{'x':1}", data, "byte 2 of the header is not valid in JSON"},
      {"{\"\xFF\":1}", data, "byte 3 of the header is not valid in JSON in UTF-8"},
      {"{\"\xC0\xAF\":1}", data, "is not valid in JSON in UTF-8"},
      {R"({"\ud800":1})", data, "is not valid in JSON in UTF-8"},
      {"{\"a\nb\":1}", data, "is not valid in JSON in UTF-8"},
      {"{" + x + "}" + std::string("\0evil", 5), data, "is zero"},
      {"{" + x + "," + x + "}", data, "\"x\" is in the header twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", "", "\"__metadata__\" is in the header twice"},
      {R"({"__metadata__":{"a":"1","a":"2"}})", "", R"("a" is in "__metadata__" twice)"},
      {R"({"__metadata__":{"a":1}})", "", R"("__metadata__", "a": a number is not allowed there)"},
      {R"({"__metadata__":{"a":{}}})", "", R"("__metadata__", "a": an object is not allowed there)"},
      {R"({"__metadata__":[]})", "", "array \"__metadata__\": a list is not allowed"},
      {R"({"__metadata__":null})", "", "null is not allowed there"},
      {R"({"x":[]})", "", "array \"x\": a list is not allowed there"},
      {R"({"x":1})", "", "array \"x\": a number is not allowed"},
      {R"({"x":true})", "", "array \"x\": true or false is not allowed"},
      {R"({"x":"F32"})", "", "array \"x\": a string is not allowed"},
      {R"({"x":{}})", "", "array \"x\": it lacks one of \"dtype\", \"shape\", \"data_offsets\""},
      {R"({"x":{"dtype":"F32","shape":[2]}})", data, "array \"x\": it lacks one of"},
      {R"({"x":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", data, "\"dtype\" occurs twice"},
      {R"({"x":{"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]}})", data, "\"shape\" occurs twice"},
      {R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"data_offsets":[0,8]}})", data, "twice"},
      {R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":"a"}})", data,
       "\"more\": a string is not allowed"},
      {R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":[]}})", data, "\"more\": a list is not allowed"},
      {R"({"x":{"dtype":"F32","shape":{"a":1},"data_offsets":[0,8]}})", data, "\"shape\": an object is not allowed"},
      {R"({"x":{"dtype":["F32"],"shape":[2],"data_offsets":[0,8]}})", data, "\"dtype\": a list is not allowed"},
      {R"({"x":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}})", data, "Croton has no dtype \"F8_E4M3\""},
      {R"({"x":{"dtype":"f32","shape":[2],"data_offsets":[0,8]}})", data, "Croton has no dtype \"f32\""},
      {R"({"x":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})", data, "\"shape\": a list is not allowed"},
      {R"({"x":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}})", data, "\"shape\": a string is not allowed"},
      {R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", data, "a negative number is not allowed"},
      {R"({"x":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", data, "a fraction or an exponent"},
      {R"({"x":{"dtype":"F32","shape":[2e0],"data_offsets":[0,8]}})", data, "a fraction or an exponent"},
      {R"({"x":{"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,8]}})", data,
       "a fraction or an exponent"},
      {R"({"x":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8]}})", data, "over 2^63 - 1"},
      {R"({"x":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})", data, "more bytes"},
      {R"({"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", "", "more bytes"},
      {R"({"x":{"dtype":"U8","shape":[)" + axes + R"(],"data_offsets":[0,1]}})", "1", "more than 64 axes"},
      {deep, "", "\"shape\": a list is not allowed"},
      {R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", data,
       "shape (3,) of float32 takes 12 bytes, but its offsets say 8"},
      {R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", data, "has 1 numbers instead of two"},
      {R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8,16]}})", data, "has 3 numbers instead of two"},
      {R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", data, "begin at byte 4, where 0 is the next free"},
      {R"({"x":{"dtype":"F32","shape":[0],"data_offsets":[8,0]}})", data, "begin at byte 8, where 0 is the next free"},
      {R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"y":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}})",
       data, "array \"y\": its elements begin at byte 3, where 4 is the next free one"},
      {R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"y":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
       data, "array \"y\": its elements begin at byte 4, where 2 is the next free one"},
      {R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"y":{"dtype":"U8","shape":[0],"data_offsets":[4,2]}})",
       data, "array \"y\": its elements end at byte 2, before they begin"},
      {"{" + x + "}", "1234567", "array \"x\": its elements end at byte 8, but 7 follow the header"},
      {"{" + x + "}", data + "9", "9 bytes follow the header, but the arrays take 8"},
      {R"({"x":{"dtype":"F32","shape":[4611686018427387903],"data_offsets":[0,18446744073709551612]}})", data,
       "its elements end at byte 18446744073709551612, but 8 follow"},
      {R"({"\u001b[31m)" + std::string(1000, 'n') + R"(":1})", "", "array \"\\u001b[31mnnn"}};
  for (const Case& one : cases) {
    INFO(one.header.substr(0, 200));
    const std::string said = message(safetensors(one.header, one.data));
    CHECK_THAT(said, contains(one.expected));
    CHECK(said.size() < 600);
  }
  CHECK(cases.size() == 60);

  CHECK_THAT(message("1234567"), contains("too short for the length of a header"));
  CHECK_THAT(message(bytes(std::uint64_t{100'000'001}) + "{}"),
             contains("header of 100000001 bytes is longer than 100000000"));
  CHECK_THAT(message(bytes(std::numeric_limits<std::uint64_t>::max()) + "{}"), contains("is longer than 100000000"));
  CHECK_THAT(message(bytes(std::uint64_t{3}) + "{}"), contains("header of 3 bytes is longer than the file"));
  const std::string good = safetensors("{" + x + "}", data);
  for (std::size_t size = 0; size < good.size(); ++size) message(good.substr(0, size));
  CHECK_THAT(message_of([&] { load_safetensors(folder / "none"); }), contains("there is no such file"));
  CHECK_THAT(message_of([&] { load_safetensors(folder.path()); }), contains("is not a regular file"));
}

TEST_CASE("safetensors: a failed save leaves the file unchanged", "[archive]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "a.safetensors";
  const Array one(1.f);
  save_safetensors(file, {{"x", one}});
  const std::string before = get_file(file);
  CHECK_THROWS_WITH(save_safetensors(file, {{"z", one.astype(DType::complex128)}}),
                    contains("array \"z\": a safetensors file cannot hold complex128"));
  CHECK_THROWS_AS(save_safetensors(file, {{"z", one.astype(DType::complex128)}}), croton::TypeError);
  CHECK_THROWS_AS(save_safetensors(file, {{"x", one}, {"x", one}}), croton::ValueError);
  CHECK_THROWS_WITH(save_safetensors(file, {{"x", one}, {"x", one}}), contains("are called \"x\""));
  CHECK_THROWS_AS(save_safetensors(file, {{"__metadata__", one}}), croton::ValueError);
  CHECK_THROWS_WITH(save_safetensors(file, {{"\xFF", one}}),
                    contains("names of arrays of a safetensors file must be UTF-8"));
  CHECK_THROWS_WITH(save_safetensors(file, {}, {{"a", "\xC3"}}),
                    contains("metadata of a safetensors file must be UTF-8"));
  CHECK_THROWS_AS(save_safetensors(file, {}, {{"\x80", ""}}), croton::ValueError);
  CHECK_THROWS_AS(save_safetensors(file, {{"x", one.reshape(Sizes(65, 1))}}), croton::ShapeError);
  CHECK(get_file(file) == before);
  save_safetensors(file, {{"x", one.reshape(Sizes(64, 1))}});
  CHECK(load_safetensors(file).arrays[0].second.rank() == 64);
  CHECK_THROWS_AS(save_safetensors(folder.path(), {}), croton::FileError);
  CHECK_THROWS_AS(save_safetensors(folder / "none/a", {}), croton::FileError);
}

TEST_CASE("safetensors: damaged files load or are refused", "[archive]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "a.safetensors";
  save_safetensors(file, {{"weight", Array::arange(6, DType::float32).reshape({2, 3})}, {"flag", Array(true)}},
                   {{"k", "v"}});
  const int refused = count_refused(
      get_file(file),
      [&](const std::string& content) {
        put_file(file, content);
        const std::uint64_t before = croton::base::memory_counters().allocations;
        try {
          return load_safetensors(file).arrays;
        } catch (const croton::FileError&) {
          REQUIRE(croton::base::memory_counters().allocations == before);
          throw;
        }
      },
      1);
  CHECK(refused > 2'000);
  CHECK(refused < 4'000);
}

TEST_CASE("safetensors: any call may fail", "[archive]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "a.safetensors";
  check_faults_of_saving(
      file, [&] { save_safetensors(file, {{"x", Array(1.f)}}); },
      [&] { save_safetensors(file, {{"y", Array::arange(100, DType::float64)}}); });
  check_faults_of_loading([&] { load_safetensors(file); });
}

#ifdef CROTON_WITH_LIBZIP

namespace {

std::uint32_t crc32(const std::string& data) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : data) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

/// A member of a zip archive, whose header may be wrong.
struct Member {
  std::string name;
  std::string stored;  // its bytes in the file
  std::uint16_t method = 0;
  std::uint32_t size = 0;
  std::uint32_t crc = 0;
  std::uint16_t flags = 0;
};

Member plain(const std::string& name, const std::string& content) {
  return {name, content, 0, static_cast<std::uint32_t>(content.size()), crc32(content), 0};
}

/// The data in deflate format, in one block without compression.
Member deflated(const std::string& name, const std::string& content) {
  const auto size = static_cast<std::uint16_t>(content.size());
  Member member = plain(name, content);
  member.stored = "\1" + bytes(size) + bytes(static_cast<std::uint16_t>(~size)) + content;
  member.method = 8;
  return member;
}

std::string zip(const std::vector<Member>& members) {
  std::string files, directory;
  for (const Member& m : members) {
    const std::string common = bytes(std::uint16_t{20}) + bytes(m.flags) + bytes(m.method) +
                               bytes(std::uint32_t{0x210000}) + bytes(m.crc) +
                               bytes(static_cast<std::uint32_t>(m.stored.size())) + bytes(m.size) +
                               bytes(static_cast<std::uint16_t>(m.name.size())) + bytes(std::uint16_t{0});
    directory += "PK\1\2" + bytes(std::uint16_t{20}) + common + std::string(10, '\0') +
                 bytes(static_cast<std::uint32_t>(files.size())) + m.name;
    files += "PK\3\4" + common + m.name + m.stored;
  }
  const auto count = bytes(static_cast<std::uint16_t>(members.size()));
  return files + directory + "PK\5\6" + std::string(4, '\0') + count + count +
         bytes(static_cast<std::uint32_t>(directory.size())) + bytes(static_cast<std::uint32_t>(files.size())) +
         std::string(2, '\0');
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& data) {
  const std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  return "\x93NUMPY" + std::string("\1\0", 2) + bytes(static_cast<std::uint16_t>(header.size())) + header + data;
}

}  // namespace

TEST_CASE("npz: saved arrays load again", "[archive]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "a.npz";
  NamedArrays arrays = all_kinds(DType::bfloat16);
  arrays.emplace_back("größe", Array(1));
  arrays.emplace_back("..", Array(2));
  arrays.emplace_back("large", Array::normal(DType::float64, {50'000}, 1));  // more than one read
  save_npz(file, arrays);
  check_same(load_npz(file), arrays);
  const std::string content = get_file(file);
  save_npz(file, arrays);
  CHECK(get_file(file) == content);
  save_npz(file, {});
  CHECK(load_npz(file).empty());
}

TEST_CASE("npz: stored and deflated members", "[archive]") {
  const TemporaryFolder folder;
  const std::string content = npy("<f4", "(2,)", bytes(1.f) + bytes(2.f));
  put_file(folder / "a.npz", zip({plain("a.npy", content), deflated("b.npy", content)}));
  check_same(load_npz(folder / "a.npz"), {{"a", Array{1.f, 2.f}}, {"b", Array{1.f, 2.f}}});
}

TEST_CASE("npz: faults are named before memory is requested", "[archive]") {
  const TemporaryFolder folder;
  std::uint64_t asked = 0;
  const auto message = [&](const std::string& content) {
    put_file(folder / "w.npz", content);
    const std::uint64_t before = croton::base::memory_counters().allocations;
    const std::string said = message_of([&] { load_npz(folder / "w.npz"); });
    asked = croton::base::memory_counters().allocations - before;
    CHECK_THAT(said, contains("w.npz is not a .npz archive that can be read: "));
    return said;
  };
  const std::string good = npy("|u1", "(4,)", "1234");
  const auto changed = [&](const std::function<void(Member&)>& change, bool deflate = false) {
    Member member = deflate ? deflated("x.npy", good) : plain("x.npy", good);
    change(member);
    return message(zip({member}));
  };
  CHECK_THAT(message("hello"), contains("Not a zip archive"));
  CHECK_THAT(message(""), contains("it is empty"));
  CHECK_THAT(message(zip({plain("x.txt", good)})), contains("its member \"x.txt\" is no .npy file"));
  CHECK_THAT(message(zip({plain("x", good)})), contains("its member \"x\" is no .npy file"));
  CHECK_THAT(message(zip({plain("../x.npy", good)})),
             contains("array \"../x\": its name is a path that leads elsewhere"));
  CHECK_THAT(message(zip({plain("a\\x.npy", good)})), contains("its name is a path that leads elsewhere"));
  CHECK_THAT(message(zip({plain(".npy", good)})), contains("array \"\": its name is empty"));
  CHECK_THAT(message(zip({plain("a\nb.npy", good)})), contains("array \"a\\nb\": its name has a control character"));
  CHECK_THAT(message(zip({plain("x.npy", good), plain("x.npy", good)})), contains("already exists"));
  CHECK_THAT(changed([](Member& m) { m.flags = 1; }), contains("array \"x\": it is encrypted"));
  CHECK_THAT(changed([](Member& m) { m.method = 12; }), contains("method 12; 0 (stored) and 8 (deflate) are read"));
  CHECK_THAT(changed([](Member& m) { m.size += 1; }), contains("it is not compressed, but its sizes differ"));
  CHECK(asked == 0);
  CHECK_THAT(changed([](Member& m) { m.size = 4'000'000'000; }, true),
             contains("compressed bytes cannot hold 4000000000"));
  CHECK(asked == 0);
  CHECK_THAT(changed([](Member& m) { m.size += 1; }, true),
             contains("it is shorter than the size that the archive states"));
  CHECK(asked == 0);
  CHECK_THAT(changed([](Member& m) { m.size -= 1; }, true), contains("takes 4 bytes, but 3 follow"));
  CHECK_THAT(changed([](Member& m) { m.size = 5; }, true), contains("does not start as a .npy file"));
  CHECK_THAT(message(zip({plain("x.npy", npy("|u1", "(1000000000,)", "1234"))})),
             contains("takes 1000000000 bytes, but 4 follow the header"));
  CHECK_THAT(message(zip({plain("x.npy", npy("|O", "(1,)", "1234"))})),
             contains("array \"x\": elements of type '|O' are not read"));
  CHECK_THAT(message(zip({plain("x.npy", "")})), contains("array \"x\": it does not start as a .npy file"));
  CHECK(asked == 0);
  CHECK_THAT(changed([](Member& m) { m.crc ^= 1; }), contains("array \"x\": CRC error"));
  CHECK_THAT(changed([](Member& m) { m.crc ^= 1; }, true), contains("CRC error"));
  CHECK_THAT(changed([](Member& m) { m.stored[0] = 7; }, true), contains("array \"x\": "));
  // The header and its size agree, but the compressed data is shorter, or longer.
  CHECK_THAT(changed([&](Member& m) { m = deflated("x.npy", npy("|u1", "(9,)", "1234")), m.size += 5; }),
             contains("array \"x\": it is shorter than the size"));
  CHECK_THAT(changed([&](Member& m) { m = deflated("x.npy", npy("|u1", "(3,)", "1234")), m.size -= 1; }),
             contains("array \"x\": "));
  // Two members with the same bytes.
  std::string twice = zip({plain("x.npy", good), plain("y.npy", good)});
  const std::size_t second = twice.rfind("PK\1\2");
  twice.replace(second + 42, 4, 4, '\0');
  CHECK_THAT(message(twice), contains("inconsistent"));
  CHECK_THAT(message_of([&] { load_npz(folder / "none"); }), contains("there is no such file"));
  CHECK_THAT(message_of([&] { load_npz(folder.path()); }), contains("is not a regular file"));
  const std::string whole = zip({plain("x.npy", good), deflated("y.npy", good)});
  for (std::size_t size = 0; size < whole.size(); ++size) message(whole.substr(0, size));
}

TEST_CASE("npz: a failed save leaves the file unchanged", "[archive]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "a.npz";
  const Array one(1.f);
  save_npz(file, {{"x", one}});
  const std::string before = get_file(file);
  CHECK_THROWS_AS(save_npz(file, {{"b", one.astype(DType::bfloat16)}}), croton::TypeError);
  CHECK_THROWS_WITH(save_npz(file, {{"b", one.astype(DType::bfloat16)}}),
                    contains("array \"b\": a .npz archive cannot hold bfloat16"));
  CHECK_THROWS_AS(save_npz(file, {{"x", one}, {"x", one}}), croton::ValueError);
  CHECK_THROWS_WITH(save_npz(file, {{"x", one}, {"x", one}}), contains("are called \"x\""));
  for (const std::string name : {"", "/a", "../a", "a/../b", "a\\b", "a\tb", "\xFF"})
    CHECK_THROWS_AS(save_npz(file, {{name, one}}), croton::ValueError);
  CHECK_THROWS_AS(save_npz(file, {{std::string(70'000, 'n'), one}}), croton::ValueError);
  CHECK_THROWS_AS(save_npz(file, {{"x", one.reshape(Sizes(65, 1))}}), croton::ShapeError);
  CHECK(get_file(file) == before);
  CHECK_THROWS_AS(save_npz(folder.path(), {}), croton::FileError);
  CHECK_THROWS_AS(save_npz(folder / "none/a", {}), croton::FileError);
}

TEST_CASE("npz: damaged files load or are refused", "[archive]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "a.npz";
  const std::string content = npy("<f4", "(2,)", bytes(1.f) + bytes(2.f));
  const std::string good = zip({plain("a.npy", content), deflated("b.npy", content)});
  const int refused = count_refused(
      good,
      [&](const std::string& damaged) {
        put_file(file, damaged);
        return load_npz(file);
      },
      1032);
  CHECK(refused > 2'000);
  CHECK(refused < 4'000);
}

TEST_CASE("npz: any call may fail", "[archive]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "a.npz";
  check_faults_of_saving(
      file, [&] { save_npz(file, {{"x", Array(1.f)}}); },
      [&] { save_npz(file, {{"y", Array::arange(100, DType::float64)}}); });
  check_faults_of_loading([&] { load_npz(file); });
}

#else

TEST_CASE("npz: without libzip that is said", "[archive]") {
  CHECK_THROWS_AS(load_npz("a.npz"), croton::FileError);
  CHECK_THROWS_WITH(load_npz("a.npz"), contains("cannot read a.npz: Croton was built without libzip"));
  CHECK_THROWS_WITH(save_npz("a.npz", {}), contains("cannot write a.npz: Croton was built without libzip"));
}

#endif
