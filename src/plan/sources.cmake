set(SOURCES plan.cpp)
