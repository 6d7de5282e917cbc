// The two notations in which flags come from outside: the list of CROTON_FLAGS and the lines of a crotonrc file. Here
// they are only taken apart; whether a flag exists and takes the value is asked later.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace croton::base {

/// One "name = value", and where it was read: "CROTON_FLAGS", "/home/ada/.crotonrc:3".
struct FlagAssignment {
  std::string name;
  std::string value;
  std::string origin;
};

/// "device=cuda0,print='graph,kernels'": items between commas, values plain or quoted. ConfigError for an item without
/// '=' and a quote without end.
std::vector<FlagAssignment> parse_flag_list(std::string_view text, const std::string& origin);

/// Lines "name = value", comments after '#', sections as in Theano's file: below [global] names stand as they are,
/// below [section] they become section.name. ConfigError, with file and line, for other lines.
std::vector<FlagAssignment> parse_flag_file(std::string_view text, const std::string& file);

/// Where the user's file may be, first choice first; none in secure execution.
std::vector<std::filesystem::path> flag_file_places();

/// The assignments of the first file that is there. One that must not be trusted, is longer than 64 KiB or cannot be
/// read is ignored and leaves a warning.
std::vector<FlagAssignment> read_flag_file(const std::vector<std::filesystem::path>& places,
                                           std::vector<std::string>& warnings);

}  // namespace croton::base
