"""The data and the substitutes with which tools/programs runs public programs; the programs themselves need their
sources."""

import gzip
import pathlib
import pickle
import sys

import numpy as np
import pytest

_TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools" / "programs"


@pytest.fixture(autouse=True)
def tools(monkeypatch):
    before = set(sys.modules)
    path = list(sys.path)
    monkeypatch.syspath_prepend(str(_TOOLS))
    yield
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if str(_TOOLS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_music_comes_back(tmp_path):
    import data

    data.music(tmp_path, songs=2, steps=20)
    from midi.utils import midiread, midiwrite

    roll = midiread(str(tmp_path / "song1.mid"), (21, 109), 0.3).piano_roll
    assert roll.shape == (20, 88) and (roll.sum(1) == 3).all()
    rng = np.random.RandomState(0)
    wanted = (rng.uniform(size=(50, 88)) < 0.3).astype(float)
    wanted[-1, 0] = 1  # A silent end has no length.
    midiwrite(str(tmp_path / "x.mid"), wanted, (21, 109), 0.3)
    assert (midiread(str(tmp_path / "x.mid"), (21, 109), 0.3).piano_roll == wanted).all()


def test_flights_have_a_label_for_each_word(tmp_path):
    import data

    data.flights(tmp_path, train=30, held=5)
    with gzip.open(tmp_path / "atis.fold3.pkl.gz") as file:
        train, valid, test, names = pickle.load(file)
    assert [len(part[0]) for part in (train, valid, test)] == [30, 5, 5]
    words = {number: word for word, number in names["words2idx"].items()}
    labels = {number: label for label, number in names["labels2idx"].items()}
    for sentence, _, marks in zip(*train):
        assert len(sentence) == len(marks)
        for word, mark in zip(sentence, marks):
            assert (labels[mark] == "B-day") == words[word].endswith("day")


@pytest.mark.parametrize(
    "wanted, tolerance, right",
    [(2.5, 0.0, True), (2.6, 0.0, False), (2.6, 0.1, True), (None, 0.0, None), ("2.50", None, True), ("2.5", None, False)],
)
def test_judging(wanted, tolerance, right):
    import run

    program = {"results": [("cost", r"cost (\S+)", wanted, tolerance)]}
    assert run.judge(program, "cost 7\ncost 2.50\n") == [("cost", "2.50", wanted, right)]
    assert run.judge(program, "nothing")[0][3] is False


def test_each_program_has_a_driver_and_a_known_source():
    import programs
    import run

    assert len({program["name"] for program in programs.PROGRAMS}) == len(programs.PROGRAMS)
    for program in programs.PROGRAMS:
        assert (_TOOLS / "drivers" / (program["driver"] + ".py")).is_file()
        assert program["source"] in programs.SOURCES and program["results"]
        assert set(program["data"]) <= set(run._DATA)
