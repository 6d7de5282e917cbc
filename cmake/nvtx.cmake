# NVTX, which gives profilers the names of functions and kernels: header-only, from the CUDA toolkit or the package nvidia-nvtx. Without
# it Croton is built without ranges, and `croton doctor` says so. The CUDA headers next to it are not used otherwise.
find_path(CROTON_NVTX_INCLUDE nvtx3/nvToolsExt.h HINTS $ENV{CUDA_PATH} $ENV{CUDA_HOME} /usr/local/cuda PATH_SUFFIXES include
  DOC "The folder that holds nvtx3/nvToolsExt.h; may be missing")
if(CROTON_NVTX_INCLUDE)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/runtime/cuda/nvtx.cpp PROPERTIES
    COMPILE_DEFINITIONS CROTON_WITH_NVTX COMPILE_OPTIONS "-isystem;${CROTON_NVTX_INCLUDE}")
endif()
