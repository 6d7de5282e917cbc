#include "runtime/cpu/kernels.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/compilation.hpp"
#include "base/config.hpp"
#include "base/stage.hpp"
#include "llvm/croton_api.hpp"
#include "runtime/cpu/compiler.hpp"
#include "runtime/cpu/threads.hpp"
#include "runtime/support/cache.hpp"

namespace croton::runtime::cpu {
namespace {

// A payload is an object file, or the digest of the entry that has it: kernels compiled together share one object.
constexpr char object_tag = 'O', reference_tag = 'R';
// What was loaded last is kept though no function has it: who makes a function again gets it back.
constexpr std::size_t most_recent = 64;

class Store {
 public:
  static Store& instance() {
    static Store* store = new Store;  // never destroyed: other threads may still run kernels when the process ends
    return *store;
  }

  std::vector<KernelEntry> get(std::span<const codegen::Text> texts, KernelCounts& counts) {
    const base::Compilation compilation;
    const base::StageTimer timer(base::Stage::compile);
    const std::lock_guard lock(mutex_);
    level_ = static_cast<int>(base::config().llvm_level);
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
    if (base::shows("compiled")) show(texts, missing);
    std::vector<KernelEntry> result;
    for (const codegen::Text& text : texts) result.push_back(find(text).value());
    recent_.resize(std::min(recent_.size(), most_recent));  // not before: entries of this call are kept by nobody else
    forget_unloaded();
    return result;
  }

 private:
  static void show(std::span<const codegen::Text> texts, std::span<const codegen::Text* const> missing) {
    std::string lines;
    for (const codegen::Text& text : texts) {
      const bool compiled = std::ranges::any_of(missing, [&](const auto* other) { return other->name == text.name; });
      lines += "  " + text.name + (compiled ? ": by Clang and LLVM\n" : ": cached\n");
    }
    base::show("compiled", lines);
  }

  /// Kernels are kept apart by how they were compiled: the level to which they were optimised, and whether they check
  /// their arithmetic.
  std::string how() const { return std::to_string(level_) + (trapping_ ? ", trapping" : ""); }
  std::string name_of(const codegen::Text& text) const { return text.name + how(); }

  struct Known {
    KernelEntry entry;  // without what keeps it
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

  /// Names of code that is gone: now and then, as each look takes all of them.
  void forget_unloaded() {
    if (entries_.size() < look_at_) return;
    std::erase_if(entries_, [](const auto& named) { return named.second.module.expired(); });
    std::erase_if(modules_, [](const auto& named) { return named.second.expired(); });
    look_at_ = std::max<std::size_t>(2 * entries_.size(), 256);
  }

  std::string key_of(const codegen::Text& text) {
    if (prelude_.empty()) prelude_ = codegen::prelude(codegen::Target::cpu);
    return CacheKey()
        .add("kernel", text.digest)
        .add("prelude", prelude_)
        .add("compiler", Compiler::instance().identity())
        .add("level", how())
        .add("interface", std::to_string(croton_llvm_api_version))
        .digest();
  }

  bool load_from_disk(const codegen::Text& text) {
    KernelCache* cache = configured_cache();
    if (cache == nullptr) return false;
    std::string digest = key_of(text);
    auto payload = cache->find(digest);
    if (payload && payload->size() == 33 && static_cast<char>((*payload)[0]) == reference_tag) {
      digest.assign(reinterpret_cast<const char*>(payload->data()) + 1, 32);
      if (const auto module = find_module(digest)) return add(text, module);
      payload = cache->find(digest);
    }
    if (!payload || payload->empty() || static_cast<char>((*payload)[0]) != object_tag) return false;
    if (const auto module = find_module(digest)) return add(text, module);
    try {
      const std::shared_ptr<const Module> module = Compiler::instance().load(std::span(*payload).subspan(1));
      keep_module(digest, module);
      return add(text, module);
    } catch (const DeviceError&) {
      return false;  // made by another compiler, or damaged in a way the checksum did not see: compile it again
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

  /// What is missing, shared out among modules that threads compile at once. Each of these parses the prelude, which
  /// takes as long as a small kernel, so that two kernels at least make a module.
  void compile(const Texts& missing, KernelCounts& counts) {
    const std::size_t threads = static_cast<std::size_t>(ThreadPool::instance().threads());
    const std::vector<Texts> shares = shared_out(missing, std::min(threads, (missing.size() + 1) / 2));
    std::vector<std::vector<std::byte>> objects(shares.size());
    std::vector<CompileTimes> times(shares.size());
    std::vector<std::exception_ptr> faults(shares.size());
    const std::string prelude = codegen::prelude(codegen::Target::cpu);
    const auto compile_one = [&](std::size_t share) {
      std::string unit = prelude;
      for (const codegen::Text* text : shares[share]) unit += text->code + "\n";
      CompileOptions options;
      options.prelude_size = prelude.size();
      options.level = level_;
      if (trapping_) options.mode = CompileOptions::Mode::cpu_trapping;
      objects[share] = Compiler::instance().compile(unit, options, &times[share]);
    };
    ThreadPool::instance().parallel_for(static_cast<std::int64_t>(shares.size()), 1, [&](auto begin, auto end) {
      for (auto share = static_cast<std::size_t>(begin); share < static_cast<std::size_t>(end); ++share) {
        try {
          compile_one(share);
        } catch (...) {  // threads of the pool must not throw
          faults[share] = std::current_exception();
        }
      }
    });
    for (const std::exception_ptr& fault : faults) {
      if (fault) std::rethrow_exception(fault);
    }
    CompileTimes all;
    for (const CompileTimes& of_share : times) all.add(of_share);
    all.note();
    for (std::size_t share = 0; share < shares.size(); ++share) keep(shares[share], objects[share], counts);
  }

  /// The longest text goes where least is, so that all take about as long.
  static std::vector<Texts> shared_out(Texts texts, std::size_t count) {
    std::ranges::stable_sort(texts, std::ranges::greater{},
                             [](const codegen::Text* text) { return text->code.size(); });
    std::vector<Texts> shares(count);
    std::vector<std::size_t> sizes(shares.size());
    for (const codegen::Text* text : texts) {
      const auto least = static_cast<std::size_t>(std::ranges::min_element(sizes) - sizes.begin());
      shares[least].push_back(text);
      sizes[least] += text->code.size();
    }
    return shares;
  }

  /// Loads a module, and keeps it on disk.
  void keep(const Texts& texts, const std::vector<std::byte>& object, KernelCounts& counts) {
    const std::shared_ptr<const Module> module = Compiler::instance().load(object);
    const std::string first = key_of(*texts.front());
    keep_module(first, module);
    for (const codegen::Text* text : texts) {
      if (!add(*text, module)) throw InternalError("a compiled module lacks the kernel " + text->name);
      ++counts.compiled;
    }
    KernelCache* cache = configured_cache();
    if (cache == nullptr) return;
    std::vector<std::byte> payload{std::byte{object_tag}};
    payload.insert(payload.end(), object.begin(), object.end());
    cache->store(first, payload);
    std::vector<std::byte> reference(33);
    reference[0] = std::byte{reference_tag};
    std::memcpy(reference.data() + 1, first.data(), 32);
    for (std::size_t i = 1; i < texts.size(); ++i) cache->store(key_of(*texts[i]), reference);
  }

  std::mutex mutex_;
  int level_ = 3;
  bool trapping_ = false;  // of the call under way
  std::string prelude_;
  std::unordered_map<std::string, Known> entries_;
  std::unordered_map<std::string, std::weak_ptr<const Module>> modules_;  // by the digest of the entry with the object
  std::deque<std::shared_ptr<const Module>> recent_;                      // the last one first
  std::size_t look_at_ = 256;  // so many names: some are of code that is gone
};

}  // namespace

bool can_compile(std::string* why) { return Compiler::available(why); }

std::vector<KernelEntry> get_kernels(std::span<const codegen::Text> texts, KernelCounts& counts) {
  return Store::instance().get(texts, counts);
}

}  // namespace croton::runtime::cpu
