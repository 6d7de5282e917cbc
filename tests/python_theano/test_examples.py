"""The Theano programs of examples/python, run as users run them: `python -m croton.theano program.py`."""

import os
import pathlib
import re
import subprocess
import sys

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"


def run(program, *arguments, flags="", theano_flags=""):
    kept = os.environ.get("CROTON_FLAGS", "")
    environment = {**os.environ, "CROTON_FLAGS": ",".join(filter(None, [kept, flags])), "THEANO_FLAGS": theano_flags,
                   "THEANORC": ""}
    return subprocess.run([sys.executable, "-m", "croton.theano", str(EXAMPLES / f"{program}.py"), *arguments],
                          capture_output=True, text=True, env=environment, timeout=600)


def test_c1_two_gpus():
    ran = run("theano_devices", flags="cuda_simulator=2")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "[2. 4. 6.]", "[2. 4. 6.]", "[2. 4. 6.]", "x is stored on cuda0",
        "the second call there sent: 12 bytes from cuda1 to cpu", "kernels: 1"]
    assert "Mapped name None to device cuda0: simulated GPU" in ran.stderr


def test_c1_a_device_that_is_not_there():
    ran = run("theano_devices", "cuda0", "cuda7", flags="cuda_simulator=2")
    assert ran.returncode == 1 and "there is no device cuda7; there are: cpu, cuda0 (simulated), cuda1 (simulated)" in ran.stderr


def losses_of(text):
    return [float(loss) for loss in re.findall(r"loss (\S+)", text)]


def test_c4_the_mlp():
    ran = run("mlp_theano", "10", flags="device=cpu", theano_flags="floatX=float32")
    assert ran.returncode == 0, ran.stderr
    losses = losses_of(ran.stdout)
    # An independent run of NumPy in float32; the path is chaotic after the fifth epoch.
    for got, wanted in zip(losses, [22547.56, 4453994.6, 2013731.8, 75223.68, 1616.41]):
        assert abs(got - wanted) <= 1e-3 * wanted
    assert len(losses) == 10 and 5 < losses[9] < 500
    accuracy = float(re.search(r"held out: (\S+)", ran.stdout).group(1))
    assert 0.05 < accuracy < 0.2


def test_c4_with_floatX_float64_says_what_to_do():
    ran = run("mlp_theano", "1", flags="device=cpu")
    assert ran.returncode == 1
    assert "An update must have the same type as the original shared variable (shared_var=w1" in ran.stderr
    assert "set floatX=float32, or cast the update by .astype('float32')" in ran.stderr
