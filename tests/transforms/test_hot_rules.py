"""Rules on the hot path of a tape: those of users are called as they are, ours are printed."""

import functools

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.core.primitive import PRIMITIVES
from funcgrad.errors import NotDifferentiableError
from funcgrad.extend import elementwise
from funcgrad.transforms import recorders
from funcgrad.transforms.recorders import quick_pull


@pytest.fixture(autouse=True)
def _written_at_once(monkeypatch):
    monkeypatch.setattr(recorders, "PATIENCE", 0)


FACTOR = 2.0
X = np.array([0.5, 1.5, -2.0])


class Slope:
    factor = 4.0

    def __call__(self, _, x):
        return self.factor + 0.0 * x

    def method(self, y, x):
        return self.factor


def with_parameter(factor, _, x):
    return factor * np.ones_like(x)


def with_default(_, x, *, factor=6.0):
    return factor


def with_any(*values):
    return 7.0 * np.cos(values[1]) / np.cos(values[1])


def scaled(factor, rule, name):
    return elementwise(lambda x: factor * x, rule, name=name)


CASES = {
    "partial": (3.0, functools.partial(with_parameter, 3.0)),
    "object": (4.0, Slope()),
    "method": (4.0, Slope().method),
    "keyword_only_default": (6.0, with_default),
    "any_arguments": (7.0, with_any),
    "default": (8.0, lambda _, x, factor=8.0: factor),
    "wrapped": (3.0, functools.wraps(with_default)(functools.partial(with_parameter, 3.0))),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("x", [X, 1.5, np.float64(1.5), X.astype(np.float32)], ids=str)
def test_a_rule_of_any_kind_of_callable(case, x):
    factor, rule = CASES[case]
    op = scaled(factor, rule, f"hot.{case}")
    got = fg.grad(lambda x: np.sum(op(x)))(x)
    np.testing.assert_allclose(got, factor * np.ones_like(x), rtol=1e-6)
    assert np.asarray(got).dtype == np.asarray(x).dtype


@pytest.mark.parametrize("x", [X, 1.5], ids=["vector", "number"])
def test_a_rule_that_reads_a_global_reads_it_every_time(x, monkeypatch):
    op = elementwise(lambda x: FACTOR * x, lambda _, x: FACTOR + 0.0 * x, name="hot.global")
    gradient = fg.grad(lambda x: np.sum(op(x)))
    for factor in (2.0, 5.0, -1.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        np.testing.assert_array_equal(gradient(x), np.full(np.shape(x), factor))


def test_a_rule_that_reads_what_changes_in_its_closure_or_object_reads_it_every_time():
    holder, slope = [2.0], Slope()
    by_closure = scaled(2.0, lambda _, x: holder[0] + 0.0 * x, "hot.closure")
    by_object = scaled(2.0, slope, "hot.object_that_changes")
    for factor in (2.0, 9.0):
        holder[0] = slope.factor = factor
        for op in (by_closure, by_object):
            np.testing.assert_array_equal(fg.grad(lambda x: np.sum(op(x)))(X), np.full(3, factor))


def test_a_rule_of_a_user_with_two_operands_and_a_number():
    op = elementwise(
        lambda x, y: x * y * y,
        lambda *values: values[2] ** 2,
        functools.partial(lambda k, _, x, y: k * x * y, 2.0),
        name="hot.two",
    )
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(op(x, 3)))(X), np.full(3, 9.0))
    np.testing.assert_allclose(fg.grad(lambda y: np.sum(op(3, y)))(X), 6.0 * X)
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(op(x, x)))(X), 3.0 * X * X)


# ---------------------------------------------------------------------- rules of the house


def hot_cases():
    for name, prim in PRIMITIVES.items():
        if prim.form == "elementwise" and prim.is_ours and prim.differentiable:
            count = prim.ufunc.nin
            if count <= 2 and name != "ldexp":  # whose second operand is an integer
                yield from ((name, mask) for mask in range(1, 1 << count))


@pytest.mark.parametrize(("name", "mask"), list(hot_cases()))
def test_printed_rules_have_the_bits_of_the_rules(name, mask):
    """With Python's numbers, too, for which Python's own operators know no infinity."""
    prim = PRIMITIVES[name]
    count = prim.ufunc.nin
    text, straight = quick_pull(prim, mask)
    scope = straight.scope
    body = f"def pull(cts, g, out, a, b, p, q):\n{text or '    pass'}"
    exec(body, scope)
    arrays = (np.array([0.3, 0.0, -0.7, 2.0]), np.array([0.5, 1.0, 3.0, 0.0]))
    numbers = (0.0, 3, -0.5)
    g = np.array([1.0, -2.0, 0.5, 3.0])
    for number in numbers:
        values = [x if mask >> k & 1 else number for k, x in enumerate(arrays[:count])]
        with np.errstate(all="ignore"):
            out = prim.ufunc(*values)
            found, moving = {}, [k for k in range(count) if mask >> k & 1]
            partials = {k: d for k, d in enumerate(prim.partials) if k in moving and d != 0}
            try:
                want = {k: g * (d(out, *values) if callable(d) else d) for k, d in partials.items()}
            except NotDifferentiableError:
                with pytest.raises(NotDifferentiableError):
                    scope["pull"](found, g, out, *values, *([None] * (2 - count)), "p", "q")
                continue
            scope["pull"](found, g, out, *values, *([None] * (2 - count)), "p", "q")
            assert {"pq"[k] for k in want} == set(found)
            for k, c in want.items():
                np.testing.assert_array_equal(found["pq"[k]], c)


@pytest.mark.filterwarnings("error")
def test_compiled_functions_follow_what_rules_read_and_nothing_else(monkeypatch):
    op = elementwise(lambda x: FACTOR * x, lambda _, x: FACTOR + 0.0 * x, name="hot.compiled")
    value = fg.jit(lambda x: np.sum(op(x) * x))
    gradient = fg.jit(fg.grad(lambda x: np.sum(op(x))))
    for factor in (2.0, 5.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        for x in (X, X.astype(np.float32), X):  # what the record keeps of each is no capture
            np.testing.assert_allclose(value(x), factor * np.sum(x * x), rtol=1e-6)
            np.testing.assert_array_equal(gradient(x), np.full(3, factor))
            assert fg.grad(lambda x: np.sum(op(x)))(x).dtype == x.dtype


@pytest.mark.parametrize("function", [np.log, np.sqrt, np.cbrt, np.reciprocal])
def test_a_python_number_at_a_pole_gives_an_infinite_derivative(function):
    """Python's own division raises; NumPy's, which rules use, does not."""
    with np.errstate(all="ignore"):
        assert np.isinf(fg.grad(function)(0.0))
        assert np.isinf(fg.grad(function)(np.float64(0.0)))
