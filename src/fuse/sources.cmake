set(SOURCES fuse.cpp guard.cpp host.cpp lower.cpp product.cpp region.cpp)
