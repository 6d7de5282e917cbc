# In CMake a stage is a top folder of src/, also one that is no stage of the compiler, such as base/ or nn/. It may include its own headers
# and those of the folders that it names after USES, and no others: it is compiled with its own include folder, which has links only to
# these, so a forbidden include does not compile.
function(croton_stage name)
  cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
  include(${CMAKE_SOURCE_DIR}/src/${name}/sources.cmake)  # sets SOURCES
  set(links ${CMAKE_BINARY_DIR}/stages/${name})
  file(MAKE_DIRECTORY ${links})
  foreach(used IN LISTS ARG_USES ITEMS ${name})
    if(used STREQUAL "codegen_templates")
      set(folder ${CMAKE_SOURCE_DIR}/${used})  # of it only common/sizes.hpp
    else()
      set(folder ${CMAKE_SOURCE_DIR}/src/${used})
    endif()
    file(CREATE_LINK ${folder} ${links}/${used} SYMBOLIC)
  endforeach()
  list(TRANSFORM SOURCES PREPEND ${CMAKE_SOURCE_DIR}/src/${name}/)
  add_library(croton_${name} OBJECT ${SOURCES})
  target_include_directories(croton_${name} PRIVATE ${links} ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(croton_${name} PRIVATE croton_settings croton_fmt)
  target_sources(croton PRIVATE $<TARGET_OBJECTS:croton_${name}>)
endfunction()
