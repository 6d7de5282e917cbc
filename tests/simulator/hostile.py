"""`croton simulate` survives the kernels of hostile.txt, and reports their errors and lines; it has no access to files
of the host.

usage: hostile.py CROTON HOSTILE_TXT
"""

import os
import re
import subprocess
import sys
import tempfile


def cases(path):
    with open(path) as file:
        parts = file.read().split("\n## ")
    for part in parts[1:]:
        name, arg, expect, text = part.split("\n", 3)
        words, where = expect.removeprefix("expect ").split(" @", 1)
        yield name, arg.removeprefix("arg "), words, where.strip(), text


def run(croton, folder, arg, text):
    path = os.path.join(folder, "kernel.cu")
    with open(path, "w") as file:
        file.write(text)
    command = [croton, "simulate", path, "--kernel", "k", "--arg", arg, "--arg", "i32=1", "--seconds", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)
    return done.returncode, done.stdout, done.stderr, path


def main():
    croton, path = sys.argv[1:]
    wrong, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder
        for name, arg, words, where, text in cases(path):
            count += 1
            status, out, err, file = run(croton, folder, arg, text)
            if words == "right":
                ok = status == 0 and out and where in out and not err
            elif where.isdigit():  # the compiler's line
                ok = status == 1 and words in err and re.search(re.escape(file) + ":" + where + "[: ]", err)
            else:
                ok = status == 1 and words in err and where in err and "croton: " in err
            if not ok or os.listdir(folder) != ["kernel.cu"]:
                wrong.append(f"{name}: {status} {out[:300]} {err[:500]} {os.listdir(folder)}")
    print(*wrong, sep="\n")
    print(f"{count - len(wrong)} of {count} hostile kernels were survived and reported")
    sys.exit(1 if wrong or count < 70 else 0)


main()
