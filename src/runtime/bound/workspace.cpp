#include "runtime/bound/workspace.hpp"

#include <croton/error.hpp>

#include "base/memory.hpp"

namespace croton::runtime {

void Undo::save(Device& device, char* address, std::size_t bytes) {
  if (bytes == 0) return;
  SavedValue value{device, address, bytes, base::allocate_shared_memory(bytes)};
  device.copy_out(value.copy.get(), address, bytes);
  saved_.push_back(std::move(value));
}

void Undo::restore() noexcept {
  for (const SavedValue& value : saved_) {
    try {
      value.device.copy_in(value.address, value.copy.get(), value.bytes);
    } catch (const Error& error) {
      value.device.lose(error.what());
    }
  }
}

char* Workspace::block(Device& device, std::size_t segment, std::size_t bytes) {
  if (blocks_.size() <= segment) blocks_.resize(segment + 1);
  Block& block = blocks_[segment][&device];
  if (block.bytes < bytes) {
    block = {};  // the contents are not needed: free it before the larger allocation
    block = {device.allocate(bytes), bytes};
  }
  return static_cast<char*>(block.memory.get());
}

Uploads& Workspace::uploads(Device& device) {
  std::unique_ptr<Uploads>& found = uploads_[&device];
  if (!found) found = device.make_uploads();
  return *found;
}

bool Workspace::save_memory() {
  bool saved = false;
  for (const auto& [device, uploads] : uploads_) saved = (uploads && uploads->save_memory()) || saved;
  return saved;
}

}  // namespace croton::runtime
