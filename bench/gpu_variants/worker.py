"""The process that uses the device."""
import os
import sys
import traceback

from compiler import Compiler
from experiments import selected
from gpu import Gpu, driver_version
from lab import Lab
from processes import LINES, Log, read_lines
from session import Session


def work(options):
    """Measures the selected experiments, except variants that already have a line."""
    path = options.out / LINES
    before = read_lines(path)
    skipped = {(line["experiment"], line["variant"]) for line in before if line["kind"] in ("begins", "result")}
    gpu = Gpu()
    compiler = Compiler(gpu.arch, options.cache, options.threads)
    chosen = selected(options, gpu.sms)
    lab = Lab(gpu, compiler)
    for experiment in chosen:
        compiler.request(experiment.kernels())
    log = Log(path)
    if not any(line["kind"] == "machine" for line in before):
        size = 1 << (16 if options.small else 29)
        lab.time([lambda: lab.hold(1e-4)], False, 100)  # brings the clocks up
        log({
            "kind": "machine", "name": gpu.name, "sms": gpu.sms, "driver": driver_version(),
            "copy": lab.copy_rate(size, 2), "experiments": [experiment.name for experiment in chosen]})
    session = Session(lab, log, options)
    for experiment in chosen:
        try:
            session.experiment(experiment, skipped)
        except Exception as error:
            log({"kind": "failed", "experiment": experiment.name, "why": str(error)[:2000]})
            gpu.wait()
    log({"kind": "end"})


def main(options):
    """Works, and ends the process without waiting for unneeded compilations."""
    failed = 0
    try:
        work(options)
    except Exception:
        traceback.print_exc()
        failed = 1
    sys.stdout.flush()
    os._exit(failed)
