# Libraries for the archives of src/io: nlohmann-json for the headers of safetensors (header-only, and not in Croton's headers), and
# libzip for .npz; without it load_npz and save_npz raise an error.
option(CROTON_WITH_LIBZIP "Read and write .npz archives, if libzip is found" ON)

find_path(CROTON_NLOHMANN_INCLUDE nlohmann/json.hpp DOC "The folder that holds nlohmann/json.hpp")
if(NOT CROTON_NLOHMANN_INCLUDE)
  message(FATAL_ERROR "nlohmann/json.hpp is missing (Debian and Ubuntu: nlohmann-json3-dev)")
endif()
target_include_directories(croton_io SYSTEM PRIVATE ${CROTON_NLOHMANN_INCLUDE})

if(CROTON_WITH_LIBZIP)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(CROTON_LIBZIP QUIET IMPORTED_TARGET libzip>=1.4)
  endif()
  if(TARGET PkgConfig::CROTON_LIBZIP)
    set_source_files_properties(src/io/npz.cpp PROPERTIES COMPILE_DEFINITIONS CROTON_WITH_LIBZIP)
    target_link_libraries(croton_io PRIVATE PkgConfig::CROTON_LIBZIP)
    target_link_libraries(croton PRIVATE PkgConfig::CROTON_LIBZIP)
  else()
    message(STATUS "libzip is missing (Debian and Ubuntu: libzip-dev): no .npz archives")
  endif()
endif()
