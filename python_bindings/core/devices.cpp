// Devices in Python; croton/scopes.py wraps the scope in a context manager.
#include <croton/device.hpp>

#include "core/bindings.hpp"
#include "core/gil.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"

namespace croton::python {

void bind_devices(nb::module_& m) {
  nb::class_<DeviceInfo>(m, "DeviceInfo", "One device of this machine.")
      .def_ro("name", &DeviceInfo::name, "The name in programs: 'cuda0'.")
      .def_prop_ro(
          "kind",
          [](const DeviceInfo& device) {
            static constexpr const char* names[] = {"host", "real", "simulated", "logical"};
            return names[static_cast<std::size_t>(device.kind)];
          },
          "'host', 'real', 'simulated' or 'logical'.")
      .def_ro("title", &DeviceInfo::title, "The product name.")
      .def_ro("memory", &DeviceInfo::memory, "The memory in bytes.")
      .def_ro("compute_capability", &DeviceInfo::compute_capability,
              "The compute capability: '9.0'; empty for the host.")
      .def_ro("pci", &DeviceInfo::pci, "The PCI address: '0000:17:00.0'; empty if there is none.")
      .def("__repr__", [](const DeviceInfo& device) { return "<croton.DeviceInfo " + device.to_string() + ">"; })
      .def("__str__", &DeviceInfo::to_string);
  nb::class_<TransferInfo>(m, "TransferInfo", "A copy from one device to another that a call made.")
      .def_ro("what", &TransferInfo::what, "The variable's name, or its line.")
      .def_ro("source", &TransferInfo::from)
      .def_ro("target", &TransferInfo::to)
      .def_ro("bytes", &TransferInfo::bytes)
      .def_prop_ro(
          "kind",
          [](const TransferInfo& transfer) {
            static constexpr const char* names[] = {"input", "shared", "value", "output", "constant"};
            return names[static_cast<std::size_t>(transfer.kind)];
          },
          "'input', 'shared', 'value', 'output' or 'constant'.")
      .def("__repr__", [](const TransferInfo& t) {
        return "<croton.TransferInfo " + t.what + ": " + t.from + " -> " + t.to + ", " + std::to_string(t.bytes) +
               " bytes>";
      });
  m.def("devices", &devices, nb::call_guard<ReleaseGil>(), "All devices under the present flags, the host first.");
  m.def("use", &use, "device"_a, nb::call_guard<ReleaseGil>(),
        "Makes a device the process's default for later shared variables and calls; existing values do not move.");
  m.def(
      "transfer", [](nb::handle x, const std::string& device) { return transfer(to_variable(x), device, here()); },
      "x"_a, "device"_a, "x on the given device.");
  nb::class_<device_scope>(m, "DeviceScope", "A scope: the ops that the thread builds in it run on the device.")
      .def(nb::init<const std::string&>(), "device"_a);
}

}  // namespace croton::python
