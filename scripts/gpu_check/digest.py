"""A digest of the sources of all programs and tests, by which a pack that is older than the tree is noticed."""
import hashlib
import os
import sys

PARTS = ["CMakeLists.txt", "cmake", "src", "include", "codegen_templates", "tests", "bench", "tools", "examples",
         "data"]
ENDINGS = (".cpp", ".hpp", ".def", ".cu", ".cuh", ".txt", ".cmake", ".in", ".map", ".csv", ".test")


def of(root):
    files = []
    for part in PARTS:
        path = os.path.join(root, part)
        files += [path] if os.path.isfile(path) else [os.path.join(folder, name) for folder, _, names in os.walk(path)
                                                      for name in names if name.endswith(ENDINGS)]
    total = hashlib.sha256()
    for path in sorted(files):
        total.update(os.path.relpath(path, root).encode() + b"\0")
        with open(path, "rb") as file:
            total.update(hashlib.sha256(file.read()).digest())
    return total.hexdigest()


if __name__ == "__main__":
    print(of(sys.argv[1]))
