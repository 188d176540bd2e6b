"""Every function of the namespace gives an array that lies in memory as NumPy's does."""

import numpy as np
import pytest
from option_cases import CASES

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.core.tracer import Operand, is_scalar

# of these `jit` takes the number of elements from the arguments at hand
SELECTIONS = {"nonzero", "flatnonzero", "argwhere", "extract", "where 1"}
LAYOUTS = ("C", "F", "turned", "gaps", "reversed")


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


def mapped(f, *args):
    """Each example is what NumPy sees as one slice along the last axis."""
    arrays = [isinstance(a, np.ndarray) for a in args]
    axes = tuple(-1 if is_array else None for is_array in arrays)
    fg.vmap(f, in_axes=axes, axis_size=2)(
        *(twice(a) if is_array else a for a, is_array in zip(args, arrays, strict=True))
    )


def twice(a):
    """Two of an array, along a new last axis."""
    return np.stack([a, a], -1)


TRANSFORMS = {
    "eager": fg.vjp,
    "staged": lambda f, *args: fg.make_graph(f)(*args),
    "compiled": lambda f, *args: fg.jit(f)(*args),
    "mapped": mapped,
}


@pytest.mark.parametrize("transform", ["eager", "staged", "mapped"])
@pytest.mark.parametrize("case", [c for c in CASES if "fnp-only" not in c.flags], ids=str)
def test_memory_of_results(case, transform):
    if "concrete" in case.flags and transform == "staged" and case.name in SELECTIONS:
        transform = "compiled"
    if transform not in ("eager", "compiled") and case.flags & {"concrete", "complex"}:
        pytest.skip("needs values")
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
            if transform == "mapped":
                args = [twice(a)[..., 0] if isinstance(a, np.ndarray) else a for a in args]
            assert seen[0] == memory(case.call(np, *args)), how
