set(SOURCES analysis.cpp emit.cpp routine.cpp schedule.cpp standalone.cpp variant.cpp)
