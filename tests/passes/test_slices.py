"""Constant positions recognised as slices."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.compile.execute import executable
from funcgrad.core.tracer import bind
from funcgrad.core.types import ArrayType
from funcgrad.graph.build import stage
from funcgrad.graph.interpret import evaluate
from funcgrad.ops.index import GETITEM, PLACE
from funcgrad.ops.index.basic import encode, place
from funcgrad.passes.dead_code import dead_code
from funcgrad.passes.slices import grid, slices

INDICES = [
    (slice(None),),
    (slice(1, 4), slice(2, None)),
    (slice(None, None, -1), slice(5, 0, -2)),
    (slice(2, 3), slice(None, None, 3)),
    (slice(3, None, -1), slice(1, 2)),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_slice_is_found(index):
    x = np.arange(30).reshape(5, 6)
    found, extents = grid(x[index].reshape(-1), x.shape)
    chosen = x[tuple(slice(*i) for i in found)]
    assert chosen.shape == extents
    np.testing.assert_array_equal(chosen, x[index])


@pytest.mark.parametrize(
    "positions", [[0, 1, 3], [0, 7], [3, 3], [0, 1, 6, 8], [], [99], [1, 0, 6, 7]]
)
def test_other_positions_are_not(positions):
    assert grid(np.array(positions, int), (5, 6)) is None


def test_negative_positions_count_from_the_end():
    assert grid(np.array([-2, -1]), (8,)) == (((6, 8, 1),), (2,))


def written(x):
    y = fnp.array(x)
    y[1:3] = y[2:4] * 2.0
    return y


@pytest.mark.parametrize("f", [written, lambda x: fnp.pad(x, 2), lambda x: x[np.arange(1, 4)]])
def test_no_positions_are_left(f):
    x = np.linspace(0, 1, 7)
    graph = fg.make_graph(fg.value_and_grad(lambda x: (f(x) ** 2).sum()))(x)
    assert "NumPy" not in executable(graph).explain()
    np.testing.assert_array_equal(executable(fg.make_graph(f)(x))(x)[0], f(x))


def random_index(rng, shape):
    def along(n):
        kind = rng.integers(0, 4)
        if kind == 0:
            return int(rng.integers(-n, n))
        if kind == 1:
            return slice(None, None, int(rng.choice([1, -1])))
        ends = [None if rng.integers(0, 3) == 0 else int(rng.integers(-n - 1, n + 2)) for _ in "ab"]
        return slice(*ends, int(rng.choice([-3, -2, -1, 1, 2, 3])))

    index = [along(n) for n in shape]
    more = rng.integers(0, 6)
    if more == 0:
        index[rng.integers(0, len(index) + 1) :] = [Ellipsis]
    if more == 1:
        index.append(None)
    return tuple(index)


def test_slices_of_what_was_put_into_zeros():
    rng, seen = np.random.default_rng(0), set()
    for _ in range(1500):
        shape = tuple(int(n) for n in rng.integers(1, 6, rng.integers(1, 4)))
        put, taken = random_index(rng, shape), random_index(rng, shape)
        x = rng.standard_normal(np.zeros(shape)[put].shape)

        def program(x, shape=shape, put=put, taken=taken):
            zeros = place(x, ArrayType(shape, np.dtype(float)), encode(put))
            return [bind(GETITEM, (zeros,), {"index": encode(taken)})]

        graph, _ = stage(program, [ArrayType(x.shape, x.dtype)])
        found = dead_code(slices(graph))
        seen.add(tuple(e.prim.name for e in found.equations))
        (got,), (want,) = evaluate(found, x), evaluate(graph, x)
        assert np.shape(got) == np.shape(want), (shape, put, taken)
        np.testing.assert_array_equal(got, want, err_msg=str((shape, put, taken)))
    assert seen >= {("getitem",), ("broadcast",), ("getitem", "place"), ("place", "getitem")}


def test_a_loop_reads_no_column_of_zeros():
    def f(p):
        step = lambda u, _: (np.stack([np.sin(np.sin(np.sin(u[1] * p))), np.sin(u[0])]),) * 2
        return np.sum(lax.scan(step, np.ones(2), None, length=40)[1][:, 0] ** 2)

    made = executable(fg.make_graph(fg.value_and_grad(f))(0.5))
    places = [
        e for e in made.plan.graph.equations if e.prim is PLACE and e.outputs[0].type.size > 2
    ]
    assert not places
