"""Every function of the namespace gives an array that lies in memory as NumPy's does."""

import numpy as np
import pytest
from numpy_cases import CASES

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.core.tracer import Operand, is_scalar

LAYOUTS = ("C", "F", "turned", "gaps", "reversed")
# indices, which nobody writes into: NumPy's are columns of one table
COLUMNS = {"nonzero", "argwhere"}


def laid_out(a, how):
    if not isinstance(a, np.ndarray) or a.ndim < 2 or how == "C":
        return a
    if how == "F":
        return np.asfortranarray(a)
    if how == "turned":
        return np.ascontiguousarray(np.moveaxis(a, -1, 0)).transpose(*range(1, a.ndim), 0)
    step = -1 if how == "reversed" else 2
    made = np.zeros([n * abs(step) for n in a.shape], a.dtype)[(slice(None, None, step),) * a.ndim]
    made[...] = a
    return made


def memory(x):
    """What a program sees of the memory of a result; of a scalar that it is one."""
    if isinstance(x, (tuple, list)):
        return tuple(map(memory, x))
    if np.ndim(x) == 0:
        return is_scalar(x) if isinstance(x, Operand) else not isinstance(x, np.ndarray)
    steps = tuple(s for s, n in zip(x.strides, x.shape, strict=True) if n > 1)
    return steps, x.flags.c_contiguous, x.flags.f_contiguous


TRANSFORMS = {"eager": fg.vjp, "staged": lambda f, *args: fg.make_graph(f)(*args)}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("case", [c for c in CASES if "fnp-only" not in c.flags], ids=str)
def test_memory_of_results(case, transform):
    if transform == "staged" and ("concrete" in case.flags or case.name in COLUMNS):
        pytest.skip("needs values, or gives columns of a table")
    flat = all(np.ndim(a) < 2 for a in case.args)
    for how in LAYOUTS[:1] if flat else LAYOUTS:
        args = [laid_out(a, how) for a in case.args]
        seen = []

        def f(*xs, seen=seen):
            out = case.call(fnp, *xs)
            seen.append(memory(out))
            return out

        with np.errstate(all="ignore"):
            TRANSFORMS[transform](f, *args)
            assert seen[0] == memory(case.call(np, *args)), how
