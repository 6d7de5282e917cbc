// Errors that Croton raises. A mistake of the caller is an `Error` or one of its kinds; a bug of Croton itself is an
// `InternalError`, which asks for a report. The two never mix: a test fails where a user's mistake ends in an
// InternalError.
#pragma once

#include <croton/where.hpp>

#include <stdexcept>
#include <string>

namespace croton {

/// Base of every error caused by how Croton is called. `what()` is the whole message.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A dtype, rank or kind of value that an operation does not take.
class TypeError : public Error {
 public:
  using Error::Error;
};

/// A value outside what an operation or a setting takes.
class ValueError : public Error {
 public:
  using Error::Error;
};

/// Sizes that do not fit together.
class ShapeError : public ValueError {
 public:
  using ValueError::ValueError;
};

/// An index outside its axis.
class IndexError : public Error {
 public:
  using Error::Error;
};

/// A gradient asked for a variable that the cost does not depend on.
class DisconnectedInputError : public ValueError {
 public:
  using ValueError::ValueError;
};

/// A gradient that is not defined reached a variable of `wrt`.
class NullTypeGradError : public TypeError {
 public:
  using TypeError::TypeError;
};

/// A function was asked to take an input that nothing depends on, or the same one twice.
class UnusedInputError : public ValueError {
 public:
  using ValueError::ValueError;
};

/// A function needs a variable that is neither an input, nor given, nor shared.
class MissingInputError : public ValueError {
 public:
  using ValueError::ValueError;
};

/// A flag, file or environment variable with a name or value that is not understood.
class ConfigError : public Error {
 public:
  using Error::Error;
};

/// A file that cannot be read, written, or does not hold what its format asks for.
class FileError : public Error {
 public:
  using Error::Error;
};

/// Memory that could not be had.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// A device, compiler or library that is missing or refuses the work.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// A condition of the program (an assertion in the graph) that did not hold.
class AssertionError : public Error {
 public:
  using Error::Error;
};

/// Something asked for that Croton does not do yet.
class NotImplementedError : public Error {
 public:
  using Error::Error;
};

/// A bug in Croton: please report it with the text of `what()`.
class InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& message, Where where = std::source_location::current());
};

}  // namespace croton
