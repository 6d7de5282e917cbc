"""The devices that an example runs on: their names come from the command line, and what is not there is made. Names
of GPUs that are missing become simulated GPUs, parts of the host (cpu0, cpu1) logical devices."""

import croton


def find(name):
    """The device of that name, or None."""
    return next((d for d in croton.devices() if d.name == ("cpu" if name == "cpu0" else name)), None)


def provide(names):
    """Sees to it that there are these devices ("cpu0", "cuda1"). Simulated GPUs take the place of real ones, so one
    that is missing makes all of them simulated. ValueError for names of another form."""
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
    """What is to be said beside a time that was taken on the device: nothing for the host and for a real GPU."""
    device = find(name)
    remarks = {"simulated": " (simulated, not a timing)", "logical": " (a part of a device)"}
    return remarks.get(device.kind, "") if device else ""
