set(SOURCES evaluate.cpp kernel.cpp parse.cpp print.cpp)
