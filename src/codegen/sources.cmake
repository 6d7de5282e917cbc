set(SOURCES
  analysis.cpp emit.cpp emit_contract.cpp emit_families.cpp emit_group.cpp emit_loop.cpp emitter.cpp routine.cpp
  schedule.cpp spelling.cpp standalone.cpp variant.cpp variant_choices.cpp)
