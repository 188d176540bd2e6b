"""Gradients of loops that keep few carries: `checkpoint=` of scan, fori_loop, while_loop."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors

W = np.array([0.7, 0.3])
XS = np.random.default_rng(0).normal(size=23)
TRANSFORMS = {
    "value": lambda f: f,
    "jit": fg.jit,
    "grad": fg.value_and_grad,
    "jit of grad": lambda f: fg.jit(fg.value_and_grad(f)),
    "grad of jit": lambda f: fg.value_and_grad(fg.jit(f)),
    "forward": fg.jacfwd,
    "hessian": fg.hessian,
    "jit of hessian": lambda f: fg.jit(fg.hessian(f)),
    "twice in reverse": lambda f: fg.jacrev(fg.jacrev(f)),
    "examples": lambda f: lambda w: fg.vmap(fg.grad(f))(np.stack([w, 2 * w, 0.5 * w])),
    "jit of examples": lambda f: lambda w: fg.jit(fg.vmap(fg.grad(f)))(np.stack([w, w * w])),
}
EVERY = pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
DISTANCES = [True, 1, 4, 7, 100, (9, 2), (20, 10, 5)]


def by_scan(w, **options):
    c, y = fg.scan(lambda c, x: (np.sin(c * w[0] + x), c), w[1], XS, **options)
    return c + np.sum(y * XS)


def by_fori_loop(w, **options):
    return fg.fori_loop(2, 25, lambda i, c: np.sin(c * w[0] + 0.1 * i), w[1], **options)


def by_traced_bounds(w, **options):
    def f(n, w):
        return fg.fori_loop(2, n, lambda i, c: np.sin(c * w[0] + 0.1 * i), w[1], **options)

    return fg.jit(f)(25, w)


def by_while_loop(w, **options):
    """A loop of as many steps as the value says, 14 for `W`."""
    step = lambda c: (c[0] * 1.2 + 0.1 * np.sin(w[1] * c[0]), c[1] + w[1] * c[0])
    return fg.while_loop(lambda c: c[0] < 10.0, step, (w[0], 0.0), **options)[1]


def agree(f, transform, **options):
    wanted = transform(f)(W)
    found = transform(lambda w: f(w, **options))(W)
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


@EVERY
@pytest.mark.parametrize("f", [by_scan, by_while_loop])
def test_checkpoints_change_nothing_in_any_transform(f, transform):
    agree(f, transform, checkpoint=(9, 2))


@pytest.mark.parametrize("f", [by_fori_loop, by_traced_bounds])
def test_checkpoints_of_fori_loop(f):
    agree(f, fg.value_and_grad, checkpoint=True)
    agree(f, TRANSFORMS["jit of grad"], checkpoint=(9, 2))


@pytest.mark.parametrize("checkpoint", DISTANCES)
@pytest.mark.parametrize("reverse", [False, True])
def test_checkpoints_of_scan_at_any_distance(checkpoint, reverse):
    f = lambda w, **o: by_scan(w, reverse=reverse, **o)
    agree(f, TRANSFORMS["jit of grad"], checkpoint=checkpoint)


BOUNDS = [(True, None), (7, None), (True, 14), (7, 14), (4, 15), ((9, 2), 15), ((20, 10, 5), 40)]


@pytest.mark.parametrize(("checkpoint", "max_steps"), BOUNDS)
def test_checkpoints_of_while_loop_within_any_bound(checkpoint, max_steps):
    agree(by_while_loop, TRANSFORMS["jit of grad"], checkpoint=checkpoint, max_steps=max_steps)


@pytest.mark.parametrize("checkpoint", [True, 4, 5, (6, 2)])
def test_beyond_max_steps_of_a_loop_with_checkpoints(checkpoint):
    """Also where a segment ends at the bound, and where it would go beyond."""
    f = lambda w: by_while_loop(w, checkpoint=checkpoint, max_steps=13)
    for g in (f, fg.jit(f), fg.grad(f), fg.jit(fg.grad(f))):
        with pytest.raises(errors.LoopLimitError, match="has run 13 steps, its max_steps"):
            g(W)


def kept(f, *args):
    """The most rows that a loop of the gradient gives, also one within another."""
    found = [0]

    def look(graph):
        for e in graph.equations:
            if e.prim.name == "loop":
                found.append(max(v.type.shape[0] if v.type.shape else 1 for v in e.outputs))
            for p in e.params.values():
                if hasattr(p, "equations"):
                    look(p)

    look(fg.make_graph(fg.grad(f))(*args))
    return max(found)


@pytest.mark.parametrize("n", [10_000, 9_973, 9_900])
def test_memory_grows_with_the_root(n):
    step = lambda c: np.sin(c) * 0.9
    by = {
        "scan": lambda x: fg.scan(lambda c, _: (step(c), None), x, length=n, checkpoint=True)[0],
        "fori_loop": lambda x: fg.fori_loop(0, n, lambda i, c: step(c), x, checkpoint=True),
        "while_loop": lambda x: fg.while_loop(
            lambda c: c > 0, step, x, max_steps=n, checkpoint=True
        ),
    }
    for f in by.values():
        assert kept(f, 0.5) <= 2 * n**0.5


def test_memory_of_segments_in_segments():
    """A million steps, and no array of more than 100 rows."""

    def f(x, n):
        step = lambda c: (np.sin(c[0]) + 0.1 * x, c[1] + 1)
        options = {"max_steps": 10**6, "checkpoint": (10_000, 100)}
        return fg.while_loop(lambda c: c[1] < n, step, (x, 0), **options)[0]

    assert kept(f, 0.5, 10) == 100


def test_loops_beyond_the_first_segment_without_a_bound():
    def f(x, n):
        step = lambda c: (np.sin(c[0]) + x, c[1] + 1)
        return fg.while_loop(lambda c: c[1] < n, step, (x, 0))[0]

    gradient = fg.jit(fg.value_and_grad(f))
    for n in (0, 255, 256, 257, 70_000):
        by_scan = lambda x, n=n: fg.scan(lambda c, _: (np.sin(c) + x, None), x, length=n)[0]
        np.testing.assert_allclose(gradient(0.3, n), fg.jit(fg.value_and_grad(by_scan))(0.3))


@pytest.mark.parametrize("checkpoint", [0, -3, (3, 3), (2, 5), ()])
def test_bad_distances_are_refused(checkpoint):
    for f in (by_scan, by_fori_loop, by_while_loop):
        with pytest.raises(ValueError, match="a carry is kept every so many steps"):
            f(W, checkpoint=checkpoint)


def test_distances_are_integers():
    with pytest.raises(TypeError, match="scan: besides True and False, checkpoint must be"):
        by_scan(W, checkpoint=2.5)
    with pytest.raises(TypeError, match="while_loop: besides True and False, checkpoint must be"):
        by_while_loop(W, checkpoint="all")


def test_a_condition_with_an_effect_is_refused_where_it_is_asked_more_often():
    def f(x):
        def unfinished(c):
            fg.debug.print("{}", c)
            return c < 10.0

        return fg.while_loop(unfinished, lambda c: c * 2.0, x, max_steps=50, checkpoint=True)

    with pytest.raises(errors.EffectError, match="in the condition of a while_loop"):
        fg.grad(f)(1.0)
