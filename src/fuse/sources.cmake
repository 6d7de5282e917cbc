set(SOURCES
  contraction.cpp decision.cpp fold_updates.cpp fuse.cpp guard.cpp host.cpp lower.cpp node_work.cpp product.cpp
  product_kernel.cpp
  region.cpp sources.cpp storage.cpp)
