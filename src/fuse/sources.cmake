set(SOURCES fuse.cpp host.cpp lower.cpp product.cpp region.cpp)
