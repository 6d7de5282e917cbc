set(SOURCES digits.cpp)
