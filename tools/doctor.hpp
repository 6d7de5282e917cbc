// `croton doctor`: what of the things that Croton finds at run time is there on this machine, where, and how to get
// what is missing. Every part is looked at by itself, so that a fault of one does not hide the others.
#pragma once

namespace croton::tool {

enum class DoctorForm {
  text,
  json,  ///< an object of JSON a line, one for each part
};

/// Prints the report to the standard output. 0 if nothing is wrong and kernels can be compiled for this machine's
/// processor, else 1; GPU parts may be missing.
int doctor(DoctorForm form);

}  // namespace croton::tool
