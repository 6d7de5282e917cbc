#include <map>
#include <memory>
#include <mutex>

#include "base/config.hpp"
#include "runtime/support/cache.hpp"

namespace croton::runtime {

KernelCache* configured_cache() {
  const base::Flags& flags = base::config();
  if (!flags.cache) return nullptr;
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<KernelCache>> caches;
  const std::lock_guard lock(mutex);
  auto& cache = caches[flags.cache_dir];
  if (!cache) {
    cache = std::make_unique<KernelCache>(flags.cache_dir.empty() ? KernelCache::default_folder()
                                                                  : std::filesystem::path(flags.cache_dir));
  }
  return cache.get();
}

}  // namespace croton::runtime
