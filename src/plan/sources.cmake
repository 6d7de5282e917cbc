set(SOURCES loop_form.cpp plan.cpp print.cpp verify.cpp)
