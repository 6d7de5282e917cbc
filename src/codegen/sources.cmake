set(SOURCES analysis.cpp emit.cpp schedule.cpp standalone.cpp variant.cpp)
