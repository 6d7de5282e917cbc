"""Compilation of kernels by NVRTC."""
import concurrent.futures
import hashlib
import json
import pathlib
import threading

from cupy.cuda import nvrtc

KERNELS = pathlib.Path(__file__).resolve().parent / "kernels"
TEMPLATES = KERNELS.parents[2] / "codegen_templates" / "common"  # Croton's functions


class Compiler:
    """Compiles the instances of the files in parallel, a few to a program, and keeps the results in a folder."""

    PER_PROGRAM = 4
    OPTIONS = ("--std=c++17", "--fmad=false", "--device-as-default-execution-space", "-diag-suppress=177,549")

    def __init__(self, arch, folder, threads):
        self.arch, self.folder = arch, pathlib.Path(folder)
        croton = [TEMPLATES / name for name in ("device_cuda.cuh", "numeric.cuh", "math.cuh")]
        self.headers = {path.name: path.read_text() for path in [*sorted(KERNELS.glob("*.cuh")), *croton]}
        self.pool = concurrent.futures.ThreadPoolExecutor(threads)
        self.programs = {}  # kernel: the future of (image, names, log)

    def request(self, kernels):
        """Starts the compilation of kernels that are not known yet."""
        files = {}
        for kernel in dict.fromkeys(kernels):
            if kernel not in self.programs:
                files.setdefault(kernel.split(": ", 1)[0], []).append(kernel)
        for file, wanted in files.items():
            for i in range(0, len(wanted), self.PER_PROGRAM):
                group = wanted[i:i + self.PER_PROGRAM]
                future = self.pool.submit(self.compile, file, [kernel.split(": ", 1)[1] for kernel in group])
                self.programs |= dict.fromkeys(group, future)

    def compile(self, file, names):
        """Returns (machine code, {instance: its name there}, log)."""
        text = (KERNELS / file).read_text()
        key = hashlib.sha256(json.dumps([self.arch, self.OPTIONS, text, self.headers, names]).encode()).hexdigest()[:24]
        image, about = self.folder / f"{key}.cubin", self.folder / f"{key}.json"
        if about.exists():
            return image.read_bytes(), *json.loads(about.read_text())
        headers = [[part.encode() for part in of] for of in (self.headers.values(), self.headers)]
        program = nvrtc.createProgram(text, file, *headers)
        try:
            for name in names:
                nvrtc.addNameExpression(program, name)
            nvrtc.compileProgram(program, [*self.OPTIONS, f"--gpu-architecture={self.arch}", "--ptxas-options=-v"])
            code, log = nvrtc.getCUBIN(program), nvrtc.getProgramLog(program).rstrip("\0")
            lowered = {name: nvrtc.getLoweredName(program, name) for name in names}
        except nvrtc.NVRTCError as error:
            raise RuntimeError(f"{file}: {error}\n{nvrtc.getProgramLog(program)}") from None
        finally:
            nvrtc.destroyProgram(program)
        image.write_bytes(code)
        partial = self.folder / f"{key}.{threading.get_ident()}"
        partial.write_text(json.dumps([lowered, log]))
        partial.rename(about)
        return code, lowered, log

    def get(self, kernel):
        """The same for the program of a kernel, after its compilation."""
        return self.programs[kernel].result()
