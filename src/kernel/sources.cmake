set(SOURCES contraction.cpp evaluate.cpp kernel.cpp parse.cpp print.cpp)
