"""The programs to check with: of the pack, or of a build folder. Nothing is built here."""
import hashlib
import json
import os
import subprocess
import sys
import tarfile

import digest
import places
from processes import run
from refused import Refused

BUILD, SOURCE = "@BUILD@", "@SOURCE@"  # placeholders of the two folders in the pack's list of tests


class Programs:
    def __init__(self, root, folder, commit, pack):
        """`commit` and `pack` say which programs these are."""
        self.root, self.folder, self.commit, self.pack, self.note = root, folder, commit, pack, ""
        self.env = places.environment(dict(os.environ, CROTON_TEST_SOURCE_FOLDER=root))
        self.listed = None

    def path(self, name):
        return os.path.join(self.folder, "bin", name)

    def with_flags(self, *flags, **variables):
        """The environment of a program with these flags in addition to the user's own."""
        own = self.env.get("CROTON_FLAGS")
        return self.env | variables | {"CROTON_FLAGS": ",".join(filter(None, [own, *flags]))}

    def start(self, env):
        return run("version", [self.path("croton"), "--version"], 20, env)

    def tests(self):
        """ctest's list of tests, with the folders of this machine."""
        kept = os.path.join(self.folder, "tests.json")
        try:
            if os.path.exists(kept):
                with open(kept) as file:
                    text = file.read()
                for mark, folder in ((BUILD, self.folder), (SOURCE, self.root)):
                    text = text.replace(mark, json.dumps(folder)[1:-1])
            else:
                text = subprocess.run(["ctest", "--test-dir", self.folder, "--show-only=json-v1"], check=True, timeout=60,
                                      capture_output=True, text=True).stdout
            return json.loads(text)["tests"]
        except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError) as error:
            raise Refused(f"the tests of {self.folder} cannot be listed: {type(error).__name__}: {error}")

    def workloads(self, limit=20):
        """The workloads of the benchmark, in the order of the report; none if it does not list them."""
        if self.listed is None:
            done = run("workloads", [self.path("croton_gpu_bench"), "--list", "1"], limit, self.env)
            self.listed = done.output.split() if done.good else []
        return self.listed


def unpack(archive, folder):
    os.makedirs(folder, exist_ok=True)
    try:
        with tarfile.open(archive, "r:xz") as tar:
            tar.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    except tarfile.CompressionError:  # a Python that was built without its library
        raise Refused(f"{sys.executable} lacks the module lzma, which unpacks the pack: use another Python 3.9 or newer")
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise Refused(f"{archive} cannot be unpacked: {error}")
    except Exception as error:  # lzma.LZMAError: its module may not be there to name it
        if type(error).__name__ != "LZMAError":
            raise
        raise Refused(f"{archive} cannot be unpacked: {error}")


def description(pack):
    """pack.json"""
    path = os.path.join(pack, "pack.json")
    try:
        with open(path) as file:
            made = json.load(file)
        if all(isinstance(made[key], str) for key in ("digest", "commit", "sha256")):
            return made
    except (ValueError, KeyError, TypeError):
        pass
    raise Refused(f"{path} is damaged: make the pack again by scripts/pack_gpu_check.sh")


def from_pack(root, pack, work):
    archive = os.path.join(pack, "programs.tar.xz")
    if not os.path.exists(archive):
        raise Refused(f"there is no {os.path.relpath(archive, root)}: scripts/pack_gpu_check.sh makes it, on a machine "
                      "that builds Croton")
    made = description(pack)
    with open(archive, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else \
            hashlib.sha256(file.read()).hexdigest()
    if found != made["sha256"]:
        raise Refused("the pack is damaged: its archive is not the one that pack.json speaks of")
    folder = os.path.join(work, "programs")
    unpack(archive, folder)
    programs = Programs(root, folder, made["commit"], found[:12])
    library_folders(programs)
    notes = ["the pack is older than the tree: its programs are what is checked"] if made["digest"] != digest.of(root) else []
    if made["commit"].endswith("-dirty"):
        notes.append("the pack was made of a tree with changes that no commit has")
    programs.note = "; ".join(notes)
    if notes:
        print(f"NOTE: {programs.note}", flush=True)
    return programs


def library_folders(programs):
    """Makes programs find the libraries of the pack; libstdc++ only if the system's own is too old."""
    for parts in (["lib"], ["lib", "lib/gcc"]):
        folders = [os.path.join(programs.folder, part) for part in parts]
        before = os.environ.get("LD_LIBRARY_PATH")
        programs.env["LD_LIBRARY_PATH"] = os.pathsep.join(folders + ([before] if before else []))
        done = programs.start(programs.env)
        if done.good:
            return
    raise Refused("the pack's programs do not start: " + done.tail(3))


def obtain(root, pack, work, build):
    """The programs of the folder `build` if one is given, else the pack's. Raises Refused."""
    if not build:
        return from_pack(root, pack, work)
    programs = Programs(root, os.path.abspath(build), "of a build folder", digest.of(root)[:12])
    done = programs.start(programs.env)
    if not done.good:
        raise Refused(f"{programs.path('croton')} does not run: {done.tail(3)}")
    return programs
