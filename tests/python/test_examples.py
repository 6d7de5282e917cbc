"""The programs of examples/python print the same as those of examples/: tests/examples has the output."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import croton

SOURCE = pathlib.Path(__file__).parents[2]
EXPECTED = SOURCE / "tests" / "examples"

_spec = importlib.util.spec_from_file_location("check", EXPECTED / "check.py")
check = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(check)


def run(program, *arguments, folder):
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(croton.__file__).parents[1])}
    # The programs compute for long, so their kernels are optimised, as those of the C++ programs are.
    flags = [flag for flag in environment.get("CROTON_FLAGS", "").split(",") if flag and "llvm_level" not in flag]
    environment["CROTON_FLAGS"] = ",".join([*flags, "device=cpu"])
    return subprocess.run([sys.executable, SOURCE / "examples" / "python" / f"{program}.py", *arguments],
                          capture_output=True, text=True, cwd=folder, env=environment, timeout=600)


# C3.2 C3.5 C3.6, C2.9, C5.6 C5.8, C5.2 C5.4 C5.5, C5.9 C5.10 C5.11
@pytest.mark.parametrize("program", ["matrix_powers", "mirrored_mlp", "mirrored_cnn", "parallel_model", "shared_lstm"])
def test_prints_what_the_cpp_program_prints(program, tmp_path):
    ran = run(program, folder=tmp_path)
    lines = (EXPECTED / f"{program}.txt").read_text().replace(f"{program}.cpp:", f"{program}.py:").splitlines()
    fault = check.first_difference([check.pattern_of(line) for line in lines], ran.stdout)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert fault is None, f"line {fault} of {program}.txt does not fit:\n{ran.stdout}"


def test_devices_are_arguments(tmp_path):
    ran = run("matrix_powers", "8", "3", "cuda0", "cuda1", folder=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "B^n: (dot): cuda1  [device_scope]" in ran.stdout
    assert "value B^n: cuda1 -> cpu" in ran.stdout
    ran = run("mirrored_mlp", "cpu0", "tpu", folder=tmp_path)
    assert ran.returncode == 1 and "not tpu" in ran.stderr
