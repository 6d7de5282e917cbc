set(SOURCES fuse.cpp lower.cpp region.cpp)
