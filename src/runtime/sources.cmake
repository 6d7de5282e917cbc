set(SOURCES bind.cpp cache.cpp configured_cache.cpp cuda_text.cpp executable.cpp launch.cpp library.cpp simulate.cpp sizes.cpp cpu/blas.cpp cpu/compiler.cpp cpu/kernels.cpp cpu/threads.cpp cuda/compile.cpp cuda/dump.cpp cuda/nvrtc.cpp cuda/toolkit.cpp
            simulator/callbacks.cpp simulator/checks.cpp simulator/compiler.cpp simulator/driver.cpp simulator/fiber.cpp
            simulator/memory.cpp simulator/order.cpp simulator/report.cpp simulator/shadow.cpp simulator/threads.cpp)
