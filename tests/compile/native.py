"""What the tests of native code share: the comparison with the reference, and random arrays."""

import numpy as np

import funcgrad as fg
from funcgrad.compile.execute import executable
from funcgrad.graph.interpret import evaluate


def assert_close(got, want, ulp=256, eps=0.0, size=0.0):
    """Equal but for rounding: elements to `ulp`, and what sums of cancelling terms lose.

    `eps` is that of the coarsest dtype on the way, `size` that of the terms.
    """
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    if want.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want)
        return
    eps = max(eps, np.finfo(want.dtype).eps)
    largest = np.max(np.abs(want[np.isfinite(want)]), initial=size)
    np.testing.assert_allclose(got, want, rtol=ulp * eps, atol=ulp * eps * largest)


def coarsest(graph):
    """The largest eps of the dtypes of a graph."""
    types = [v.type for v in graph.inputs] + [v.type for e in graph.equations for v in e.outputs]
    inexact = [np.finfo(t.dtype).eps for t in types if t.dtype.kind in "fc"]
    return max(inexact, default=0.0)


def check(graph, *args, ulp=256, size=0.0):
    """The graph in native code against the interpreter; the executable."""
    with np.errstate(all="ignore"):
        want = evaluate(graph, *args)
    made = executable(graph)
    got = made(*args)
    for g, w in zip(got, want, strict=True):
        assert type(g) is type(w) or np.shape(g) == ()
        assert_close(g, w, ulp, coarsest(graph), size)
    return made


def outcome(f, args):
    """What a call gives, as a list, or the error it raises."""
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(x) for x in fg.tree.leaves(f(*args))], None
    except Exception as error:
        return None, error


def check_jit(f, *args, ulp=256, size=0.0):
    """`jit(f)` against `f` itself, run by NumPy: the same values, or the same class of error."""
    want, error = outcome(f, args)
    got, other = outcome(fg.jit(f), args)
    assert type(error) is type(other), f"eager: {error!r}, jit: {other!r}"
    if error is None:
        coarse = coarsest(fg.make_graph(f)(*args))
        for g, w in zip(got, want, strict=True):
            assert_close(g, w, ulp, coarse, size)
