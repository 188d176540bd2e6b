"""Every sample of every record in native code, with its derivatives, against the interpreter."""

import numpy as np
import pytest
from native import check

import funcgrad as fg
import funcgrad.numpy
from funcgrad.core.primitive import PRIMITIVES
from funcgrad.core.tracer import bind, type_of

SAMPLES = [
    pytest.param(prim, s, id=f"{name}-{k}")
    for name, prim in sorted(PRIMITIVES.items())
    if prim.sample is not None and prim.form != "higher_order"
    for k, s in enumerate(prim.sample())
]


@pytest.mark.parametrize(("prim", "sample"), SAMPLES)
def test_values(prim, sample):
    def f(*xs):
        return bind(prim, xs, sample.params)

    args = [np.asarray(a) if isinstance(a, np.ndarray) else a for a in sample.args]
    check(fg.make_graph(f)(*args), *args, ulp=32)


def real_weight(leaf):
    """Squares, each weighed otherwise: the plain sum of those of a normalised row is constant."""
    y = np.real(leaf) + np.imag(leaf) if type_of(leaf).dtype.kind == "c" else leaf
    kind = type_of(y)
    weights = np.linspace(0.5, 1.5, kind.size, dtype=kind.dtype if kind.dtype.kind == "f" else None)
    return np.sum(y * y * weights.reshape(kind.shape)) if kind.dtype.kind == "f" else 0.0


@pytest.mark.parametrize(("prim", "sample"), SAMPLES)
def test_gradients(prim, sample):
    if not prim.differentiable:
        pytest.skip("locally constant")
    which = tuple(
        k for k, a in enumerate(sample.args) if type_of(a).dtype.kind == "f" and np.size(a)
    )
    outputs = prim.type_rule([type_of(a) for a in sample.args], sample.params)
    kinds = {t.dtype.kind for t in (outputs if prim.multiple else (outputs,))}
    if not which or not kinds & set("fc"):
        pytest.skip("nothing to differentiate")

    def loss(*xs):
        return sum(real_weight(leaf) for leaf in fg.tree.leaves(bind(prim, xs, sample.params)))

    try:
        graph = fg.make_graph(fg.grad(loss, which))(*sample.args)
    except fg.errors.FuncgradError:
        pytest.skip("no derivative of this sample under abstract values")
    check(graph, *sample.args, ulp=4096)
