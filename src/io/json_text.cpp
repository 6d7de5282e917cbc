#include "io/json_text.hpp"

#include <nlohmann/json.hpp>

namespace croton::io {

std::string json_text(const std::string& text) {
  using Json = nlohmann::json;
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace croton::io
