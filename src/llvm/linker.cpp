#include "linker.hpp"

#include <llvm/ADT/StringMap.h>
#include <llvm/BinaryFormat/Magic.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectFileInterface.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <stdexcept>

namespace croton::llvm_part {

class LoadedModule {
 public:
  llvm::orc::JITDylib* library = nullptr;
  llvm::StringMap<void*> addresses;
};

namespace {

namespace orc = llvm::orc;

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

template <typename Result, typename... Parameters>
void* address_of(Result (*function)(Parameters...)) {
  return reinterpret_cast<void*>(function);
}

// Functions that LLVM's code generator calls by itself: block moves, mathematics for processors without SSE4.1 or FMA,
// and arithmetic of 128-bit integers.
const CrotonSymbol runtime_symbols[] = {
    {"memcpy", address_of(&std::memcpy)},
    {"memmove", address_of(&std::memmove)},
    {"memset", address_of(&std::memset)},
    {"memcmp", address_of(&std::memcmp)},
    {"bcmp", address_of(&std::memcmp)},
    {"fma", address_of<double, double, double, double>(&::fma)},
    {"fmaf", address_of(&::fmaf)},
    {"sqrt", address_of<double, double>(&::sqrt)},
    {"sqrtf", address_of(&::sqrtf)},
    {"rint", address_of<double, double>(&::rint)},
    {"rintf", address_of(&::rintf)},
    {"nearbyint", address_of<double, double>(&::nearbyint)},
    {"nearbyintf", address_of(&::nearbyintf)},
    {"floor", address_of<double, double>(&::floor)},
    {"floorf", address_of(&::floorf)},
    {"ceil", address_of<double, double>(&::ceil)},
    {"ceilf", address_of(&::ceilf)},
    {"trunc", address_of<double, double>(&::trunc)},
    {"truncf", address_of(&::truncf)},
    {"round", address_of<double, double>(&::round)},
    {"roundf", address_of(&::roundf)},
    {"fmod", address_of<double, double, double>(&::fmod)},
    {"fmodf", address_of(&::fmodf)},
    {"__divti3", address_of(+[](wide a, wide b) { return a / b; })},
    {"__modti3", address_of(+[](wide a, wide b) { return a % b; })},
    {"__udivti3", address_of(+[](unsigned_wide a, unsigned_wide b) { return a / b; })},
    {"__umodti3", address_of(+[](unsigned_wide a, unsigned_wide b) { return a % b; })},
    {"__floattisf", address_of(+[](wide x) { return static_cast<float>(x); })},
    {"__floattidf", address_of(+[](wide x) { return static_cast<double>(x); })},
    {"__floatuntisf", address_of(+[](unsigned_wide x) { return static_cast<float>(x); })},
    {"__floatuntidf", address_of(+[](unsigned_wide x) { return static_cast<double>(x); })},
    {"__fixsfti", address_of(+[](float x) { return static_cast<wide>(x); })},
    {"__fixdfti", address_of(+[](double x) { return static_cast<wide>(x); })},
    {"__fixunssfti", address_of(+[](float x) { return static_cast<unsigned_wide>(x); })},
    {"__fixunsdfti", address_of(+[](double x) { return static_cast<unsigned_wide>(x); })},
};

}  // namespace

bool is_runtime_function(llvm::StringRef name) {
  return std::ranges::any_of(runtime_symbols, [&](const CrotonSymbol& symbol) { return name == symbol.name; });
}

namespace {

// One session for the process, never destroyed: code may be called until the process ends.
class Session {
 public:
  static Session& instance() {
    static Session* session = new Session();
    return *session;
  }

  LoadedModulePointer load(const char* object, std::size_t size, std::span<const CrotonSymbol> symbols) {
    LoadedModulePointer module(new LoadedModule());  // before the lock, which its destructor takes after an error
    const std::lock_guard lock(mutex_);              // a link takes 0.1 ms, and errors are reported per session
    reported_.clear();
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object, size), "kernel.o");
    if (llvm::identify_magic(buffer->getBuffer()) != llvm::file_magic::elf_relocatable) {
      throw std::runtime_error("the bytes are not a relocatable ELF object file");
    }
    auto interface = check(orc::getObjectFileInterface(session_, buffer->getMemBufferRef()));
    orc::SymbolLookupSet exported;
    for (const auto& symbol : interface.SymbolFlags) exported.add(symbol.first);

    module->library = &session_.createBareJITDylib("kernels" + std::to_string(next_name_++));
    check(module->library->define(orc::absoluteSymbols(symbol_map(symbols))));
    check(layer_.add(*module->library, std::move(buffer), std::move(interface)));
    const orc::SymbolMap found = check(session_.lookup(
        orc::makeJITDylibSearchOrder(module->library, orc::JITDylibLookupFlags::MatchAllSymbols), exported));
    for (const auto& [name, symbol] : found) module->addresses[*name] = symbol.getAddress().toPtr<void*>();
    return module;
  }

  void remove(orc::JITDylib& library) {
    const std::lock_guard lock(mutex_);
    llvm::consumeError(session_.removeJITDylib(library));  // frees the code; an error here cannot be handled
    // The pool keeps names of symbols until dead entries are cleared.
    if (++removed_ % 64 == 0) session_.getSymbolStringPool()->clearDeadEntries();
  }

 private:
  Session()
      : session_(llvm::cantFail(
            orc::SelfExecutorProcessControl::Create(nullptr, std::make_unique<orc::InPlaceTaskDispatcher>()))),
        layer_(session_) {
    session_.setErrorReporter([this](llvm::Error error) { reported_ += llvm::toString(std::move(error)) + "\n"; });
  }

  orc::SymbolMap symbol_map(std::span<const CrotonSymbol> symbols) {
    orc::SymbolMap map;
    const auto add = [&](const CrotonSymbol& symbol) {
      map[session_.intern(symbol.name)] = {orc::ExecutorAddr::fromPtr(symbol.address), llvm::JITSymbolFlags::Exported};
    };
    for (const CrotonSymbol& symbol : runtime_symbols) add(symbol);
    for (const CrotonSymbol& symbol : symbols) add(symbol);
    return map;
  }

  void check(llvm::Error error) {
    if (error) throw std::runtime_error(reported_ + llvm::toString(std::move(error)));
  }

  template <typename Value>
  Value check(llvm::Expected<Value> value) {
    if (!value) check(value.takeError());
    return std::move(*value);
  }

  std::mutex mutex_;
  std::string reported_;
  std::uint64_t next_name_ = 0, removed_ = 0;
  orc::ExecutionSession session_;
  orc::ObjectLinkingLayer layer_;
};

}  // namespace

void Unload::operator()(LoadedModule* module) const {
  if (module->library != nullptr) Session::instance().remove(*module->library);
  delete module;
}

LoadedModulePointer load(const char* object, std::size_t size, std::span<const CrotonSymbol> symbols) {
  return Session::instance().load(object, size, symbols);
}

void* find(const LoadedModule& module, const std::string& name) { return module.addresses.lookup(name); }

}  // namespace croton::llvm_part
