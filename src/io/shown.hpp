// Names from files, in messages.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace croton::io {

/// The name as a message shows it: shortened, and without what could make a terminal do things.
inline std::string shown(const std::string& name) {
  constexpr std::size_t most = 100;
  using Json = nlohmann::json;
  return Json(name.substr(0, most)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace croton::io
