// A program around one kernel, to run it outside Croton: memory for the operands, one launch whose results are printed,
// then more that are timed. The text before this file defines the kernel (entry, finish), operands, parameters and
// launch. The host needs only the CUDA runtime.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace standalone {

enum class Type { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128 };
enum class Kind { pointer, scratch, number };

struct Operand {
  Type type;
  long long elements, before;  // from element 0 on, and in front of it
  bool written;
};

struct Parameter {
  Kind kind;
  int operand;
  long long value;  // of an address: in bytes after element 0
};

struct Program {
  const char* name;
  const void* entry;
  const void* finish;  // a second launch of one warp; may be null
  std::vector<Operand> operands;
  std::vector<Parameter> parameters;
  long long scratch_bytes, items, blocks, threads, shared_bytes;
  bool in_table;     // the kernel gets the address of its parameters
  bool cooperative;  // all blocks must run at the same time
};

inline int size_of(Type type) {
  constexpr int sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
  return sizes[static_cast<int>(type)];
}

inline void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(result));
  std::exit(1);
}

// One element of every dtype as its bits, between 0 and 1: floats in [0.5, 1), integers 0 or 1, which are valid indices
// wherever there are two elements.
inline unsigned long long sample(Type type, unsigned long long i) {
  const unsigned int random = static_cast<unsigned int>(i * 2654435761ull >> 7);
  switch (type) {
    case Type::f16: return 0x3800u | (random & 0x3ffu);
    case Type::bf16: return 0x3f00u | (random & 0x7fu);
    case Type::f32: return 0x3f000000u | (random & 0x7fffffu);
    case Type::c64: return 0x3f0000003f000000ull | (random & 0x7fffffu);
    case Type::f64:
    case Type::c128: return 0x3fe0000000000000ull | (static_cast<unsigned long long>(random) << 20);  // the real part
    default: return random & 1u;
  }
}

inline double value_of(Type type, const unsigned char* at) {
  unsigned long long bits = 0;
  for (int b = size_of(type); b-- > 0;) bits = bits << 8 | at[b];
  const auto as_float = [](unsigned int word) {
    union { unsigned int u; float f; } both = {word};
    return static_cast<double>(both.f);
  };
  switch (type) {
    case Type::f32:
    case Type::c64: return as_float(static_cast<unsigned int>(bits));  // of a complex number its real part
    case Type::bf16: return as_float(static_cast<unsigned int>(bits) << 16);
    case Type::f16: {
      const unsigned int sign = static_cast<unsigned int>(bits >> 15) << 31, rest = static_cast<unsigned int>(bits & 0x7fff);
      if (rest >= 0x7c00) return as_float(sign | 0x7f800000u | (rest & 0x3ff) << 13);
      return as_float(sign | rest << 13) * as_float(0x77800000u);  // the exponents differ by 112
    }
    case Type::f64:
    case Type::c128: {
      union { unsigned long long u; double f; } both = {bits};
      return both.f;
    }
    case Type::i8: return static_cast<signed char>(bits);
    case Type::i16: return static_cast<short>(bits);
    case Type::i32: return static_cast<int>(bits);
    case Type::i64: return static_cast<double>(static_cast<long long>(bits));
    default: return static_cast<double>(bits);
  }
}

struct Memory {
  unsigned char* all = nullptr;    // on the device, margins included
  unsigned char* first = nullptr;  // element 0
};

inline Memory make(const Operand& operand) {
  const auto size = static_cast<std::size_t>(size_of(operand.type));
  const auto before = static_cast<std::size_t>(operand.before), count = before + static_cast<std::size_t>(operand.elements);
  std::vector<unsigned char> content(count * size);
  for (std::size_t i = 0; i < count; ++i) {
    unsigned long long bits = sample(operand.type, i);
    for (std::size_t b = 0; b < size; ++b, bits >>= 8) content[i * size + b] = static_cast<unsigned char>(bits);
  }
  Memory memory;
  void* address = nullptr;
  check(cudaMalloc(&address, content.size() + 16), "allocating an operand");
  memory.all = static_cast<unsigned char*>(address);
  memory.first = memory.all + before * size;
  check(cudaMemcpy(memory.all, content.data(), content.size(), cudaMemcpyHostToDevice), "filling an operand");
  return memory;
}

inline void print_first(std::size_t number, const Operand& operand, const Memory& memory) {
  constexpr long long most = 8;
  const long long count = operand.elements < most ? operand.elements : most;
  const auto size = static_cast<std::size_t>(size_of(operand.type));
  std::vector<unsigned char> content(static_cast<std::size_t>(count) * size);
  check(cudaMemcpy(content.data(), memory.first, content.size(), cudaMemcpyDeviceToHost), "reading a result");
  std::printf("operand %zu:", number);
  for (long long i = 0; i < count; ++i)
    std::printf(" %g", value_of(operand.type, content.data() + static_cast<std::size_t>(i) * size));
  std::printf("%s\n", count < operand.elements ? " ..." : "");
}

// usage: PROGRAM [repeats [threads [blocks]]]
inline int run(const Program& program, int count, char** words) {
  const auto option = [&](int i, long long otherwise) { return count > i ? std::atoll(words[i]) : otherwise; };
  const long long repeats = option(1, 20), threads = option(2, program.threads), blocks = option(3, program.blocks);
  if (repeats < 1 || threads < 32 || threads > 1024 || threads % 32 != 0 || blocks < 1) {
    std::fprintf(stderr, "usage: %s [repeats [threads [blocks]]]; threads are whole warps: 32, 64, ... 1024\n", words[0]);
    return 2;
  }
  if (program.cooperative && (threads != program.threads || blocks != program.blocks)) {
    std::fprintf(stderr, "%s: its blocks wait for each other, so that there must be %lld of %lld threads\n", program.name,
                 program.blocks, program.threads);
    return 2;
  }
  std::vector<Memory> memory;
  for (const Operand& operand : program.operands) memory.push_back(make(operand));
  void* scratch = nullptr;
  check(cudaMalloc(&scratch, static_cast<std::size_t>(program.scratch_bytes)), "allocating the workspace");
  check(cudaMemset(scratch, 0, static_cast<std::size_t>(program.scratch_bytes)), "clearing the workspace");

  std::vector<long long> parameters;
  for (const Parameter& parameter : program.parameters) {
    long long value = parameter.value;
    if (parameter.kind == Kind::pointer) {
      const auto i = static_cast<std::size_t>(parameter.operand);
      value += reinterpret_cast<long long>(memory[i].first);
    }
    if (parameter.kind == Kind::scratch) value += reinterpret_cast<long long>(scratch);
    parameters.push_back(value);
  }
  if (program.shared_bytes > 0) {
    check(cudaFuncSetAttribute(program.entry, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(program.shared_bytes)),
          "asking for shared memory");
  }
  long long items = program.items;
  void* table = nullptr;
  if (program.in_table) {
    const std::size_t bytes = parameters.size() * sizeof(long long);
    check(cudaMalloc(&table, bytes), "allocating the parameters");
    check(cudaMemcpy(table, parameters.data(), bytes, cudaMemcpyHostToDevice), "copying the parameters");
  }
  void* arguments[] = {program.in_table ? static_cast<void*>(&table) : parameters.data(), &items};
  const auto launch = [&] {
    const dim3 grid(static_cast<unsigned int>(blocks)), block(static_cast<unsigned int>(threads));
    const auto shared = static_cast<std::size_t>(program.shared_bytes);
    check(program.cooperative ? cudaLaunchCooperativeKernel(program.entry, grid, block, arguments, shared, nullptr)
                              : cudaLaunchKernel(program.entry, grid, block, arguments, shared, nullptr),
          "launching");
    if (program.finish != nullptr) check(cudaLaunchKernel(program.finish, dim3(1), dim3(32), arguments, 0, nullptr), "launching the end");
  };

  std::printf("%s: %lld items, %lld blocks of %lld threads\n", program.name, items, blocks, threads);
  launch();
  check(cudaDeviceSynchronize(), "running");
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (program.operands[i].written) print_first(i, program.operands[i], memory[i]);
  }
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "creating an event");
  check(cudaEventCreate(&end), "creating an event");
  check(cudaEventRecord(begin, nullptr), "recording an event");
  for (long long i = 0; i < repeats; ++i) launch();
  check(cudaEventRecord(end, nullptr), "recording an event");
  check(cudaEventSynchronize(end), "running");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "reading the time");
  std::printf("%.4f ms a launch, mean of %lld\n", static_cast<double>(milliseconds) / static_cast<double>(repeats), repeats);
  for (const Memory& m : memory) check(cudaFree(m.all), "giving memory back");
  check(cudaFree(scratch), "giving memory back");
  check(cudaFree(table), "giving memory back");
  return 0;
}

}  // namespace standalone
