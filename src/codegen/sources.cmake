set(SOURCES analysis.cpp emit.cpp variant.cpp)
