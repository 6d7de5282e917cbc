"""The places of CUDA tools and libraries: next to this Python, in importable packages, in toolkits."""
import glob
import importlib.util
import os
import shutil
import sys


def package_folders():
    """The folders of importable packages named `nvidia`."""
    spec = importlib.util.find_spec("nvidia")
    return [os.path.dirname(folder) for folder in (spec.submodule_search_locations or [])] if spec else []


def environment(env):
    """`env`, in which Croton finds the libraries of this Python: it searches next to the python3 of PATH, and in
    PYTHONPATH."""
    front = lambda name, folders: os.pathsep.join([*folders, *filter(None, [env.get(name)])])
    return env | {"PATH": front("PATH", [os.path.join(sys.prefix, "bin")]),
                  "PYTHONPATH": front("PYTHONPATH", package_folders())}


def tool(name, named=None):
    """The path of a program: the named one, one in PATH or in a toolkit; or None."""
    if named:
        return named
    patterns = ["/usr/local/cuda/bin", "/usr/local/cuda-*/bin", "/opt/cuda*/bin", "/opt/nvidia/*/*", "/opt/nvidia/*"]
    homes = [os.path.join(os.environ[key], "bin") for key in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(key)]
    folders = homes + [folder for pattern in patterns for folder in sorted(glob.glob(pattern), reverse=True)]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders))
