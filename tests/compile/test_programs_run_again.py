"""Programs whose loops are short ones over matrices: where these overflow, another one runs.

It is made when that happens, whatever the program is called by, and nothing is seen of the first.
"""

import pickle
import shutil
import threading

import numpy as np
import pytest
from test_export import call, like
from test_kept_programs import assert_same, forget

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.compile import store
from funcgrad.compile.execute import executable
from funcgrad.config import config
from funcgrad.passes import recurrences

ROWS = np.full((40, 3), 0.9)
START = np.array([3e-290, 2e-290])


def overflowing(rows=ROWS):
    """Whose factors of one step have an infinite product, where the program has none."""
    rows = rows.copy()
    rows[13] = 1e160, 1e160, 1.0
    return rows


def stages(rows, start):
    """A chain of three factors in each step."""

    def step(c, x):
        a, b = c
        d = (a - b) * x[0] * x[1] * x[2]
        return (d, b * 0.5), d

    (d, _), path = fg.scan(step, (start[0], start[1]), rows)
    return d, path


def eagerly(f, *args):
    with np.errstate(all="ignore"):
        return f(*args)


def close(found, wanted):
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-12)


def plain(f, *args):
    """The program that has run in the place of that of a jitted function; None if none has."""
    made = executable(fg.jit(f).lower(*args).graph)
    assert made.runs_again
    return made.plain


@pytest.fixture(autouse=True)
def always(monkeypatch, tmp_path):
    monkeypatch.setattr(recurrences._Program, "pays", lambda *_: True)
    monkeypatch.setattr(config, "cache", False)
    monkeypatch.setattr(config, "cache_directory", str(tmp_path / "cache"))


def test_it_is_made_where_numbers_are_not_finite_and_changes_no_bit_of_others():
    f = fg.jit(stages).lower(ROWS, START).compile()
    made = executable(f.graph)
    before = f(ROWS, START)
    assert made.runs_again and made.plain is None
    assert "another program" in fg.jit(stages).explain(ROWS, START)
    close(f(overflowing(), START), eagerly(stages, overflowing(), START))
    assert np.all(np.isfinite(f(overflowing(), START)[1]))
    second = made.plain
    assert second is not None and not second.runs_again
    assert_same(f(ROWS, START), before)
    f(overflowing(), START)
    assert made.plain is second


@pytest.mark.parametrize(
    "make",
    [
        fg.jit,
        lambda f: pickle.loads(pickle.dumps(fg.jit(f))),
        lambda f: fg.jit(f).lower(ROWS, START).compile(),
        lambda f: lambda *args: fg.jit(f).njit(*args),
        lambda f: fg.jit(f, donate_argnums=0),
        lambda f: fg.jit(lambda *args: fg.jit(f)(*args)),
    ],
    ids=["jit", "pickled", "ahead", "njit", "donated", "nested"],
)
def test_whatever_calls_it(make):
    f = make(stages)
    for rows in (ROWS, overflowing(), ROWS):
        close(f(rows.copy(), START), eagerly(stages, rows, START))


def test_from_disk(monkeypatch):
    monkeypatch.setattr(config, "cache", True)
    monkeypatch.setattr(store, "_sizes", {})
    found = []
    for _ in range(2):
        forget()
        f = fg.jit(lambda rows, start: stages(rows, start))
        found.append([f(ROWS, START), f(overflowing(), START), f(ROWS, START)])
    assert_same(*found)
    close(found[0][1], eagerly(stages, overflowing(), START))


@pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no linker")
def test_libraries_hold_both_forms(tmp_path):
    made = fg.jit(stages).export(tmp_path / "made", ROWS, START, name="f")
    for rows in (ROWS, overflowing()):
        wanted = eagerly(stages, rows, START)
        results = [like(x) for x in wanted]
        assert call(made, "f", [rows, START], results) == 0
        close(results, wanted)


def test_many_threads_make_it_once():
    f = fg.jit(stages)
    f(ROWS, START)
    wanted, found = eagerly(stages, overflowing(), START), []
    together = threading.Barrier(6)

    def run():
        together.wait()
        found.append(f(overflowing(), START))

    threads = [threading.Thread(target=run) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 6
    for each in found:
        close(each, wanted)


# --------------------------------------------------------------- what the first one must not do


def test_operations_of_numpy_do_not_meet_its_numbers():
    def f(rows, start):
        _, path = stages(rows, start)
        return np.linalg.svd(fnp.outer(path[:3], path[20:23]) + np.eye(3) * path[13])[1]

    compiled = fg.jit(f)
    assert plain(f, ROWS, START) is None
    close(compiled(overflowing(), START), eagerly(f, overflowing(), START))


def test_an_index_that_depends_on_its_numbers_is_no_error():
    table = np.arange(3.0)

    def f(rows, start):
        _, path = stages(rows, start)
        return fnp.array(table)[fnp.where(path[13] < 1e300, 1, 9)] + 0.0 * path[0]

    assert fg.jit(f)(overflowing(), START) == 1.0
    with pytest.raises(IndexError):
        fg.jit(f)(ROWS * 0.0, np.array([np.nan, 1.0]))


def test_a_loop_that_ends_by_its_numbers_ends():
    def f(rows, start):
        d, _ = stages(rows, start)
        return fg.while_loop(lambda x: fnp.logical_not(x > 1.0), lambda x: x * 4.0, abs(d) + 1e-3)

    close(fg.jit(f)(overflowing(), START), eagerly(f, overflowing(), START))


def test_a_loop_within_one_that_ends_by_its_numbers():
    def f(rows, start):
        def body(c):
            k, x = c
            return k + 1, x + stages(rows, start * (1.0 + 0.1 * k))[1][13]

        return fg.while_loop(lambda c: c[0] <= 3, body, (0, 0.0))

    close(fg.jit(f)(overflowing(), START), eagerly(f, overflowing(), START))


@pytest.mark.parametrize("rows", [ROWS, overflowing()], ids=["finite", "overflowing"])
def test_callbacks_are_called_once_with_the_numbers_of_the_program(rows):
    seen = []

    def f(rows, start):
        d, path = stages(rows, start)
        fg.debug.callback(seen.append, path[13])
        return d

    close(fg.jit(f)(rows, START), d := eagerly(lambda: stages(rows, START)[0]))
    assert np.isfinite(d) and len(seen) == 1
    close(seen, [eagerly(stages, rows, START)[1][13]])


def test_within_the_steps_of_another_loop():
    def f(rows, start):
        def step(c, k):
            d, path = stages(rows * k, start + c * 1e-300)
            return c + d, path[13]

        return fg.scan(step, 0.0, np.array([1.0, 0.5, 1.0]))

    assert plain(f, ROWS, START) is None
    close(fg.jit(f)(overflowing(), START), eagerly(f, overflowing(), START))


def test_results_share_what_those_of_the_first_do():
    def f(rows, start):
        return rows, stages(rows, start)[1], start

    rows = overflowing()
    first, path, last = fg.jit(f)(rows, START)
    assert not np.shares_memory(first, rows) and not np.shares_memory(last, START)
    close(path, eagerly(stages, rows, START)[1])
