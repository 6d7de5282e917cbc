set(SOURCES bind.cpp cache.cpp configured_cache.cpp device.cpp executable.cpp launch.cpp library.cpp sizes.cpp cpu/blas.cpp cpu/compiler.cpp cpu/kernels.cpp cpu/threads.cpp cuda/compile.cpp cuda/dump.cpp cuda/nvrtc.cpp cuda/toolkit.cpp
            simulator/callbacks.cpp simulator/checks.cpp simulator/compiler.cpp simulator/device.cpp simulator/driver.cpp simulator/fiber.cpp
            simulator/memory.cpp simulator/threads.cpp)
