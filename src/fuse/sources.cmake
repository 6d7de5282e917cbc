set(SOURCES fuse.cpp lower.cpp product.cpp region.cpp)
