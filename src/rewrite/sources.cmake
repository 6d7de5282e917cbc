set(SOURCES bodies.cpp complex_rules.cpp loop_edit.cpp loop_set.cpp loops.cpp match.cpp nary.cpp pipeline.cpp place.cpp
            placed_loops.cpp rebuild.cpp rewriter.cpp rules/algebra.cpp rules/canonical.cpp rules/expand.cpp
            rules/exponentials.cpp rules/factors.cpp rules/filters.cpp rules/indexing.cpp rules/joins.cpp
            rules/one_place.cpp rules/products.cpp rules/reductions.cpp rules/specialise.cpp rules/stability.cpp
            single_steps.cpp)
