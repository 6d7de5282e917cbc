# Makes one C++ file with the texts of all files of a folder (see src/codegen/embedded.hpp).
#
# Included, it defines croton_embed(OUTPUT FOLDER): OUTPUT is written when the build starts and again whenever a file of FOLDER is
# changed, added or removed. It is also the script that this runs: cmake -DFOLDER=... -DOUTPUT=... -P embed.cmake

function(croton_embed OUTPUT FOLDER)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${FOLDER}/*)
  string(MD5 names "${files}")  # in the command, so that it also runs where a file only went away
  add_custom_command(
    OUTPUT ${OUTPUT}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${FOLDER} -DOUTPUT=${OUTPUT} -DNAMES=${names}
      -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    DEPENDS ${files} ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    COMMENT "Embedding the templates of ${FOLDER}"
    VERBATIM)
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  return()
endif()

# Compilers limit the length of one literal, so a text is written in pieces, cut after a line.
set(piece_length 15000)
set(delimiter "croton_text")

function(append_literals OUT text)
  set(result "")
  string(LENGTH "${text}" left)
  while(left GREATER piece_length)
    string(SUBSTRING "${text}" 0 ${piece_length} piece)
    string(FIND "${piece}" "\n" cut REVERSE)
    if(cut EQUAL -1)
      message(FATAL_ERROR "a line of ${file} is longer than ${piece_length} bytes")
    endif()
    math(EXPR cut "${cut} + 1")
    string(SUBSTRING "${text}" 0 ${cut} piece)
    string(SUBSTRING "${text}" ${cut} -1 text)
    string(LENGTH "${text}" left)
    string(APPEND result "R\"${delimiter}(${piece})${delimiter}\"\n")
  endwhile()
  string(APPEND result "R\"${delimiter}(${text})${delimiter}\"sv")
  set(${OUT} "${result}" PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE files RELATIVE ${FOLDER} ${FOLDER}/*)
list(SORT files)
set(source "// Made by cmake/embed.cmake from the files of codegen_templates/: do not edit.
#include \"codegen/embedded.hpp\"

namespace croton::codegen {
namespace {

using namespace std::string_view_literals;

constexpr EmbeddedFile files[] = {
")
foreach(file IN LISTS files)
  file(READ ${FOLDER}/${file} text)
  string(FIND "${text}" ")${delimiter}\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${file} holds the mark that ends its own literal: )${delimiter}\"")
  endif()
  append_literals(literals "${text}")
  string(APPEND source "    {\"${file}\"sv,\n${literals}},\n")
endforeach()
string(APPEND source "};

}  // namespace

std::span<const EmbeddedFile> embedded_files() { return files; }

}  // namespace croton::codegen
")
file(WRITE ${OUTPUT} "${source}")
