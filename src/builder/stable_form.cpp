#include "builder/stable_form.hpp"

#include <atomic>

namespace croton::builder {
namespace {

StableForm no_form(const Variable&) { return {}; }
constinit std::atomic<StableForm (*)(const Variable&)> finder{no_form};

}  // namespace

StableForm stable_form(const Variable& y) { return finder.load(std::memory_order_relaxed)(y); }

void set_stable_forms(StableForm (*find)(const Variable& y)) { finder.store(find, std::memory_order_relaxed); }

}  // namespace croton::builder
