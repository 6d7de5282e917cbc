// The only exported function of libcroton_llvm.so, and the wrappers that turn exceptions into messages.
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <chrono>
#include <exception>
#include <string>

#include "backend.hpp"
#include "croton_api.hpp"
#include "frontend.hpp"
#include "host_target.hpp"
#include "linker.hpp"

namespace croton::llvm_part {
namespace {

void write(CrotonSink sink, const std::string& text) { sink.write(sink.context, text.data(), text.size()); }

const char* identity() {
  static const std::string text = std::string("LLVM " LLVM_VERSION_STRING " ") + host_target().triple + " " +
                                  host_target().cpu + " " + host_target().feature_string();
  return text.c_str();
}

std::int64_t nanoseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

int compile(const CrotonCompileRequest* request, CrotonSink output, CrotonSink messages) {
  std::string result;
  std::string reason;
  try {
    llvm::LLVMContext context;
    // Remarks such as "loop not vectorized" help to tune templates; they do not belong on the standard error of users.
    context.setDiagnosticHandlerCallBack([](const llvm::DiagnosticInfo*, void*) {}, nullptr);
    const auto begin = std::chrono::steady_clock::now();
    const auto module = parse(*request, context, reason);
    const auto parsed = std::chrono::steady_clock::now();
    if (module != nullptr) {
      result = generate(*module, *request);
      if (request->times != nullptr)
        *request->times = {nanoseconds(parsed - begin), nanoseconds(std::chrono::steady_clock::now() - parsed)};
    } else if (reason.empty()) {
      reason = "Clang rejected the text without a message";
    }
  } catch (const std::exception& error) {
    reason += error.what();
  }
  if (result.empty()) {
    write(messages, reason);
    return 1;
  }
  write(output, result);
  return 0;
}

int load_object(const char* object, std::size_t size, const CrotonSymbol* symbols, std::size_t symbol_count,
                void** module, CrotonSink messages) {
  std::string reason;
  try {
    *module = load(object, size, {symbols, symbol_count}).release();
    return 0;
  } catch (const std::exception& error) {
    reason = error.what();
  }
  write(messages, reason);
  return 1;
}

void* symbol(void* module, const char* name) { return find(*static_cast<LoadedModule*>(module), name); }

void unload(void* module) { LoadedModulePointer(static_cast<LoadedModule*>(module)).reset(); }

constexpr CrotonLlvmApi api = {croton_llvm_api_version, identity, compile, load_object, symbol, unload};

}  // namespace
}  // namespace croton::llvm_part

extern "C" __attribute__((visibility("default"))) const CrotonLlvmApi* croton_llvm_api() {
  return &croton::llvm_part::api;
}
