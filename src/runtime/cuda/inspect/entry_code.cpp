#include "runtime/cuda/inspect/entry_code.hpp"

#include <algorithm>
#include <string>

#include "base/index.hpp"
#include "runtime/cuda/inspect/nvdisasm.hpp"

namespace croton::runtime::cuda {

std::vector<EntryCode> entry_codes(const KernelInfo& kernel, std::span<const KernelFacts> facts,
                                   std::span<const std::byte> lined_cubin) {
  const std::string_view prelude = std::string_view(kernel.unit).substr(0, kernel.unit.size() - kernel.source.size());
  const KernelText text{kernel.source, base::to_int(std::ranges::count(prelude, '\n'))};
  std::vector<MachineCode> codes = read_machine_code(disassemble(lined_cubin, true), text);
  std::vector<EntryCode> entries;
  for (const KernelFacts& of_entry : facts) {
    const auto code = std::ranges::find(codes, of_entry.entry, &MachineCode::entry);
    if (code == codes.end()) throw InternalError("nvdisasm lists no code of " + of_entry.entry);
    entries.push_back({of_entry, std::move(*code)});
  }
  return entries;
}

}  // namespace croton::runtime::cuda
