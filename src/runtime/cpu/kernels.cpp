#include "runtime/cpu/kernels.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/compilation.hpp"
#include "base/config.hpp"
#include "base/stage.hpp"
#include "llvm/croton_api.hpp"
#include "runtime/cpu/compiler.hpp"
#include "runtime/cpu/threads/threads.hpp"
#include "runtime/support/cache.hpp"

namespace croton::runtime::cpu {
namespace {

// A payload is an object file, or the digest of the entry that has it: kernels compiled together share one object.
constexpr std::byte object_tag{'O'}, reference_tag{'R'};
// The most recent modules are kept even without a function, in case the function is made again.
constexpr std::size_t max_recent = 64;

class KernelStore {
 public:
  static KernelStore& instance() {
    static KernelStore* store = new KernelStore;  // never destroyed: other threads may run kernels to the very end
    return *store;
  }

  std::vector<KernelEntry> get(std::span<const codegen::Text> texts, KernelCounts& counts) {
    const base::Compilation compilation;
    const base::StageTimer timer(base::Stage::compile);
    const std::lock_guard lock(mutex_);
    level_ = base::config().llvm_level;
    trapping_ = base::config().check_arithmetic;
    std::vector<const codegen::Text*> missing;
    for (const codegen::Text& text : texts) {
      if (find(text)) continue;
      if (load_from_disk(text)) {
        ++counts.cached;
      } else {
        bool listed = false;
        for (const codegen::Text* other : missing) listed = listed || other->name == text.name;
        if (!listed) missing.push_back(&text);
      }
    }
    if (!missing.empty()) compile(missing, counts);
    base::show(base::Stage::compile, [&] { return print(texts, missing); });
    std::vector<KernelEntry> result;
    for (const codegen::Text& text : texts) result.push_back(find(text).value());
    recent_.resize(std::min(recent_.size(), max_recent));  // only now: nothing else keeps entries of this call
    forget_unloaded();
    return result;
  }

 private:
  /// One line for each kernel.
  static std::string print(std::span<const codegen::Text> texts, std::span<const codegen::Text* const> missing) {
    std::string lines;
    for (const codegen::Text& text : texts) {
      const bool compiled = std::ranges::any_of(missing, [&](const auto* other) { return other->name == text.name; });
      lines += "  " + text.name + (compiled ? ": by Clang and LLVM\n" : ": cached\n");
    }
    return lines;
  }

  /// Kernels with different options are different kernels: the level of optimisation, and whether they check their
  /// arithmetic.
  std::string options_text() const { return std::to_string(level_) + (trapping_ ? ", trapping" : ""); }
  std::string name_of(const codegen::Text& text) const { return text.name + options_text(); }

  struct Known {
    KernelEntry entry;  // without the owner of its code
    std::weak_ptr<const Module> module;
  };

  std::optional<KernelEntry> find(const codegen::Text& text) const {
    const auto known = entries_.find(name_of(text));
    if (known == entries_.end()) return std::nullopt;
    KernelEntry entry = known->second.entry;
    entry.code = known->second.module.lock();
    if (entry.code == nullptr) return std::nullopt;
    return entry;
  }

  std::shared_ptr<const Module> find_module(const std::string& digest) const {
    const auto module = modules_.find(digest);
    return module != modules_.end() ? module->second.lock() : nullptr;
  }

  void keep_module(const std::string& digest, const std::shared_ptr<const Module>& module) {
    modules_[digest] = module;
    recent_.push_front(module);
  }

  /// Removes names of unloaded code. Not at every call, since it looks at all names.
  void forget_unloaded() {
    if (entries_.size() < sweep_size_) return;
    std::erase_if(entries_, [](const auto& named) { return named.second.module.expired(); });
    std::erase_if(modules_, [](const auto& named) { return named.second.expired(); });
    sweep_size_ = std::max<std::size_t>(2 * entries_.size(), 256);
  }

  std::string key_of(const codegen::Text& text) {
    if (prelude_.empty()) prelude_ = codegen::prelude(codegen::Target::cpu);
    return CacheKey()
        .add("kernel", text.digest)
        .add("prelude", prelude_)
        .add("compiler", Compiler::instance().identity())
        .add("level", options_text())
        .add("interface", std::to_string(croton_llvm_api_version))
        .digest();
  }

  bool load_from_disk(const codegen::Text& text) {
    KernelCache* cache = configured_cache();
    if (cache == nullptr) return false;
    std::string digest = key_of(text);
    auto payload = cache->find(digest);
    if (payload && payload->size() == 33 && payload->front() == reference_tag) {
      digest.assign(reinterpret_cast<const char*>(payload->data()) + 1, 32);
      if (const auto module = find_module(digest)) return add(text, module);
      payload = cache->find(digest);
    }
    if (!payload || payload->empty() || payload->front() != object_tag) return false;
    if (const auto module = find_module(digest)) return add(text, module);
    try {
      const std::shared_ptr<const Module> module = Compiler::instance().load(std::span(*payload).subspan(1));
      keep_module(digest, module);
      return add(text, module);
    } catch (const DeviceError&) {
      return false;  // from another compiler, or damaged in spite of its checksum: compile it again
    }
  }

  bool add(const codegen::Text& text, const std::shared_ptr<const Module>& module) {
    KernelEntry entry;
    entry.run = reinterpret_cast<decltype(entry.run)>(module->symbol(text.name));
    entry.finish = reinterpret_cast<decltype(entry.finish)>(module->symbol(text.name + "_finish"));
    if (entry.run == nullptr) return false;
    entries_[name_of(text)] = {entry, module};
    return true;
  }

  using Texts = std::vector<const codegen::Text*>;

  /// The kernels of one module, and the outcome of its compilation.
  struct Unit {
    Texts texts;
    std::size_t size = 0;  // of all texts
    std::vector<std::byte> object;
    CompileTimes times;
    std::exception_ptr fault;
  };

  /// Compiles missing kernels as modules, on several threads. Each module parses the prelude, which takes as long as a
  /// small kernel, so a module has at least two kernels.
  void compile(const Texts& missing, KernelCounts& counts) {
    const std::string prelude = codegen::prelude(codegen::Target::cpu);
    const auto compile_unit = [&](Unit& unit) {
      std::string source = prelude;
      for (const codegen::Text* text : unit.texts) source += text->code + "\n";
      CompileOptions options;
      options.prelude_size = prelude.size();
      options.level = level_;
      if (trapping_) options.mode = CompileOptions::Mode::cpu_trapping;
      unit.object = Compiler::instance().compile(source, options, &unit.times);
    };
    const auto threads = static_cast<std::size_t>(ThreadPool::instance().threads());
    std::vector<Unit> units = partition(missing, std::min(threads, (missing.size() + 1) / 2));
    ThreadPool::instance().parallel_for(std::ssize(units), 1, [&](std::int64_t begin, std::int64_t end) {
      for (Unit& unit : std::span(units.begin() + begin, units.begin() + end)) {
        try {
          compile_unit(unit);
        } catch (...) {  // threads of the pool must not throw
          unit.fault = std::current_exception();
        }
      }
    });
    CompileTimes all;
    for (const Unit& unit : units) {
      if (unit.fault) std::rethrow_exception(unit.fault);
      all.add(unit.times);
    }
    all.note();
    for (const Unit& unit : units) keep(unit, counts);
  }

  /// The longest text goes to the smallest unit, so that all units take about as long.
  static std::vector<Unit> partition(Texts texts, std::size_t count) {
    std::ranges::stable_sort(texts, std::ranges::greater{},
                             [](const codegen::Text* text) { return text->code.size(); });
    std::vector<Unit> units(count);
    for (const codegen::Text* text : texts) {
      Unit& smallest = *std::ranges::min_element(units, {}, &Unit::size);
      smallest.texts.push_back(text);
      smallest.size += text->code.size();
    }
    return units;
  }

  /// Loads a module, and keeps it on disk.
  void keep(const Unit& unit, KernelCounts& counts) {
    const std::shared_ptr<const Module> module = Compiler::instance().load(unit.object);
    const std::string first = key_of(*unit.texts.front());
    keep_module(first, module);
    for (const codegen::Text* text : unit.texts) {
      if (!add(*text, module)) throw InternalError("a compiled module lacks the kernel " + text->name);
      ++counts.compiled;
    }
    KernelCache* cache = configured_cache();
    if (cache == nullptr) return;
    std::vector<std::byte> payload{object_tag};
    payload.insert(payload.end(), unit.object.begin(), unit.object.end());
    cache->store(first, payload);
    std::vector<std::byte> reference(33);
    reference[0] = reference_tag;
    std::memcpy(reference.data() + 1, first.data(), 32);
    for (const codegen::Text* text : std::span(unit.texts).subspan(1)) cache->store(key_of(*text), reference);
  }

  std::mutex mutex_;
  std::int64_t level_ = 3;  // of the call under way, as the next
  bool trapping_ = false;
  std::string prelude_;
  std::unordered_map<std::string, Known> entries_;
  std::unordered_map<std::string, std::weak_ptr<const Module>> modules_;  // by the digest of the entry with the object
  std::deque<std::shared_ptr<const Module>> recent_;                      // the last one first
  std::size_t sweep_size_ = 256;  // the number of names from which on those of unloaded code are removed
};

}  // namespace

bool can_compile(std::string* why) { return Compiler::available(why); }

std::vector<KernelEntry> get_kernels(std::span<const codegen::Text> texts, KernelCounts& counts) {
  return KernelStore::instance().get(texts, counts);
}

}  // namespace croton::runtime::cpu
