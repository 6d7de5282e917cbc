// Parsers of the two external notations of flags: the list of CROTON_FLAGS and the lines of a crotonrc file. They only
// split the text; names and values of flags are checked later.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace croton::base {

/// One "name = value", and the place where it was read: "CROTON_FLAGS", "/home/ada/.crotonrc:3".
struct FlagAssignment {
  std::string name;
  std::string value;
  std::string origin;
};

/// "device=cuda0,print='graph,kernels'": items between commas, values plain or quoted. ConfigError for an item without
/// '=' or a quote without end.
std::vector<FlagAssignment> parse_flag_list(std::string_view text, const std::string& origin);

/// Lines "name = value", comments after '#', sections as in Theano's file: names below [global] are unchanged, names
/// below [section] become section.name. ConfigError, with file and line, for other lines.
std::vector<FlagAssignment> parse_flag_file(std::string_view text, const std::string& file);

/// The paths where the user's file may be, in order of preference; none in secure execution.
std::vector<std::filesystem::path> flag_file_places();

/// The assignments of the first file that exists. A file that must not be trusted, is longer than 64 KiB or cannot be
/// read is ignored with a warning.
std::vector<FlagAssignment> read_flag_file(const std::vector<std::filesystem::path>& places,
                                           std::vector<std::string>& warnings);

}  // namespace croton::base
