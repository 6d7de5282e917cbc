set(SOURCES analysis.cpp emit.cpp schedule.cpp variant.cpp)
