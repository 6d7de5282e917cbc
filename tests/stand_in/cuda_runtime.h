// A CUDA runtime over host memory, with the functions that codegen_templates/standalone.cuh uses: without nvcc, the
// host's part of a program of dump_kernels is compiled and run with it. Launches are only counted.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

enum cudaError_t { cudaSuccess, cudaErrorInvalidValue };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
struct dim3 {
  unsigned int x, y = 1, z = 1;
  explicit dim3(unsigned int size) : x(size) {}
};
using cudaStream_t = void*;
using cudaEvent_t = void*;

inline int& launches() {
  static int count = 0;
  return count;
}

inline const char* cudaGetErrorString(cudaError_t) { return "an invalid value"; }
inline cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  *address = std::malloc(bytes);
  return *address != nullptr ? cudaSuccess : cudaErrorInvalidValue;
}
inline cudaError_t cudaFree(void* address) {
  std::free(address);
  return cudaSuccess;
}
inline cudaError_t cudaMemset(void* address, int value, std::size_t bytes) {
  std::memset(address, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t,
                                    cudaStream_t) {
  ++launches();
  const bool right = kernel != nullptr && grid.x >= 1 && block.x % 32 == 0 && arguments[0] != nullptr;
  return right ? cudaSuccess : cudaErrorInvalidValue;
}
inline cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                               std::size_t shared, cudaStream_t stream) {
  std::printf("cooperative\n");
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
inline cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = static_cast<float>(launches());
  return cudaSuccess;
}
