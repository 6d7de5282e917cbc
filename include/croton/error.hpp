// The errors that Croton raises. A mistake of the caller is an `Error` or one of its kinds; a bug of Croton itself is
// an `InternalError`, which asks for a report. A test fails if a user's mistake raises an InternalError.
#pragma once

#include <croton/where.hpp>

#include <stdexcept>
#include <string>

namespace croton {

/// Base of all errors that a caller's mistake or the environment causes. `what()` is the whole message.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A dtype, rank or kind of value that an operation does not accept.
class TypeError : public Error {
 public:
  using Error::Error;
};

/// A value that an operation or a setting does not accept.
class ValueError : public Error {
 public:
  using Error::Error;
};

/// Sizes that do not match.
class ShapeError : public ValueError {
 public:
  using ValueError::ValueError;
};

/// An index outside its axis.
class IndexError : public Error {
 public:
  using Error::Error;
};

/// A gradient with respect to a variable on which the cost does not depend.
class DisconnectedInputError : public ValueError {
 public:
  using ValueError::ValueError;
};

/// An undefined gradient reached a variable of `wrt`.
class NullTypeGradError : public TypeError {
 public:
  using TypeError::TypeError;
};

/// A function has an input on which nothing depends, or the same input twice.
class UnusedInputError : public ValueError {
 public:
  using ValueError::ValueError;
};

/// A function depends on a variable that is neither an input, nor given, nor shared.
class MissingInputError : public ValueError {
 public:
  using ValueError::ValueError;
};

/// A flag, file or environment variable with an unknown name or an invalid value.
class ConfigError : public Error {
 public:
  using Error::Error;
};

/// A file that cannot be read or written, or violates its format.
class FileError : public Error {
 public:
  using Error::Error;
};

/// A failed allocation of memory.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// A device, compiler or library that is missing or fails.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// A condition of the program (an assertion in the graph) that is false.
class AssertionError : public Error {
 public:
  using Error::Error;
};

/// A feature that Croton does not have yet.
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
