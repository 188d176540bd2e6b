"""Graphs that are made for the size of a batch: of many, those used last are kept."""

import numpy as np

import funcgrad as fg
from funcgrad.core.types import ArrayType
from funcgrad.graph import ir
from funcgrad.graph.build import stage
from funcgrad.transforms.call import batched_graph


def test_as_many_are_kept_as_are_used_by_turns():
    graph, _ = stage(lambda x: [np.sin(x) * 2.0], [ArrayType((3,), np.dtype(float))])
    often = batched_graph(graph, 1, (True,))
    for size in range(2, 2 * ir.SIZES):
        made = batched_graph(graph, size, (True,))
        assert made.inputs[0].type.shape == (size, 3)
        assert batched_graph(graph, size, (True,)) is made
        assert batched_graph(graph, 1, (True,)) is often
        assert len(graph.derived["batched"]) <= ir.SIZES
    assert batched_graph(graph, 2, (True,)).inputs[0].type.shape == (2, 3)


def test_what_is_made_again_computes_the_same(monkeypatch):
    monkeypatch.setattr(ir, "SIZES", 1)

    def ended(x):
        step = lambda c: (c[0] - 0.5, np.sin(c[1]) + c[0])
        return fg.while_loop(lambda c: c[0] > 0.6, step, (x, 0.0 * x), max_steps=9)[1]

    def repeated(x):
        return fg.lax.scan(lambda c, v: (c * np.cos(v * x), c), x, np.arange(3.0))[0]

    for f in ended, repeated, fg.jit(repeated), fg.checkpoint(repeated):
        both = fg.vmap(fg.value_and_grad(f))
        for size in (3, 2, 4, 3, 2):
            xs = np.linspace(0.4, 2.9, size)
            wanted = [fg.value_and_grad(f)(x) for x in xs]
            np.testing.assert_allclose(np.stack(both(xs), 1), wanted, 1e-14)
