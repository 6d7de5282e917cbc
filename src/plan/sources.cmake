set(SOURCES loop_form.cpp plan.cpp)
