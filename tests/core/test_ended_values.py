"""Values that are used after their transform has ended: the error shows lines of the program only.

Where a program uses one, nothing of ours calls it, so that what it is used by is the boundary.
"""

import copy
import math
import operator
import pathlib
import pickle
import traceback

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

PACKAGE = str(pathlib.Path(fg.__file__).parent)
A = np.array([1.0, 2.0, 3.0])
BINARY = {
    name: getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "pow", "floordiv", "mod")
    + ("eq", "ne", "lt", "le", "gt", "ge")
}


@pytest.fixture(autouse=True)
def shown():
    before, fg.config.traceback = fg.config.traceback, "program"
    yield
    fg.config.traceback = before


def ended(transform, x):
    """A value of a transform that has ended."""
    kept = []

    def f(x):
        kept.append(x)
        return np.sum(x * 1.0)

    def of_view(x):
        kept.append(x[:2])
        return np.sum(x)

    def of_array(x):
        y = fnp.zeros(3)
        y[:] = x
        kept.append(y)
        return np.sum(y)

    ways = {
        "grad": lambda: fg.grad(f)(x),
        "jvp": lambda: fg.jvp(f, (x,), (x,)),
        "vmap": lambda: fg.vmap(f)(np.stack([x, x])),
        "jit": lambda: fg.jit(f)(x),
        "a view": lambda: fg.grad(of_view)(x),
        "an array written into": lambda: fg.grad(of_array)(x),
    }
    ways[transform]()
    return kept[0]


def add_in_place(t):
    t += 1.0


def write(t):
    t[0] = 1.0


def delete(t):
    del t[0]


USES = {
    **{name: (lambda t, op=op: op(t, 2.0)) for name, op in BINARY.items()},
    **{f"number {name}": (lambda t, op=op: op(2.0, t)) for name, op in BINARY.items()},
    **{f"array {name}": (lambda t, op=op: op(A[0], t)) for name, op in BINARY.items()},
    **{f"itself {name}": (lambda t, op=op: op(t, t)) for name, op in BINARY.items()},
    **{name: getattr(operator, name) for name in ("neg", "pos", "abs", "invert")},
    "square": lambda t: t**2,
    "and": lambda t: t & 1,
    "matmul": lambda t: t @ t,
    "divmod": lambda t: divmod(t, 2.0),
    "number divmod": lambda t: divmod(2.0, t),
    "element": lambda t: t[0],
    "slice": lambda t: t[1:],
    "positions": lambda t: t[np.array([0, 1])],
    "mask": lambda t: t[t > 0],
    "+=": add_in_place,
    "write": write,
    "delete": delete,
    "iterate": list,
    "float": float,
    "int": int,
    "complex": complex,
    "math.sin": math.sin,
    "math.floor": math.floor,
    "math.trunc": math.trunc,
    "hash": hash,
    "np.sin": np.sin,
    "np.add": lambda t: np.add(A[0], t),
    "np.sum": np.sum,
    "np.dot": lambda t: np.dot(t, t),
    "np.where": lambda t: np.where(t > 0, t, 0.0),
    "np.add.reduce": np.add.reduce,
    "np.stack": lambda t: np.stack([t, t]),
    "np.linalg.norm": np.linalg.norm,
    "np.fft.fft": np.fft.fft,
    "np.array": lambda t: np.array([t, t]),
    "np.asarray": np.asarray,
    "sum": lambda t: t.sum(),
    "max": lambda t: t.max(),
    "T": lambda t: np.ones((2, 2)) * t.T,
    "astype": lambda t: t.astype(np.float32),
    "item": lambda t: t.item(),
    "fill": lambda t: t.fill(1.0),
    "flat": lambda t: t.flat[0],
    "at": lambda t: t.at[0].set(1.0),
    "fnp.sin": lambda t: fnp.sin(t),
    "fnp.sum": lambda t: fnp.sum(t),
    "fnp.array": lambda t: fnp.array([t]),
    "lax": lambda t: fg.lax.sin(t),
    "nn": lambda t: fg.nn.relu(t),
    "closed over": lambda t: fg.grad(lambda x: np.sum(x * t))(A[0]),
    "pickle": pickle.dumps,
    "deepcopy": lambda t: copy.deepcopy(t) + 0.0,
    "truth": lambda t: bool(t + 0.0),
}
OWN = {"grad", "jvp", "vmap", "jit"}


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")
@pytest.mark.parametrize("size", ["array", "number"])
@pytest.mark.parametrize("transform", [*sorted(OWN), "a view", "an array written into"])
@pytest.mark.parametrize("written", [False, True], ids=["first uses", "written out"])
def test_no_frame_of_ours_is_shown(transform, size, written):
    if size == "number" and transform not in OWN:
        pytest.skip("a number has neither views nor elements")
    x = A if size == "array" else 1.5
    if written:  # what is used often is written out
        fg.grad(lambda x: np.sum([x := np.sin(x * 1.01 + 2.0 * x / x - x) for _ in range(80)][-1]))(
            x
        )
    named = 0
    for use, apply in USES.items():
        t = ended(transform, x)
        try:
            apply(t)
        except Exception as error:
            found = [entry.filename for entry in traceback.extract_tb(error.__traceback__)]
            assert not [n for n in found if n.startswith((PACKAGE, "<funcgrad"))], use
            named += isinstance(error, fg.errors.LeakedTracerError)
    assert named > 0.7 * len(USES)


def test_all_frames_are_shown_on_request():
    fg.config.traceback = "full"
    with pytest.raises(fg.errors.LeakedTracerError) as info:
        ended("grad", A) * 2.0
    found = [entry.filename for entry in traceback.extract_tb(info.value.__traceback__)]
    assert [n for n in found if n.startswith(PACKAGE)]


def test_what_python_asks_for_is_there():
    def f(x):
        with pytest.raises(ValueError, match="cannot delete array elements"):
            del x[0]
        quotient, rest = divmod(7.0, x)
        assert list(fg.value(quotient)) == list(7.0 // A)
        return np.sum(rest)

    np.testing.assert_array_equal(fg.grad(f)(A), -(7.0 // A))
    with pytest.raises(fg.errors.TracerConversionError, match=r"call np\.trunc"):
        fg.grad(math.trunc)(1.5)
