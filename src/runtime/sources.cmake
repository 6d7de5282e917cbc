set(SOURCES
  devices.cpp
  support/cache.cpp support/configured_cache.cpp support/library.cpp support/search_folders.cpp
  device/device.cpp device/device_split.cpp
  cpu/compiler.cpp cpu/device.cpp cpu/kernels.cpp
  cpu/threads/threads.cpp
  cpu/blas/blas.cpp cpu/blas/few_rows.cpp cpu/blas/openblas.cpp
  cpu/dnn/dnn.cpp cpu/dnn/dnn_copy.cpp cpu/dnn/dnn_library.cpp cpu/dnn/dnn_prepared.cpp cpu/dnn/dnn_problem.cpp
  cuda/compiler.cpp cuda/device.cpp cuda/dump.cpp cuda/graph.cpp cuda/kernels.cpp cuda/launch.cpp cuda/module.cpp
    cuda/nvtx.cpp cuda/peer_copies.cpp cuda/target.cpp cuda/uploads.cpp
  cuda/toolkit/found_library.cpp cuda/toolkit/toolkit.cpp
  cuda/driver/context.cpp cuda/driver/driver.cpp cuda/driver/memory.cpp cuda/driver/staging.cpp cuda/driver/stream.cpp
    cuda/driver/transfer.cpp
  cuda/libraries/blaslt.cpp cuda/libraries/dnn.cpp cuda/libraries/dnn_form.cpp cuda/libraries/nvrtc.cpp
  cuda/inspect/control_flow.cpp cuda/inspect/cubin.cpp cuda/inspect/facts.cpp cuda/inspect/hot_path.cpp
    cuda/inspect/instructions.cpp cuda/inspect/launch_model.cpp cuda/inspect/machine_code.cpp
    cuda/inspect/nvdisasm.cpp cuda/inspect/operands.cpp cuda/inspect/origins.cpp
    cuda/inspect/entry_code.cpp cuda/inspect/path_facts.cpp cuda/inspect/program.cpp cuda/inspect/sass.cpp
  simulator/architecture.cpp simulator/callbacks.cpp simulator/checks.cpp simulator/compiler.cpp simulator/cuda_text.cpp
    simulator/device.cpp simulator/fiber.cpp simulator/kernels.cpp simulator/launch.cpp simulator/memory.cpp
    simulator/order.cpp simulator/report.cpp simulator/shadow.cpp simulator/threads.cpp
  lanes/lane_choice.cpp lanes/lane_order.cpp lanes/lanes.cpp
  bound/body.cpp bound/bound_convolution.cpp bound/bound_kernel.cpp bound/bound_plan.cpp bound/branch_launch.cpp
    bound/check_words.cpp bound/dump_kernels.cpp bound/executable.cpp bound/host_launch.cpp bound/kernel_launch.cpp
    bound/kernel_schedules.cpp bound/launch_traffic.cpp
    bound/memory.cpp bound/parameter_table.cpp bound/product_launch.cpp bound/routine_launch.cpp bound/segment.cpp
    bound/segment_lanes.cpp bound/segment_launches.cpp bound/segment_run.cpp bound/sized_plan.cpp bound/sizes.cpp
    bound/trace.cpp bound/transfer_launch.cpp bound/user_line.cpp bound/workspace.cpp
  loops/loop_choice.cpp loops/loop_launch.cpp loops/loop_layout.cpp loops/loop_memory.cpp loops/loop_parameters.cpp
    loops/loop_parts.cpp loops/loop_shares.cpp loops/loop_text.cpp loops/native_loop.cpp loops/repeated_work.cpp
    loops/step_part.cpp)
# Kernels for processors that not every user has, chosen when the program runs.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND SOURCES cpu/blas/few_rows_avx512.cpp)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/runtime/cpu/blas/few_rows_avx512.cpp PROPERTIES COMPILE_OPTIONS
    "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mfma;-ffp-contract=fast")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/runtime/cpu/blas/few_rows.cpp PROPERTIES COMPILE_DEFINITIONS
    CROTON_HAS_AVX512_KERNELS)
endif()
