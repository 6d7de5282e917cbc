#include "runtime/cuda/inspect/cubin.hpp"

#include <elf.h>

#include <croton/error.hpp>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

namespace croton::runtime::cuda {
namespace {

// Attributes of .nv.info: a byte of format, a byte of meaning, then two bytes of value or of the length of what
// follows.
constexpr unsigned has_value_after = 4, frame_size = 0x11, register_count = 0x2f;

class Cubin {
 public:
  explicit Cubin(std::span<const std::byte> bytes) : bytes_(bytes), header_(at<Elf64_Ehdr>(0)) {
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 || header_.e_ident[EI_CLASS] != ELFCLASS64 ||
        header_.e_machine != EM_CUDA)
      refuse();
    if (header_.e_phnum > 0)
      at<Elf64_Phdr>(header_.e_phoff + (header_.e_phnum - std::uint64_t{1}) * sizeof(Elf64_Phdr));
    names_ = content(section(header_.e_shstrndx));
    for (std::size_t i = 0; i < section_count(); ++i) content(section(i));  // all are there
  }

  std::size_t section_count() const { return header_.e_shnum; }
  Elf64_Shdr section(std::size_t i) const {
    if (i >= header_.e_shnum) refuse();
    return at<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr));
  }
  std::string_view name(const Elf64_Shdr& section) const { return text(names_, section.sh_name); }
  std::span<const std::byte> content(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS) return {};
    if (section.sh_offset > bytes_.size() || section.sh_size > bytes_.size() - section.sh_offset) refuse();
    return bytes_.subspan(section.sh_offset, section.sh_size);
  }
  static std::string_view text(std::span<const std::byte> texts, std::size_t offset) {
    if (offset >= texts.size()) refuse();
    const std::string_view all(reinterpret_cast<const char*>(texts.data()), texts.size());
    const std::size_t end = all.find('\0', offset);
    if (end == all.npos) refuse();
    return all.substr(offset, end - offset);
  }
  template <class T>
  static T read(std::span<const std::byte> from, std::size_t offset) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (offset > from.size() || sizeof(T) > from.size() - offset) refuse();
    T value;
    std::memcpy(&value, from.data() + offset, sizeof value);
    return value;
  }

 private:
  [[noreturn]] static void refuse() { throw DeviceError("these bytes are not a cubin of a GPU, or are damaged"); }
  template <class T>
  T at(std::uint64_t offset) const {
    return read<T>(bytes_, offset);
  }

  std::span<const std::byte> bytes_;
  Elf64_Ehdr header_;
  std::span<const std::byte> names_;
};

struct Attribute {
  unsigned meaning;
  std::uint32_t symbol, value;
};

/// The attributes of the module about single functions: a symbol and a number.
std::vector<Attribute> attributes(std::span<const std::byte> info) {
  std::vector<Attribute> found;
  for (std::size_t at = 0; at + 4 <= info.size();) {
    const auto format = std::to_integer<unsigned>(info[at]), meaning = std::to_integer<unsigned>(info[at + 1]);
    const std::size_t length = format == has_value_after ? Cubin::read<std::uint16_t>(info, at + 2) : 0;
    if (length >= 8)
      found.push_back({meaning, Cubin::read<std::uint32_t>(info, at + 4), Cubin::read<std::uint32_t>(info, at + 8)});
    at += 4 + length;
  }
  return found;
}

}  // namespace

std::vector<CubinEntry> read_cubin(std::span<const std::byte> bytes) {
  const Cubin cubin(bytes);
  constexpr std::string_view code = ".text.", constants = ".nv.constant";
  std::vector<CubinEntry> entries;
  std::vector<Attribute> known;
  std::span<const std::byte> symbols, symbol_names;
  for (std::size_t i = 0; i < cubin.section_count(); ++i) {
    const Elf64_Shdr section = cubin.section(i);
    const std::string_view name = cubin.name(section);
    if (name.starts_with(code)) entries.push_back({.name = std::string(name.substr(code.size()))});
    if (name == ".nv.info") known = attributes(cubin.content(section));
    if (section.sh_type == SHT_SYMTAB) {
      symbols = cubin.content(section);
      symbol_names = cubin.content(cubin.section(section.sh_link));
    }
  }
  for (CubinEntry& entry : entries) {
    for (const Attribute& attribute : known) {
      const auto symbol = Cubin::read<Elf64_Sym>(symbols, attribute.symbol * sizeof(Elf64_Sym));
      if (Cubin::text(symbol_names, symbol.st_name) != entry.name) continue;
      if (attribute.meaning == register_count) entry.registers = attribute.value;
      if (attribute.meaning == frame_size) entry.frame_bytes = attribute.value;
    }
    for (std::size_t i = 0; i < cubin.section_count(); ++i) {
      const Elf64_Shdr section = cubin.section(i);
      const std::string_view name = cubin.name(section);
      if (name.starts_with(constants) && name.ends_with("." + entry.name)) entry.constant_bytes += section.sh_size;
    }
  }
  return entries;
}

}  // namespace croton::runtime::cuda
