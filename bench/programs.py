"""The measured programs, and the execution of one of them: in a separate process, on its cores, with its disk caches in
a folder of this run, and with a time limit."""
import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile

PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers")
GEMM = "gemm_1000"  # every peer times it too: its rate is the limit of all products


@dataclasses.dataclass(frozen=True)
class Peer:
    title: str
    script: str
    modules: str  # required modules of the interpreter
    flags: tuple = ()


KNOWN = {"numpy": Peer("NumPy", "peer_numpy.py", "numpy, scipy"),
         "jax": Peer("JAX", "peer_jax.py", "jax"),
         "torch-eager": Peer("PyTorch eager", "peer_torch.py", "torch", ("--variant", "eager")),
         "torch-compile": Peer("torch.compile", "peer_torch.py", "torch", ("--variant", "compile")),
         "pytensor-numba": Peer("PyTensor numba", "peer_pytensor.py", "pytensor, numba", ("--variant", "numba")),
         "pytensor-c": Peer("PyTensor C", "peer_pytensor.py", "pytensor", ("--variant", "c")),
         "onnxruntime": Peer("ONNX Runtime", "peer_onnxruntime.py", "onnxruntime, onnx")}


def title(program):
    return KNOWN[program].title if program in KNOWN else {"croton": "Croton", "hand": "by hand"}[program]


@dataclasses.dataclass(frozen=True)
class Job:
    """One process."""
    program: str
    mode: str  # time, compile or memory
    threads: int
    workloads: tuple
    round: int = 0
    state: str = ""  # of the caches, in mode compile: cold or warm


@dataclasses.dataclass(frozen=True)
class Found:
    """The result of a process for one workload: figures, or an "error", or a text for the table "instead"."""
    job: Job
    workload: str
    record: dict


class Programs:
    """Croton, the installed peers (`peers`), and the handwritten loops."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.python = options.python or make_python(folder)
        self.hand = build_hand(folder)
        self.versions, self.missing, self.peers = {}, {}, []
        for name in options.peers:
            reason = reason_missing(self.python, KNOWN[name])
            if reason:
                self.missing[KNOWN[name].title] = reason
            else:
                self.peers.append(name)

    def command(self, job, out):
        if job.program == "hand":
            cores = sorted(os.sched_getaffinity(0))[-job.threads:]
            command = [self.hand, str(job.threads), str(self.options.budget)]
            return ["taskset", "-c", ",".join(map(str, cores)), *command, *["reduced"] * self.options.quick]
        if job.program == "croton":
            command = [self.options.croton_bench]
        else:
            peer = KNOWN[job.program]
            command = [self.python, os.path.join(PEERS, peer.script), *peer.flags]
        return command + ["--mode", job.mode, "--threads", str(job.threads), "--workloads", ",".join(job.workloads),
                          "--budget", str(self.options.budget), "--json", out]

    def run(self, job, cache):
        """The list of results, one entry for each workload."""
        waits = job.mode == "compile" and job.program != "croton"
        limit = self.options.first_limit if waits else self.options.limit
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            out = os.path.join(folder, "out.json")
            status, log = wait_for(self.command(job, out), environment(cache), limit, out)
            if status is None:
                record = {"instead": f"over {limit:.0f} s"} if waits else {"error": f"took more than {limit:.0f} s"}
                return [Found(job, workload, record) for workload in job.workloads]
            if status not in (0, 1):  # 1: a workload failed, and the JSON says which one
                last = log.strip().splitlines()[-1:] or [""]
                return [Found(job, w, {"error": f"exit status {status}. {last[0]}"[:300]}) for w in job.workloads]
            with open(out) as text:
                said = json.load(text)
        self.versions |= said["versions"]
        for workload, seconds in said.get("transfer_s", {}).items():
            said["results"].setdefault(workload, {})["transfer_s"] = seconds
        extra = {"import_s": said["import_s"]} if said["import_s"] else {}
        return [Found(job, workload, record | extra) for workload, record in said["results"].items()]


def wait_for(command, env, limit, out):
    """(exit status, its log); (None, "") if it took too long: then it and all processes that it started are killed."""
    with open(out, "w") as output, tempfile.TemporaryFile("w+") as log:  # a pipe would wait for its children too
        process = subprocess.Popen(command, env=env, stdout=output, stderr=log, start_new_session=True)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.seek(0)
        return status, log.read()


def environment(cache):
    """Croton, with the caches in the given folder and without settings that the other programs lack."""
    prefixes = ("CROTON_", "JAX_", "XLA_", "TORCH", "TRITON_", "PYTENSOR", "NUMBA_", "OMP_", "MKL_", "OPENBLAS_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(prefixes)}
    places = {"CROTON_FLAGS": "cache_dir=", "PYTENSOR_FLAGS": "base_compiledir=", "JAX_COMPILATION_CACHE_DIR": "",
              "TORCHINDUCTOR_CACHE_DIR": "", "TRITON_CACHE_DIR": "", "NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": "",
              "TMPDIR": ""}  # where torch.compile keeps its precompiled headers
    for name, prefix in places.items():
        path = os.path.join(cache, name.lower())
        os.makedirs(path, mode=0o700, exist_ok=True)
        kept[name] = prefix + path
    return kept | {"PYTHONDONTWRITEBYTECODE": "1"}


def reason_missing(python, peer):
    """Why the interpreter cannot run the peer, or nothing."""
    tried = subprocess.run([python, "-c", f"import {peer.modules}"], capture_output=True, text=True)
    return tried.returncode and (tried.stderr.strip().splitlines() or ["the import fails"])[-1][:200]


def make_python(folder):
    print("installing the peers", file=sys.stderr)
    venv = os.path.join(folder, "venv")
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    python = os.path.join(venv, "bin", "python")
    requirements = os.path.join(PEERS, "requirements.txt")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", requirements], check=True)
    return python


def build_hand(folder):
    program = os.path.join(folder, "hand")
    compiler = os.environ.get("CXX", "c++")
    subprocess.run([compiler, "-std=c++20", "-O3", "-march=native", "-ffast-math", "-fopenmp",
                    os.path.join(PEERS, "hand.cpp"), "-o", program], check=True)
    return program
