# NVTX, by which a profiler learns the names of functions and kernels: headers alone, of the CUDA toolkit or the package nvidia-nvtx.
# Without them Croton is built without ranges, and `croton doctor` says so. The CUDA headers beside them are used by nothing else.
find_path(CROTON_NVTX_INCLUDE nvtx3/nvToolsExt.h HINTS $ENV{CUDA_PATH} $ENV{CUDA_HOME} /usr/local/cuda PATH_SUFFIXES include
  DOC "The folder that holds nvtx3/nvToolsExt.h; may be missing")
if(CROTON_NVTX_INCLUDE)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/runtime/cuda/nvtx.cpp PROPERTIES
    COMPILE_DEFINITIONS CROTON_WITH_NVTX COMPILE_OPTIONS "-isystem;${CROTON_NVTX_INCLUDE}")
endif()
