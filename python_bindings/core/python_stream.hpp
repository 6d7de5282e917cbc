// A C++ stream that writes to a Python file.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <utility>

#include "core/gil.hpp"
#include "core/object_ref.hpp"

namespace croton::python {

/// Writes whole lines, with the GIL. Exceptions of `write` go to sys.unraisablehook, since a stream cannot raise them.
class PythonLines : public std::streambuf {
 public:
  explicit PythonLines(nb::object file) : file_(make_ref(std::move(file))) {}
  ~PythonLines() override { write(); }

 private:
  int_type overflow(int_type c) override {
    if (!traits_type::eq_int_type(c, traits_type::eof())) {
      line_ += traits_type::to_char_type(c);
      if (line_.back() == '\n') write();
    }
    return traits_type::not_eof(c);
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    line_.append(text, static_cast<std::size_t>(count));
    if (line_.find('\n') != std::string::npos) write();
    return count;
  }
  int sync() override {
    write();
    return 0;
  }

  void write() {
    if (line_.empty() || !nb::is_alive()) return;
    const std::string text = std::exchange(line_, {});
    const AcquireGil gil;
    try {
      call_python(file_->attr("write"), text);
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("croton writes to a file");
    }
  }

  ObjectRef file_;
  std::string line_;
};

class PythonStream {
 public:
  explicit PythonStream(nb::object file) : lines_(std::move(file)), stream_(&lines_) {}
  std::ostream& stream() { return stream_; }

 private:
  PythonLines lines_;
  std::ostream stream_;
};

}  // namespace croton::python
