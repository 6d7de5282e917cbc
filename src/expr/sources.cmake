set(SOURCES arena.cpp attrs.cpp evaluate.cpp graph.cpp lexer.cpp parse.cpp print.cpp rounding.cpp scalar.cpp verify.cpp widen.cpp)
