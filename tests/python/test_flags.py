"""Flags: read, set, scopes."""

import threading

import pytest

import croton
import croton.tensor as T


def test_reading_gives_python_values():
    assert croton.config.floatX in ("float32", "float64", "float16")
    assert isinstance(croton.config.cache, bool) and isinstance(croton.config.threads, int)
    assert "floatX" in dir(croton.config) and "floatX = " in repr(croton.config)
    assert not hasattr(croton.config, "_repr_html_")


def test_setting():
    before = croton.config.threads
    croton.config.threads = 1
    assert croton.config.threads == 1 and croton.flag("threads") == "1"
    croton.config.threads = before
    warn = croton.config.warn
    croton.config.warn = not warn
    assert croton.config.warn is not warn
    croton.config.warn = warn


def test_scopes_nest_and_end_with_errors():
    before = croton.config.floatX
    with croton.change_flags(floatX="float64", device="cpu"):
        assert T.scalar().dtype == "float64" and croton.config.device == "cpu"
        with croton.change_flags(floatX="float16"):
            assert croton.config.floatX == "float16"
        assert croton.config.floatX == "float64"
    with pytest.raises(ZeroDivisionError), croton.change_flags(floatX="float64"):
        1 / 0
    assert croton.config.floatX == before


def test_scopes_are_of_one_thread_and_decorate():
    seen = []

    @croton.change_flags(floatX="float64")
    def inside():
        thread = threading.Thread(target=lambda: seen.append(croton.config.floatX))
        thread.start()
        thread.join()
        seen.append(croton.config.floatX)

    inside()
    assert seen == [croton.config.floatX, "float64"]


def test_values_with_commas():
    with croton.change_flags(logical_devices="cpu:2,cuda:2"):
        assert croton.config.logical_devices == "cpu:2,cuda:2"


def test_wrong_names_and_values():
    with pytest.raises(croton.ConfigError, match="floatX"):
        croton.config.flaotX
    with pytest.raises(croton.ConfigError, match="float64"):
        croton.config.floatX = "floot"
    with pytest.raises(croton.ConfigError, match="float64"), croton.change_flags(floatX="floot"):
        pass
