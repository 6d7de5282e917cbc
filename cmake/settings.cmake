# Settings of the whole build, included once at the top, before any target: C++20, an optimised build by default, ccache if it is
# installed, programs in bin/ and libraries in lib/ of the build folder, and warnings.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CROTON_CCACHE ccache)
  if(CROTON_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CROTON_CCACHE})
  endif()
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

# Link it PRIVATE to Croton's own targets. The compiler never contracts products: the same bits on every machine.
add_library(croton_settings INTERFACE)
target_compile_options(croton_settings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms of GCC 12 about std::string, std::variant and std::vector (GCC bugs 105651, 105562, 105329).
  target_compile_options(croton_settings INTERFACE -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds)
endif()
option(CROTON_WARNINGS_AS_ERRORS "Stop at the first warning" OFF)
if(CROTON_WARNINGS_AS_ERRORS)
  target_compile_options(croton_settings INTERFACE -Werror)
endif()
