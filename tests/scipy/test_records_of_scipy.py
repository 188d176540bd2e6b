"""The rules of SciPy's records under `vmap`, and the graphs that stand for records under `jit`.

`test_rules` maps the operations; their rules have axes of their own, which mapping may shift.
"""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.scipy.cluster.vq
import funcgrad.scipy.fft
import funcgrad.scipy.interpolate
import funcgrad.scipy.ndimage
import funcgrad.scipy.signal
import funcgrad.scipy.sparse
import funcgrad.scipy.spatial.distance
import funcgrad.scipy.stats
from funcgrad.core.tracer import bind
from funcgrad.errors import NotDifferentiableError
from funcgrad.extend import PRIMITIVES
from funcgrad.scipy.valued import Valued

# Functions of `special` are in `test_rules`, most distributions in `test_stats`.
OURS = {
    name: prim
    for name, prim in PRIMITIVES.items()
    if prim.module.startswith("funcgrad.scipy.")
    and not prim.module.startswith(("funcgrad.scipy.special", "funcgrad.scipy.stats"))
}


def moving(prim, sample):
    """The record as a function of its floating operands, and these."""
    at = [i for i, x in enumerate(sample.args) if np.asarray(x).dtype.kind in "fc"]
    at = [i for i in at if not hasattr(prim, "_rule") or prim._rule(i) is not None]
    at = [i for i in at if not is_count(prim, sample, i)]

    def f(*xs):
        args = list(sample.args)
        for i, x in zip(at, xs, strict=True):
            args[i] = x
        return bind(prim, args, sample.params)

    return f, [sample.args[i] for i in at]


def is_count(prim, sample, i):
    """Whether a floating operand counts, as those of discrete distributions do."""
    f = lambda x: bind(prim, [*sample.args[:i], x, *sample.args[i + 1 :]], sample.params)
    try:
        fg.jvp(f, (sample.args[i],), (sample.args[i],))
    except NotDifferentiableError as error:
        if "the count k" not in str(error):
            raise
        return True
    return False


def floating(tree):
    return [y for y in fg.tree.leaves(tree) if np.issubdtype(y.dtype, np.inexact)]


def several(x):
    """Three arrays like `x`."""
    return np.stack([x, x[..., ::-1] if np.ndim(x) else x, 2 * x])


@pytest.mark.parametrize("name", sorted(OURS))
def test_cotangents_and_tangents_under_vmap(name):
    prim = OURS[name]
    for sample in prim.sample()[:3]:
        f, xs = moving(prim, sample)
        y, pull = fg.vjp(lambda *xs, f=f: floating(f(*xs)), *xs)  # whole numbers have none
        gs = fg.tree.map(several, y)
        found = fg.vmap(pull)(gs)
        for k in range(3):
            want = pull(fg.tree.map(lambda g, k=k: g[k], gs))
            for mine, theirs in zip(found, want, strict=True):
                np.testing.assert_allclose(mine[k], theirs, rtol=1e-5, atol=1e-6)
        ts = [several(x) for x in xs]
        push = lambda *ts: fg.jvp(f, tuple(xs), ts)[1]
        moved = fg.vmap(push)(*ts)
        for k in range(3):
            want = push(*(t[k] for t in ts))
            for mine, theirs in zip(fg.tree.leaves(moved), fg.tree.leaves(want), strict=True):
                if theirs.dtype.kind == "V":  # the tangent of an integer
                    continue
                np.testing.assert_allclose(mine[k], theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "name",
    sorted(n for n, p in OURS.items() if isinstance(p, Valued) and type(p).stage is Valued.stage),
)
def test_the_composition_computes_what_scipy_does(name):
    prim = OURS[name]
    for sample in prim.sample():
        value = bind(prim, sample.args, sample.params)
        graph = fg.make_graph(lambda *xs, s=sample: bind(prim, xs, s.params))(*sample.args)
        assert all(e.prim is not prim for e in graph.equations)
        made = prim.composed(*sample.args, **sample.params)
        for mine, theirs in zip(fg.tree.leaves(made), fg.tree.leaves(value), strict=True):
            assert np.asarray(mine).dtype == np.asarray(theirs).dtype
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    "name",
    sorted(n for n, p in OURS.items() if isinstance(p, Valued) and type(p).stage is Valued.stage),
)
def test_mapped_records_under_jit(name):
    """The composition takes the place of the record in each lane, too."""
    for sample in OURS[name].sample()[:2]:
        f, xs = moving(OURS[name], sample)
        stacked = [np.stack([x, x]) for x in xs]
        staged = fg.jit(fg.vmap(f))(*stacked)
        for mine, theirs in zip(fg.tree.leaves(staged), fg.tree.leaves(f(*xs)), strict=True):
            np.testing.assert_allclose(mine[1], theirs, rtol=1e-5, atol=1e-6)
