set(SOURCES analysis.cpp emit.cpp emit_group.cpp emit_loop.cpp routine.cpp schedule.cpp standalone.cpp variant.cpp)
