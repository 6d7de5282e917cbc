# cmake -DTOOL= -DCXX= -DSOURCE= -DLIBRARY= -DOUT= -P compile_program.cmake: programs that croton_differential prints
# are compiled and run; each shows a graph without a fault, so that it must return 0.
get_filename_component(folder ${LIBRARY} DIRECTORY)
function(compile_and_run file)
  execute_process(COMMAND ${CXX} -std=c++20 -DFMT_HEADER_ONLY=1 -I${SOURCE}/include -I${SOURCE}/src ${file}.cpp ${LIBRARY} -Wl,-rpath,${folder}
    -o ${file} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(number 3 8 19)
  execute_process(COMMAND ${TOOL} --show ${number} OUTPUT_FILE ${OUT}_${number}.cpp COMMAND_ERROR_IS_FATAL ANY)
  compile_and_run(${OUT}_${number})
endforeach()

# A graph with variables inside an expression.
foreach(number RANGE 400)
  execute_process(COMMAND ${TOOL} --show ${number} --share 120 OUTPUT_FILE ${OUT}_inner.cpp COMMAND_ERROR_IS_FATAL ANY)
  file(STRINGS ${OUT}_inner.cpp inner REGEX "const ct::Variable z = ")
  if(inner)
    compile_and_run(${OUT}_inner)
    break()
  endif()
endforeach()
if(NOT inner)
  message(FATAL_ERROR "no graph has a variable inside an expression")
endif()
