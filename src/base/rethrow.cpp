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

void rethrow_with(std::string_view before, std::string_view behind) {
  try {
    throw;
  } catch (const Error& error) {
    const std::string text = std::string(before) + error.what() + std::string(behind);
    rethrow_as_one_of<Error, TypeError, ValueError, ShapeError, IndexError, DisconnectedInputError, NullTypeGradError,
                      ConfigError, FileError, OutOfMemory, DeviceError, AssertionError, NotImplementedError>(error,
                                                                                                             text);
    throw;
  }
}

}  // namespace croton::base
