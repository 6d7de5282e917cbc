#include "codegen/schedule_overrides.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "codegen_templates/common/sizes.hpp"

namespace croton::codegen {
namespace {

using kernel::Family;

constexpr Family families[] = {Family::pointwise, Family::row, Family::column, Family::split, Family::contract};

bool is_family(std::string_view text) {
  return std::ranges::find(families, text, kernel::name_of) != std::end(families);
}

/// Whether a text can be the beginning of a kernel's digest, or of its name: a family, _ and the digest.
bool is_kernel_prefix(std::string_view text) {
  const std::size_t mark = text.find('_');
  if (mark != text.npos) {
    const std::string_view family = text.substr(0, mark);
    const bool known = family == "group" || family == "loop" || family == "matrix" || is_family(family);
    text.remove_prefix(mark + 1);
    text = text.substr(0, text.find('_'));        // a text's name, with the hash of the text
    if (!known && text.size() < 4) return false;  // of a routine
  } else if (text.size() < 4) {
    return false;
  }
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == text.npos;
}

/// Whether the prefix of a key, which is no family, selects the kernel of that name.
bool selects(std::string_view text, std::string_view kernel_name) {
  if (const std::size_t mark = text.find('_'); mark != text.npos) text = text.substr(0, text.find('_', mark + 1));
  return kernel_name.starts_with(text) || kernel_name.substr(kernel_name.find('_') + 1).starts_with(text);
}

constexpr std::string_view keys[] = {"grain", "threads", "blocks", "meeting", "vector",
                                     "items", "side",    "part",   "kernels", "index"};

/// One item of the text: "row.threads=128".
struct Item {
  std::string_view text;
  std::string_view prefix;  // may be empty
  std::string_view key;
  int number = 0;
};

[[noreturn]] void refuse(std::string_view item, std::string_view why) {
  throw ValueError(
      fmt::format("schedule={}: {}; write grain=N, threads=N, blocks=N, meeting=N, vector=N, items=N, side=N, "
                  "part=N, kernels=N or index=64, "
                  "with a family in front where it is for one only (pointwise, row, column, split, contract), such as "
                  "row.threads=128, or the beginning of a kernel's name or digest, such as row_1a2b3c.threads=128",
                  item, why));
}

Item read_item(std::string_view text) {
  const std::size_t equals = text.find('='), dot = text.find('.');
  if (equals == std::string_view::npos) refuse(text, "there is no '='");
  Item item{.text = text, .prefix = {}, .key = text.substr(0, equals)};
  if (dot < equals) {
    item.prefix = item.key.substr(0, dot);
    item.key.remove_prefix(dot + 1);
    if (!is_family(item.prefix) && !is_kernel_prefix(item.prefix))
      refuse(text, fmt::format("there is no family '{}', and no kernel can have that name", item.prefix));
  }
  if (std::ranges::find(keys, item.key) == std::end(keys)) refuse(text, fmt::format("there is no '{}'", item.key));
  const std::string_view digits = text.substr(equals + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), item.number);
  if (error != std::errc() || end != digits.data() + digits.size() || item.number < 1)
    refuse(text, "the number must be 1 or more");
  return item;
}

/// Sets the number of that key; the key and the number are checked.
void set(Overrides& overrides, const Item& item) {
  if (item.key == "grain") {
    overrides.grain = item.number;
  } else if (item.key == "meeting") {
    overrides.meeting = item.number;
  } else if (item.key == "blocks") {
    overrides.blocks = item.number;
  } else if (item.key == "threads") {
    if (item.number % ct::lanes != 0 || item.number > ct::most_threads)
      refuse(item.text, "threads come in whole warps: 32, 64, ... 1024");
    overrides.threads = item.number;
  } else if (item.key == "vector") {
    if (item.number > 16 || !std::has_single_bit(static_cast<unsigned>(item.number)))
      refuse(item.text, "packs have 1, 2, 4, 8 or 16 elements");
    overrides.vector = item.number;
  } else if (item.key == "items") {
    if (item.number > 16) refuse(item.text, "a thread has at most 16 packs");
    overrides.items = item.number;
  } else if (item.key == "side") {
    if (item.number < 32 || item.number > 128 || !std::has_single_bit(static_cast<unsigned>(item.number)))
      refuse(item.text, "tiles have sides of 32, 64 or 128 points");
    overrides.side = item.number;
  } else if (item.key == "part") {
    if (item.number < ct::block_elements || !std::has_single_bit(static_cast<unsigned>(item.number)))
      refuse(item.text, "parts of rows have 1024, 2048, 4096, ... elements");
    overrides.part = item.number;
  } else if (item.key == "kernels") {
    if (item.number > 2) refuse(item.text, "a launch has one kernel of rows, or that and one of columns");
    overrides.kernels = item.number;
  } else {
    if (item.number != 64) refuse(item.text, "an index has 64 bits, or is as narrow as its operands allow");
    overrides.index = IndexWidth::wide;
  }
}

/// Calls `visit` with each item.
void visit_items(std::string_view text, const auto& visit) {
  bool more = !text.empty();
  while (more) {
    const std::string_view item = text.substr(0, text.find('+'));
    more = item.size() < text.size();
    text.remove_prefix(item.size() + (more ? 1 : 0));
    visit(read_item(item));
  }
}

}  // namespace

Overrides read_overrides(std::string_view text, Family family, const NameOf& kernel_name) {
  Overrides overrides;
  std::optional<std::string> name;
  const auto is_for_kernel = [&](std::string_view prefix) {
    if (prefix.empty() || is_family(prefix)) return prefix.empty() || prefix == kernel::name_of(family);
    if (!name) name = kernel_name();
    return selects(prefix, *name);
  };
  visit_items(text, [&](const Item& item) {
    Overrides ignored;  // of other kernels; the item is checked all the same
    set(is_for_kernel(item.prefix) ? overrides : ignored, item);
  });
  return overrides;
}

std::string overrides_for(std::string_view kernel, std::string_view overrides) {
  if (overrides.empty()) refuse("", "there is no override");
  std::string result;
  visit_items(overrides, [&](const Item& item) {
    if (!kernel.empty() && !item.prefix.empty())
      refuse(item.text, fmt::format("'{}' is chosen already, so there is no other prefix", kernel));
    result += fmt::format("{}{}{}{}", result.empty() ? "" : "+", kernel, kernel.empty() ? "" : ".", item.text);
  });
  read_overrides(result, Family::pointwise, [] { return std::string(); });  // raises for a wrong kernel or number
  return result;
}

std::string joined_overrides(const std::string& overrides, const std::string& more) {
  return overrides + (overrides.empty() || more.empty() ? "" : "+") + more;
}

bool selects_one(std::string_view kernel, const std::vector<std::string>& names) {
  return kernel.empty() || is_family(kernel) ||
         std::ranges::any_of(names, [&](const std::string& name) { return selects(kernel, name); });
}

}  // namespace croton::codegen
