// Copies to another device by the user. Placement adds other transfers, and removes this one if its input is already on
// the device.
#include <croton/device.hpp>

#include "base/device_name.hpp"
#include "builder/gradient_context.hpp"
#include "builder/node.hpp"
#include "ops/registry.hpp"

namespace croton {
namespace ops {
namespace {

const expr::Op transfer_op{
    .name = "transfer",
    .kind = expr::Kind::Transfer,
    .doc = "the same value on the device of the node",
    .infer = [](expr::InferContext& c) { return c.inputs[0]; },
    .gradient = [](const builder::GradientContext& c) { return std::vector<Variable>{c.gradient}; },
    .evaluate = [](const expr::EvaluateContext& c) { return c.inputs[0]; },
};

}  // namespace

void register_transfer(Registry& registry) { registry.add(transfer_op); }

}  // namespace ops

Variable transfer(const Variable& x, const std::string& device, Where where) {
  const std::uint16_t place = base::parse_device(device).place();
  const Variable result = builder::apply(ops::transfer_op, {x}, {}, where);
  result.node()->place = place;
  return result;
}

}  // namespace croton
