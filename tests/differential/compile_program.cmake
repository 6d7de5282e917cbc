# cmake -DTOOL= -DCXX= -DSOURCE= -DLIBRARY= -DOUT= -P compile_program.cmake: programs that croton_differential prints are
# compiled and run; each shows a sound graph, so that it must return 0.
foreach(number 3 8 19)
  execute_process(COMMAND ${TOOL} --show ${number} OUTPUT_FILE ${OUT}_${number}.cpp COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CXX} -std=c++20 -DFMT_HEADER_ONLY=1 -I${SOURCE}/include -I${SOURCE}/src ${OUT}_${number}.cpp ${LIBRARY} -o ${OUT}_${number}
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${OUT}_${number} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
