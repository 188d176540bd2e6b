"""What the tests of native code share: the comparison with the reference, and random arrays."""

import numpy as np

from funcgrad.compile.execute import executable
from funcgrad.graph.interpret import evaluate


def assert_close(got, want, ulp=256, eps=0.0):
    """Equal but for rounding: elements to `ulp`, and what sums of cancelling terms lose."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    if want.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want)
        return
    eps = max(eps, np.finfo(want.dtype).eps)
    largest = np.max(np.abs(want[np.isfinite(want)]), initial=0.0)
    np.testing.assert_allclose(got, want, rtol=ulp * eps, atol=ulp * eps * largest)


def check(graph, *args, ulp=256):
    """The graph in native code against the interpreter; the executable."""
    with np.errstate(all="ignore"):
        want = evaluate(graph, *args)
    made = executable(graph)
    got = made(*args)
    inexact = [np.asarray(a).dtype for a in args if np.asarray(a).dtype.kind in "fc"]
    eps = max((np.finfo(d).eps for d in inexact), default=0.0)  # that of the coarsest operand
    for g, w in zip(got, want, strict=True):
        assert type(g) is type(w) or np.shape(g) == ()
        assert_close(g, w, ulp, eps)
    return made
