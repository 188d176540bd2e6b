"""Operations that a tape has written out: the bits of the general way, after some uses of it."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.core.forms import Elementwise
from funcgrad.core.primitive import PRIMITIVES
from funcgrad.extend.compiled import CompiledPointwise
from funcgrad.ops.arithmetic import multiply
from funcgrad.transforms import recorders

WRITTEN = [
    prim
    for prim in PRIMITIVES.values()
    if isinstance(prim, Elementwise) and prim.ufunc.nin < 3 and recorders._suits(prim)
    and not isinstance(prim.impl, CompiledPointwise)  # of other tests: one never ends at a NaN
]  # fmt: skip
POINTS = (
    np.array([0.3, 0.7, 0.5]),
    np.array([-0.0, 0.0, -1.0]),
    np.array([2.0, -3.5, np.inf]),
    np.array([[np.nan, 1.0], [-0.25, 4.0]]),
)


def outcome(prim, args, mask):
    """Value and gradients in the operands of the mask, their types and bits; or the error."""

    def f(*traced):
        given = iter(traced)
        given = [next(given) if mask >> k & 1 else a for k, a in enumerate(args)]
        tape = traced[0].owner
        y = tape.process1(prim, *given) if len(given) == 1 else tape.process2(prim, *given)
        return fg.numpy.sum(y * 0.75), y

    traced = [a for k, a in enumerate(args) if mask >> k & 1]
    try:
        with np.errstate(all="ignore"):
            (value, y), found = fg.value_and_grad(f, tuple(range(len(traced))), True)(*traced)
    except Exception as error:
        return type(error), str(error).splitlines()[0]
    return [(type(x), x.dtype, x.shape, x.tobytes()) for x in map(np.asarray, (value, y, *found))]


def operands(prim, x):
    """For a mask, the operands that meet the written path: of one kind, or Python's numbers."""
    scalar = x.flat[1]
    if prim.ufunc.nin == 1:
        return [(1, (x,)), (1, (scalar,))]
    both = [(3, (x, x[::-1].copy())), (3, (scalar, x.flat[0]))]
    return both + [(m, (x, 2.5) if m == 1 else (2.5, x)) for m in (1, 2)] + [(1, (x, 3))]


@pytest.mark.parametrize("prim", WRITTEN, ids=str)
def test_a_written_recorder_has_the_bits_of_the_general_way(prim, monkeypatch):
    for x in POINTS:
        for mask, args in operands(prim, x):
            found = []
            for patience in (1 << 30, 0):
                monkeypatch.setattr(recorders, "PATIENCE", patience)
                monkeypatch.setattr(prim, "recorders", [None] * len(prim.recorders))
                found.append(outcome(prim, args, mask))
                assert patience or prim.recorders[mask] is not None
            assert found[0] == found[1], (args, mask)


def test_an_operation_is_written_out_after_some_uses(monkeypatch):
    prim = multiply.primitive
    monkeypatch.setattr(prim, "recorders", [None] * 4)
    monkeypatch.setattr(recorders, "PATIENCE", 3)
    square = fg.grad(lambda x: x.owner.process2(prim, x, x))
    seen = []
    for _ in range(6):
        square(3.0)
        seen.append(prim.recorders[3])
    assert seen[0] is seen[1] is seen[2]
    assert seen[3] is not seen[2]
    assert seen[3] is seen[4] is seen[5]


def test_sums_of_all_elements_are_recorded_as_by_the_general_way():
    """`np.sum(x)` is recorded without a detour, `np.sum(x, axis=None)` goes the general way."""
    rng = np.random.default_rng(0)
    inner = (lambda a: a, lambda a: a.T, lambda a: np.sin(a) * a, lambda a: a[::2])
    outer = (lambda s: s, lambda s: s * s, lambda s: np.log(s - s))
    for shape in ((3,), (1,), (0,), (2, 3), (2, 0), (4, 1, 2), (40_000,)):
        x = rng.normal(size=shape)
        for f in outer:
            for g in inner:
                with np.errstate(all="ignore"):
                    found = fg.value_and_grad(lambda a, f=f, g=g: f(np.sum(g(a))))(x)
                    other = fg.value_and_grad(lambda a, f=f, g=g: f(np.sum(g(a), axis=None)))(x)
                    assert np.array_equal(found[0], f(np.sum(g(x))), equal_nan=True)
                for a, b in zip(found, other, strict=True):
                    np.testing.assert_array_equal(a, b)
                    assert type(a) is type(b) and a.dtype == b.dtype
                assert found[1].flags.writeable and found[1].flags.c_contiguous
    x = rng.normal(size=3)
    np.testing.assert_array_equal(
        fg.hessian(lambda a: np.sum(a) * np.sum(np.sin(a * a)))(x),
        fg.hessian(lambda a: np.sum(a, axis=None) * np.sum(np.sin(a * a), axis=None))(x),
    )
    kept = []
    fg.grad(lambda a: kept.append(a) or np.sum(a))(x)
    with pytest.raises(fg.errors.LeakedTracerError):
        np.sum(kept[0])
