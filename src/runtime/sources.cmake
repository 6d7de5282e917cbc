set(SOURCES bind.cpp body.cpp bound_convolution.cpp branch.cpp cache.cpp configured_cache.cpp cuda_text.cpp device.cpp device_split.cpp executable.cpp lane_order.cpp lanes.cpp launch.cpp library.cpp loop.cpp loop_choice.cpp native_loop.cpp renumber.cpp repeated_work.cpp host_call.cpp routine.cpp run.cpp search_folders.cpp segment_lanes.cpp sizes.cpp trace.cpp user_line.cpp cpu/blas.cpp cpu/compiler.cpp cpu/device.cpp cpu/dnn.cpp cpu/dnn_copy.cpp cpu/dnn_library.cpp cpu/dnn_prepared.cpp cpu/dnn_problem.cpp cpu/few_rows.cpp cpu/kernels.cpp cpu/openblas.cpp cpu/threads.cpp cuda/blaslt.cpp cuda/compile.cpp cuda/cubin.cpp cuda/device.cpp cuda/dnn.cpp cuda/dnn_form.cpp cuda/driver.cpp cuda/dump.cpp cuda/facts.cpp cuda/found_library.cpp cuda/gpu.cpp cuda/graph.cpp cuda/module.cpp cuda/nvdisasm.cpp cuda/nvrtc.cpp cuda/nvtx.cpp cuda/peer_copies.cpp cuda/program.cpp cuda/sass.cpp
            cuda/staging.cpp cuda/stream.cpp cuda/target.cpp cuda/toolkit.cpp cuda/transfer.cpp cuda/uploads.cpp
            simulator/callbacks.cpp simulator/checks.cpp simulator/compiler.cpp simulator/device.cpp simulator/driver.cpp simulator/fiber.cpp
            simulator/memory.cpp simulator/order.cpp simulator/report.cpp simulator/shadow.cpp simulator/threads.cpp)
# Kernels for processors that not every user has, chosen when the program runs.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND SOURCES cpu/few_rows_avx512.cpp)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/runtime/cpu/few_rows_avx512.cpp PROPERTIES COMPILE_OPTIONS
    "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mfma;-ffp-contract=fast")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/runtime/cpu/few_rows.cpp PROPERTIES COMPILE_DEFINITIONS CROTON_HAS_AVX512_KERNELS)
endif()
