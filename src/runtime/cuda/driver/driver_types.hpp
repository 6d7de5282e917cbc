// The types and numbers of the driver API that Croton uses; its reference promises to keep them
// (docs.nvidia.com/cuda/cuda-driver-api). No CUDA header is needed to build Croton.
#pragma once

#include <cstddef>
#include <cstdint>

namespace croton::runtime::cuda {

using Result = int;
using Pointer = unsigned long long;  ///< an address in device memory

struct ContextTag;
struct StreamTag;
struct EventTag;
struct PoolTag;
struct ModuleTag;
struct FunctionTag;
struct GraphTag;
struct GraphExecTag;
using ContextHandle = ContextTag*;
using StreamHandle = StreamTag*;
using EventHandle = EventTag*;
using PoolHandle = PoolTag*;
using ModuleHandle = ModuleTag*;
using FunctionHandle = FunctionTag*;
using GraphHandle = GraphTag*;
using GraphExecHandle = GraphExecTag*;  ///< a graph that can be launched

/// The access of a device to the memory of a pool.
struct PoolAccess {
  int location_type;
  int device;
  int flags;
};

/// Results that Croton distinguishes; the driver names the others.
namespace result {
inline constexpr Result success = 0, invalid_value = 1, out_of_memory = 2, not_initialized = 3, deinitialized = 4,
                        stub_library = 34, device_unavailable = 46, no_device = 100, invalid_device = 101,
                        invalid_image = 200, no_binary_for_gpu = 209, ecc_uncorrectable = 214, invalid_ptx = 218,
                        nvlink_uncorrectable = 220, no_ptx_compiler = 221, unsupported_ptx_version = 222,
                        contained = 226, invalid_handle = 400, not_found = 500, not_ready = 600, illegal_address = 700,
                        launch_out_of_resources = 701, launch_timeout = 702, peer_access_already_enabled = 704,
                        context_is_destroyed = 709, assertion = 710, hardware_stack_error = 714,
                        illegal_instruction = 715, misaligned_address = 716, invalid_address_space = 717,
                        invalid_pc = 718, launch_failed = 719, cooperative_launch_too_large = 720,
                        tensor_memory_leak = 721, system_not_ready = 802, system_driver_mismatch = 803,
                        unsupported_compatibility = 804, mps_client_terminated = 810, external_device = 911,
                        unknown = 999;
}  // namespace result

namespace attribute {  // of a device
inline constexpr int max_threads_per_block = 1, multiprocessors = 16, l2_bytes = 38, capability_major = 75,
                     capability_minor = 76, cooperative_launch = 95, shared_bytes_per_block = 97, memory_pools = 115;
}  // namespace attribute

namespace pool_attribute {
inline constexpr int release_threshold = 4, reserved_bytes = 5;
}  // namespace pool_attribute

namespace function_attribute {
inline constexpr int max_threads = 0, shared_bytes = 1, local_bytes = 3, registers = 4, binary_version = 6,
                     max_dynamic_shared_bytes = 8;
}  // namespace function_attribute

namespace flag {
inline constexpr unsigned stream_non_blocking = 1;   // does not wait for the null stream of other libraries
inline constexpr unsigned event_without_timing = 2;  // cheaper
inline constexpr unsigned host_memory_portable = 1;  // pinned for all contexts
inline constexpr int location_device = 1, access_read_write = 3;
inline constexpr int capture_thread_local = 1;  // restricts only the capturing thread to calls that can be captured
inline constexpr int jit_error_log = 5, jit_error_log_bytes = 6;
}  // namespace flag

}  // namespace croton::runtime::cuda
