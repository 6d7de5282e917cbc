"""The programs to check with: of the pack, or of a build folder. Nothing is built here."""
import hashlib
import json
import os
import subprocess
import tarfile

import digest
import places
from processes import run

BUILD, SOURCE = "@BUILD@", "@SOURCE@"  # stand for the two folders in the pack's list of tests


class NoPrograms(Exception):
    pass


class Programs:
    def __init__(self, root, folder, commit, pack):
        """`commit` and `pack` say which programs these are."""
        self.root, self.folder, self.commit, self.pack, self.note = root, folder, commit, pack, ""
        self.env = places.environment(dict(os.environ, CROTON_TEST_SOURCE_FOLDER=root))

    def path(self, name):
        return os.path.join(self.folder, "bin", name)

    def with_flags(self, *flags, **variables):
        """The environment of a program with those flags besides the user's own."""
        own = self.env.get("CROTON_FLAGS")
        return self.env | variables | {"CROTON_FLAGS": ",".join(filter(None, [own, *flags]))}

    def start(self, env):
        return run("version", [self.path("croton"), "--version"], 20, env)

    def tests(self):
        """ctest's list of tests, with the folders of this machine."""
        kept = os.path.join(self.folder, "tests.json")
        if os.path.exists(kept):
            with open(kept) as file:
                text = file.read()
            for mark, folder in ((BUILD, self.folder), (SOURCE, self.root)):
                text = text.replace(mark, json.dumps(folder)[1:-1])
        else:
            text = subprocess.run(["ctest", "--test-dir", self.folder, "--show-only=json-v1"], check=True, timeout=60,
                                  capture_output=True, text=True).stdout
        return json.loads(text)["tests"]


def unpack(archive, folder):
    os.makedirs(folder, exist_ok=True)
    with tarfile.open(archive) as tar:
        tar.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))


def from_pack(root, pack, work):
    archive = os.path.join(pack, "programs.tar.xz")
    if not os.path.exists(archive):
        raise NoPrograms(f"there is no {os.path.relpath(archive, root)}: scripts/pack_gpu_check.sh makes it, on a "
                         "machine that builds Croton")
    with open(os.path.join(pack, "pack.json")) as file:
        made = json.load(file)
    with open(archive, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else \
            hashlib.sha256(file.read()).hexdigest()
    if found != made["sha256"]:
        raise NoPrograms("the pack is damaged: its archive is not the one that pack.json speaks of")
    folder = os.path.join(work, "programs")
    unpack(archive, folder)
    programs = Programs(root, folder, made["commit"], found[:12])
    library_folders(programs)
    if made["digest"] != digest.of(root):
        programs.note = "the pack is older than the tree: its programs are what is checked"
        print(f"NOTE: {programs.note}", flush=True)
    return programs


def library_folders(programs):
    """Lets programs find what the pack has for them; libstdc++ only where the system's own is too old."""
    for parts in (["lib"], ["lib", "lib/gcc"]):
        folders = [os.path.join(programs.folder, part) for part in parts]
        before = os.environ.get("LD_LIBRARY_PATH")
        programs.env["LD_LIBRARY_PATH"] = os.pathsep.join(folders + ([before] if before else []))
        done = programs.start(programs.env)
        if done.good:
            return
    raise NoPrograms("the pack's programs do not start: " + done.tail(3))


def obtain(root, pack, work, build):
    """The programs of the folder `build` if one is given, else the pack's. Raises NoPrograms."""
    if not build:
        return from_pack(root, pack, work)
    programs = Programs(root, os.path.abspath(build), "of a build folder", digest.of(root)[:12])
    done = programs.start(programs.env)
    if not done.good:
        raise NoPrograms(f"{programs.path('croton')} does not run: {done.tail(3)}")
    return programs
