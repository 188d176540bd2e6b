"""What a compiled function reads of the world: the time, random bits of the system, files."""

import datetime
import os
import pathlib
import secrets
import time
import uuid
import warnings
from datetime import datetime as moment
from time import perf_counter

import numpy as np
import pytest

import funcgrad as fg


def in_the_body(x):
    import time as clock

    return x * clock.monotonic()


READERS = {
    "time.time": lambda x: x * time.time(),
    "time.time_ns": lambda x: x * time.time_ns(),
    "perf_counter": lambda x: x * perf_counter(),
    "datetime.now": lambda x: x * moment.now().timestamp(),
    "date.today": lambda x: x * datetime.date.today().year,
    "in the body": in_the_body,
    "uuid4": lambda x: x * (uuid.uuid4().int % 1000003),
    "token": lambda x: x * secrets.randbelow(10**9),
    "urandom": lambda x: x * int.from_bytes(os.urandom(4), "big"),
    "default_rng": lambda x: x * np.random.default_rng().normal(),
    "RandomState": lambda x: x * np.random.RandomState().normal(),
}


@pytest.mark.parametrize("name", READERS)
def test_reading_the_clock_is_told_at_the_line(name):
    f = fg.jit(READERS[name])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f(2.0)
        f(2.0)
    assert len(caught) == 2 and "\n2. " in f.report()  # each call traces
    code = READERS[name].__code__
    assert caught[0].filename == __file__
    assert code.co_firstlineno <= caught[0].lineno <= code.co_firstlineno + 3
    assert "was called while the function was traced" in str(caught[0].message)


def test_every_call_has_its_own_time():
    f = fg.jit(lambda x: x * time.perf_counter_ns())
    with pytest.warns(RuntimeWarning):
        assert f(1.0) != f(1.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, verbose=False: x * time.time() if verbose else x * 2.0,
        lambda x: x * datetime.timedelta(seconds=2).total_seconds(),
        lambda x: x * (time.gmtime(0).tm_year - 1968),
    ],
)
def test_a_clock_that_is_not_read_costs_nothing(f, recwarn):
    g = fg.jit(f)
    assert g(1.5) == 3.0 and g(2.5) == 5.0
    assert not recwarn.list
    assert g.report().count("\n") == 0


def test_a_profiler_is_left_alone():
    import sys

    seen = []

    def profile(frame, event, argument):
        seen.append(event)

    f = fg.jit(lambda x: x * (time.time() > 0))
    sys.setprofile(profile)
    try:
        np.testing.assert_array_equal(f(1.0), 1.0)
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(None)
    assert seen


FILES = {
    "open": lambda x, file: x * float(open(file).read()),  # noqa: SIM115
    "read_text": lambda x, file: x * float(file.read_text()),
    "pathlib": lambda x, file: x * float(pathlib.Path(str(file)).read_text()),
    "loadtxt": lambda x, file: x * np.loadtxt(file),
    "fromfile": lambda x, file: x * np.fromfile(file, np.uint8)[0],
    "exists": lambda x, file: x * os.path.exists(str(file)),
    "listdir": lambda x, file: x * len(os.listdir(file.parent)),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_read_is_told_once(name, tmp_path):
    file = tmp_path / "number"
    file.write_text("3.0")
    read = FILES[name]
    f = fg.jit(lambda x: read(x, file))
    want = read(2.0, file)
    with pytest.warns(fg.CaptureWarning, match="was called at File .*test_readings.py"):
        assert f(2.0) == want
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(2.0) == want
    assert "was called at" in f.report()


def test_files_that_are_not_read_are_not_told(tmp_path, recwarn):
    file = tmp_path / "number"

    def f(x, save=False):
        import wave  # an import reads files, and is no part of the program

        if save:
            file.write_text(str(x))
        return x * len(os.path.join("a", "b")) * (wave is not None)

    assert fg.jit(f)(2.0) == 6.0
    assert not [w for w in recwarn.list if not issubclass(w.category, DeprecationWarning)]


@pytest.mark.parametrize(
    "f", [lambda x: x * len(np.geterr()), lambda x: x + len(np.get_printoptions())]
)
def test_settings_of_the_process_are_told(f):
    with pytest.warns(fg.CaptureWarning, match="uses numpy.get"):
        fg.jit(f)(2.0)
