"""Every primitive, tested from the samples of its record.

Value and type; both modes against differences; duality; second order, also where the first
cotangent is exactly 0; batching over every subset of operands; and NaN written over what a node
does not save.
"""

import itertools

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.ops.activation
import funcgrad.ops.affine
import funcgrad.ops.bessel
import funcgrad.ops.bits
import funcgrad.ops.channels
import funcgrad.ops.gamma
import funcgrad.ops.logcumsumexp
import funcgrad.ops.normal
import funcgrad.ops.normalization
import funcgrad.ops.order
import funcgrad.ops.softmax
import funcgrad.scipy.cluster.vq
import funcgrad.scipy.fft
import funcgrad.scipy.interpolate
import funcgrad.scipy.linalg
import funcgrad.scipy.ndimage
import funcgrad.scipy.signal
import funcgrad.scipy.sparse
import funcgrad.scipy.spatial.distance
import funcgrad.scipy.special
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import is_inexact
from funcgrad.extend import PRIMITIVES
from funcgrad.testing import check_grads
from funcgrad.transforms.reverse import PICK, Tape, backward

# Higher-order primitives act on graphs and functions; test_compositions has them. Primitives of
# others, which other tests may register after this module is imported, carry a name with a dot.
INTERNAL = {PICK.name, "custom_vjp_pullback", "custom_jvp_pullback"}


def own_primitives():
    return {
        n: p
        for n, p in PRIMITIVES.items()
        if p.is_ours
        and n not in INTERNAL
        and p.form
        not in ("primitive", "composite", "higher_order")  # they have no rule of their own
        and not n.startswith("test_")
        and "." not in n
    }


def cases():
    out = []
    for name, prim in own_primitives().items():
        if prim.sample is not None:
            out += [pytest.param(prim, s, id=f"{name}-{k}") for k, s in enumerate(prim.sample())]
    return out


CASES = cases()
SMOOTH = [c for c in CASES if c.values[1].smooth and c.values[0].differentiable]


def outputs(prim, y):
    return list(y) if prim.multiple else [y]


def apply(prim, params):
    return lambda *xs: bind(prim, xs, params)


def moving(prim, sample):
    """The operands that have a derivative."""
    rule = getattr(prim, "_rule", None)
    return [
        i
        for i, x in enumerate(sample.args)
        if is_inexact(type_of(x).dtype) and (rule is None or rule(i) is not None)
    ]


def restricted(prim, sample, wanted):
    """As a function of the wanted operands alone."""

    def f(*xs):
        args = list(sample.args)
        for i, x in zip(wanted, xs, strict=True):
            args[i] = x
        return bind(prim, args, sample.params)

    return f


def symmetrised(prim, xs):
    """Primitives that read one triangle are differentiated along symmetric directions."""
    if not getattr(prim, "symmetric", False):
        return xs
    return [(x + np.conj(np.swapaxes(x, -1, -2))) / 2 for x in xs]


def test_every_primitive_has_a_sample():
    missing = [n for n, p in own_primitives().items() if p.sample is None or not p.sample()]
    assert missing == []


@pytest.mark.parametrize(("prim", "sample"), CASES)
def test_type_rule(prim, sample):
    with np.errstate(all="ignore"):
        y = outputs(prim, bind(prim, sample.args, sample.params))
    types = prim.type_rule([type_of(x) for x in sample.args], sample.params)
    for value, kind in zip(y, types if prim.multiple else [types], strict=True):
        assert type_of(value).shape == kind.shape
        assert type_of(value).dtype == kind.dtype


@pytest.mark.parametrize(("prim", "sample"), SMOOTH)
def test_derivatives_in_both_modes_to_second_order(prim, sample):
    wanted = moving(prim, sample)
    if not wanted:
        return
    f = restricted(prim, sample, wanted)
    xs = tuple(sample.args[i] for i in wanted)
    if getattr(prim, "symmetric", False):
        inner = f
        f = lambda *a: inner(*[0.5 * (x + np.conj(np.swapaxes(x, -1, -2))) for x in a])
    with np.errstate(all="ignore"):
        check_grads(f, xs, order=2)


def cotangent(y, s):
    """`s` in the shape of a result; of integers there is none."""
    kind = np.result_type(y)
    if kind.kind not in "fc":
        return np.zeros(np.shape(y), fg.float0)
    return (s * np.ones(np.shape(y), kind)).astype(kind)


@pytest.mark.parametrize(("prim", "sample"), SMOOTH)
def test_second_order_where_the_first_cotangent_is_zero(prim, sample):
    """d/ds of vjp(s · g) at s = 0 is vjp(g): a rule that masks g == 0 would give 0."""
    wanted = moving(prim, sample)
    if not wanted:
        return
    f = restricted(prim, sample, wanted)
    xs = [sample.args[i] for i in wanted]
    with np.errstate(all="ignore"):
        y, pull = fg.vjp(f, *xs)
        ones = fg.tree.map(lambda o: cotangent(o, 1.0), y)
        straight = pull(ones)

        def scaled(s):
            y, pull = fg.vjp(f, *xs)
            return pull(fg.tree.map(lambda o: cotangent(o, s), y))

        along = fg.jvp(scaled, (0.0,), (1.0,))[1]
    for got, want in zip(fg.tree.leaves(along), fg.tree.leaves(straight), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("prim", "sample"), CASES)
@pytest.mark.parametrize("size", [0, 1, 3, 2])
def test_batching_every_subset(prim, sample, size):
    """vmap equals a loop; 2 and 3 are core dimensions of most samples."""
    count = len(sample.args)
    for subset in itertools.product([True, False], repeat=count):
        if not any(subset):
            continue
        stacked = [
            np.stack([np.asarray(x)] * size)
            if b and size
            else np.empty((0, *np.shape(x)), np.asarray(x).dtype)
            if b
            else x
            for x, b in zip(sample.args, subset, strict=True)
        ]
        rng = np.random.default_rng(1)
        for k, (x, b) in enumerate(zip(stacked, subset, strict=True)):
            if b and is_inexact(x.dtype) and size and not getattr(prim, "symmetric", False):
                stacked[k] = (x * rng.uniform(0.9, 1.0, (size,) + (1,) * (x.ndim - 1))).astype(
                    x.dtype
                )
        f = apply(prim, sample.params)
        with np.errstate(all="ignore"):
            got = fg.vmap(f, in_axes=tuple(0 if b else None for b in subset))(*stacked)
            plain = outputs(prim, f(*sample.args))
            loop = [
                outputs(prim, f(*[x[i] if b else x for x, b in zip(stacked, subset, strict=True)]))
                for i in range(size)
            ]
        for k, whole in enumerate(outputs(prim, got)):
            assert whole.shape == (size, *np.shape(plain[k]))
            for i in range(size):
                np.testing.assert_allclose(
                    whole[i],
                    loop[i][k],
                    rtol=1e-5 if whole.dtype.itemsize <= 4 else 1e-11,
                    atol=1e-6 if whole.dtype == np.float32 else 1e-13,
                )


@pytest.mark.parametrize(("prim", "sample"), [c for c in CASES if c.values[0].differentiable])
def test_what_is_not_saved_may_be_overwritten(prim, sample):
    wanted = moving(prim, sample)
    if not wanted:
        return

    def gradients(poison):
        args = [np.array(x) if isinstance(x, np.ndarray) else x for x in sample.args]
        with np.errstate(all="ignore"), Tape() as tape:
            inputs = [tape.input(x) if i in wanted else x for i, x in enumerate(args)]
            y = outputs(prim, bind(prim, inputs, sample.params))
            roots = [
                (o.node, np.ones(type_of(o).shape, type_of(o).dtype)[()])
                for o in y
                if hasattr(o, "node")
            ]
            if poison:
                for node in {r.parents[0] if r.prim is PICK else r for r, _ in roots}:
                    kept = {
                        id(v)
                        for part in node.saved
                        for v in (part if isinstance(part, tuple) else (part,))
                    }
                    for v in (
                        [i.value for i in inputs if hasattr(i, "node")]
                        + args
                        + [o.value for o in y if hasattr(o, "node")]
                    ):
                        shared = (
                            any(
                                np.may_share_memory(v, k)
                                for part in node.saved
                                for k in (part if isinstance(part, tuple) else (part,))
                                if isinstance(k, np.ndarray)
                            )
                            if isinstance(v, np.ndarray)
                            else True
                        )
                        if (
                            id(v) not in kept
                            and not shared
                            and v.flags.writeable
                            and is_inexact(v.dtype)
                        ):
                            v[...] = np.nan
        return backward(roots, [i.node for i in inputs if hasattr(i, "node")])

    for clean, poisoned in zip(gradients(False), gradients(True), strict=True):
        np.testing.assert_array_equal(clean, poisoned)
