set(SOURCES bind.cpp cache.cpp configured_cache.cpp cuda_text.cpp device.cpp device_split.cpp executable.cpp launch.cpp library.cpp run.cpp sizes.cpp user_line.cpp cpu/blas.cpp cpu/compiler.cpp cpu/device.cpp cpu/kernels.cpp cpu/threads.cpp cuda/blaslt.cpp cuda/compile.cpp cuda/cubin.cpp cuda/device.cpp cuda/driver.cpp cuda/dump.cpp cuda/facts.cpp cuda/gpu.cpp cuda/module.cpp cuda/nvdisasm.cpp cuda/nvrtc.cpp cuda/nvtx.cpp cuda/sass.cpp
            cuda/staging.cpp cuda/stream.cpp cuda/target.cpp cuda/toolkit.cpp cuda/transfer.cpp
            simulator/callbacks.cpp simulator/checks.cpp simulator/compiler.cpp simulator/device.cpp simulator/driver.cpp simulator/fiber.cpp
            simulator/memory.cpp simulator/order.cpp simulator/report.cpp simulator/shadow.cpp simulator/threads.cpp)
