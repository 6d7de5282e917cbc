# Embeds data/digits.csv in the library, so that no file is needed at run time.
#
# Included, it defines croton_embed_data(OUTPUT FILE): OUTPUT is a C++ file that defines croton::io::digits_csv() (see
# src/io/digits_csv.hpp) and is rewritten when FILE changes. It is also the script that this runs:
# cmake -DFILE=... -DOUTPUT=... -P embed_data.cmake

function(croton_embed_data OUTPUT FILE)
  add_custom_command(
    OUTPUT ${OUTPUT}
    COMMAND ${CMAKE_COMMAND} -DFILE=${FILE} -DOUTPUT=${OUTPUT} -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    DEPENDS ${FILE} ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    COMMENT "Embedding ${FILE}"
    VERBATIM)
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  return()
endif()

# Compilers limit the length of one literal; adjacent ones are joined.
set(piece_length 15000)

file(READ ${FILE} text)
if(text MATCHES "[^0-9,\n]")
  message(FATAL_ERROR "${FILE} holds more than digits, commas and ends of lines")
endif()
set(literals "")
string(LENGTH "${text}" length)
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} ${piece_length} piece)
  string(APPEND literals "R\"(${piece})\"\n")
  math(EXPR at "${at} + ${piece_length}")
endwhile()

file(WRITE ${OUTPUT} "// Made by cmake/embed_data.cmake from data/digits.csv: do not edit.
#include \"io/digits_csv.hpp\"

namespace croton::io {

std::string_view digits_csv() {
  using namespace std::string_view_literals;
  return
${literals}\"\"sv;
}

}  // namespace croton::io
")
