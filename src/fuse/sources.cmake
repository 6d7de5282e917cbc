set(SOURCES contraction.cpp fold_updates.cpp fuse.cpp guard.cpp host.cpp lower.cpp product.cpp region.cpp)
