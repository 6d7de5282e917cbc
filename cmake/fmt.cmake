# croton_fmt: the target to link for {fmt}. Header-only, every file compiles the same formatting of numbers again, more than a third of
# its time; libcroton has it once (src/fmt.cpp), and needs no library of {fmt}. The required instantiations depend on the version:
# versions other than those of Debian 12 and Ubuntu 24.04 stay header-only.
find_package(fmt REQUIRED)
add_library(croton_fmt INTERFACE)
if(fmt_VERSION VERSION_GREATER_EQUAL 9.1 AND fmt_VERSION VERSION_LESS 10)
  get_target_property(croton_fmt_include fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(croton_fmt SYSTEM INTERFACE ${croton_fmt_include})
  set(croton_fmt_source ${CMAKE_SOURCE_DIR}/src/fmt.cpp)
else()
  target_link_libraries(croton_fmt INTERFACE fmt::fmt-header-only)
  set(croton_fmt_source)
endif()
