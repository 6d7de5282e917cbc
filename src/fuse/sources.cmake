set(SOURCES contraction.cpp fuse.cpp guard.cpp host.cpp lower.cpp product.cpp region.cpp)
