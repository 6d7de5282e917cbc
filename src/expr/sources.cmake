set(SOURCES arena.cpp attrs.cpp body.cpp branch.cpp evaluate.cpp graph.cpp lexer.cpp loop.cpp one_place.cpp parse.cpp
            print.cpp requirement.cpp rounding.cpp scalar.cpp verify.cpp widen.cpp)
