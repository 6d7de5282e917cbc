"""Compilation of all kernels without a GPU."""
import itertools
import json

from compiler import Compiler
from experiments import selected

MULTIPROCESSORS = 132  # of an H200; the kernels do not depend on it


def compile_only(options):
    """Compiles all kernels. Prints those that use local memory, with the assembler's words; returns whether any failed.

    kernels.json in the folder of results has the assembler's words about every kernel.
    """
    chosen = selected(options, MULTIPROCESSORS)
    compiler = Compiler(options.arch, options.cache, options.threads)
    compiler.request(itertools.chain.from_iterable(experiment.kernels() for experiment in chosen))
    failed, kernels = 0, {}
    for kernel in list(compiler.programs):
        try:
            _, names, log = compiler.get(kernel)
        except RuntimeError as error:
            failed += 1
            print(error)
            continue
        name = names[kernel.split(": ", 1)[1]]
        part = log.split(f"Function properties for {name}\n", 1)[-1].split("ptxas info    : Compiling", 1)[0]
        kernels[kernel] = " ".join(part.split())
        if "0 bytes stack frame" not in part:
            print(f"{kernel}: {kernels[kernel]}")
    print(f"{len(kernels)} kernels compiled, {failed} failed")
    for experiment in chosen:
        print(f"{experiment.name}: {len(experiment.variants)} variants, {len(set(experiment.kernels()))} kernels")
    (options.out / "kernels.json").write_text(json.dumps(kernels, indent=1))
    return failed > 0
