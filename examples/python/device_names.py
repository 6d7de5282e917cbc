"""The devices of an example: their names come from the command line, and missing ones are made. Missing GPUs become
simulated GPUs, parts of the host (cpu0, cpu1) logical devices."""

import croton


def find(name):
    """The device with this name, or None."""
    return next((d for d in croton.devices() if d.name == ("cpu" if name == "cpu0" else name)), None)


def provide(names):
    """Makes sure that these devices exist ("cpu0", "cuda1"). Simulated GPUs replace real ones, so if one is missing,
    all are simulated. ValueError for names of another form."""
    for name in names:
        kind = name.rstrip("0123456789")
        if kind not in ("cpu", "cuda"):
            raise ValueError(f"devices are cpu0, cuda1 and so on, not {name}")
        if name == "cpu" or find(name) is not None:
            continue
        count = 1 + int(name[len(kind):])
        if kind == "cpu":
            croton.config.logical_devices = f"cpu:{count}"
        else:
            croton.config.cuda_simulator = count


def remark(name):
    """A remark about times measured on the device: empty for the host and for a real GPU."""
    device = find(name)
    remarks = {"simulated": " (simulated, not a timing)", "logical": " (a part of a device)"}
    return remarks.get(device.kind, "") if device else ""
