"""The clock that a compiled function reads: a warning at the line, and a trace at every call."""

import datetime
import time
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
