set(SOURCES complex_rules.cpp match.cpp pipeline.cpp place.cpp rewriter.cpp rules/algebra.cpp rules/canonical.cpp rules/expand.cpp rules/specialise.cpp
            rules/stability.cpp)
