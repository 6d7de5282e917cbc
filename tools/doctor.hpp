// `croton doctor`: a report of the libraries and programs that Croton can use on this machine, their places, and how to
// get missing ones. Every part is checked separately, so that an error of one does not hide the others.
#pragma once

namespace croton::tool {

enum class DoctorForm {
  text,
  json,  ///< one JSON object per line, for each part
};

/// Prints the report to the standard output. 0 if nothing is wrong and kernels can be compiled for this machine's
/// processor, else 1; GPU parts may be missing.
int doctor(DoctorForm form);

}  // namespace croton::tool
