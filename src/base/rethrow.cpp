#include "base/rethrow.hpp"

#include <croton/error.hpp>

#include <string>
#include <typeinfo>

namespace croton::base {
namespace {

template <class Kind>
void rethrow_as(const Error& error, const std::string& text) {
  if (typeid(error) == typeid(Kind)) throw Kind(text);
}

template <class... Kinds>
void rethrow_as_one_of(const Error& error, const std::string& text) {
  (rethrow_as<Kinds>(error, text), ...);
}

}  // namespace

void rethrow_with(std::string_view prefix, std::string_view suffix) {
  try {
    throw;
  } catch (const Error& error) {
    const std::string text = std::string(prefix) + error.what() + std::string(suffix);
    rethrow_as_one_of<Error, TypeError, ValueError, ShapeError, IndexError, DisconnectedInputError, NullTypeGradError,
                      ConfigError, FileError, OutOfMemory, DeviceError, AssertionError, NotImplementedError>(error,
                                                                                                             text);
    throw;
  }
}

}  // namespace croton::base
