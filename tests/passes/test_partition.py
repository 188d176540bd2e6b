"""What is kept between the two halves of a graph with its backward pass, and at what price."""

import itertools

import numpy as np
import pytest
from amount import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.config import config
from funcgrad.passes import partition as module
from funcgrad.passes.cut import UNLIMITED, Network
from funcgrad.transforms.call import reverse_graphs

RNG = np.random.default_rng(0)


def draw(*shape):
    return RNG.standard_normal(shape)


def gelu(x):
    return np.sum(0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3))))


def layer_norm(x, w, b):
    away = x - np.mean(x, -1, keepdims=True)
    return np.sum(np.sin(away / np.sqrt(np.var(x, -1, keepdims=True) + 1e-5) * w + b))


def cross_entropy(z, labels):
    shifted = z - fg.stop_gradient(np.max(z, 1, keepdims=True))
    chosen = shifted[np.arange(len(labels)), labels]
    return np.mean(np.log(np.sum(np.exp(shifted), 1)) - chosen)


def network(w, b, v, c, x):
    h = np.maximum(x @ w + b, 0.0)
    return np.sum((h @ v + c) ** 2)


CASES = {
    "gelu": (gelu, (draw(200, 300),)),
    "layer norm": (layer_norm, (draw(200, 300), draw(300), draw(300))),
    "cross-entropy": (cross_entropy, (draw(400, 100), RNG.integers(0, 100, 400))),
    "network": (network, (draw(64, 256), draw(256), draw(256, 128), draw(128), draw(128, 64))),
}
MOST = {"gelu": 200 * 300 * 8, "layer norm": 2 * 200 * 8, "cross-entropy": 400 * 102 * 8}


def floats(args):
    return tuple(k for k, x in enumerate(args) if x.dtype.kind == "f")


def halves(name):
    f, args = CASES[name]
    graph = fg.make_graph(f)(*args)
    return reverse_graphs(graph, tuple(x.dtype.kind == "f" for x in args)), len(args)


def kept(name):
    """The bytes of what is kept, besides arguments."""
    (forward, _), _ = halves(name)
    residuals = [v for v in forward.outputs[1:] if v not in forward.inputs]
    return sum(v.type.size * v.type.dtype.itemsize for v in residuals)


@pytest.mark.parametrize("name", CASES)
def test_fewer_bytes_are_kept_than_the_backward_pass_reads(name, monkeypatch):
    fewer = kept(name)
    monkeypatch.setattr(module, "LIMIT", -1)  # all that is read is kept
    # of cross-entropy nothing is left out: the powers, their sums and the labels
    assert fewer < kept(name) or name == "cross-entropy"
    assert fewer <= MOST.get(name, fewer)


@pytest.mark.parametrize("name", CASES)
def test_functions_products_and_reductions_are_not_computed_again(name):
    (forward, backward), _ = halves(name)
    dear = {"exp", "tanh", "log", "matmul", "sum", "mean", "var", "sin", "cos"}
    done = {e.outputs[0] for e in forward.equations}
    again = [e for e in backward.equations if e.outputs[0] in done]
    assert again or name == "cross-entropy"
    assert not dear & {e.prim.name for e in again}


@pytest.mark.parametrize("backend", ["interpreter", "llvm"])
@pytest.mark.parametrize("name", CASES)
def test_gradients_have_the_same_bits(name, backend, monkeypatch):
    monkeypatch.setattr(config, "backend", backend)
    f, args = CASES[name]

    def gradients():
        return fg.value_and_grad(fg.jit(f), floats(args))(*args)

    found = gradients()
    monkeypatch.setattr(module, "LIMIT", -1)
    want = gradients()
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(want), strict=True):
        np.testing.assert_array_equal(a, b)


def test_second_derivatives_go_through_both_halves():
    x = draw(5, 7)
    f = lambda x: gelu(x) + layer_norm(x, x[0], x[1])
    found = fg.hvp(fg.jit(f), (x,), (x * 2.0,))
    want = fg.hvp(f, (x,), (x * 2.0,))
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_what_a_checkpoint_computes_again_is_not_kept():
    x = draw(100, 100)
    inner = fg.checkpoint(lambda x: np.exp(np.sin(x)))
    graph = fg.make_graph(lambda x: np.sum(inner(x * 2.0) ** 2))(x)
    forward, backward = reverse_graphs(graph, (True,))
    residuals = [v for v in forward.outputs[1:] if v not in forward.inputs]
    assert len(residuals) <= 1  # the result of the scope, which is squared
    assert {"sin", "exp"} <= {e.prim.name for e in backward.equations}
    f = lambda x: np.sum(inner(x * 2.0) ** 2)
    np.testing.assert_allclose(fg.grad(fg.jit(f))(x), fg.grad(f)(x), rtol=1e-13)


def test_explain_names_what_is_kept_and_what_is_computed_again():
    f, args = CASES["layer norm"]
    g = fg.jit(f)
    assert "backward pass" not in g.explain(*args)
    fg.grad(g, (0, 1, 2))(*args)
    text = g.explain(*args)
    assert "kept for the backward pass: 3200 bytes besides arguments" in text
    assert "mean float64[200,1]" in text
    assert "computed again: subtract divide multiply add" in text


def test_other_dtypes_are_kept_as_they_are():
    x = draw(50).astype(np.float16)
    f = lambda x: np.sum((x * x + x) ** 2)
    np.testing.assert_array_equal(fg.grad(fg.jit(f))(x), fg.grad(f)(x))


def test_long_chains_need_no_recursion():
    def f(x):
        for _ in range(3000):
            x = x * 1.0001 + 0.001
        return np.sum(x * x)

    x = draw(10)
    np.testing.assert_allclose(fg.grad(fg.jit(f))(x), fg.grad(f)(x), rtol=1e-12)


# ---------------------------------------------------------------------------- minimum cut


@st.composite
def networks(draw):
    count = draw(st.integers(2, 7))
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    some = draw(st.lists(st.sampled_from(pairs), max_size=14, unique=True))
    return count, [(a, b, draw(st.integers(0, 9))) for a, b in some]


def price(late, edges):
    return sum(c for a, b, c in edges if not late[a] and late[b])


@settings(max_examples=examples(200), deadline=None)
@given(networks())
def test_the_cut_is_the_cheapest_of_all_and_the_latest_of_these(given_network):
    count, edges = given_network
    n = Network(count)
    for e in edges:
        n.connect(*e)
    found = n.late()
    assert found[1] and not found[0]
    every = [[False, True, *rest] for rest in itertools.product([False, True], repeat=count - 2)]
    best = min(price(late, edges) for late in every)
    assert price(found, edges) == best
    fewest = min(sum(late) for late in every if price(late, edges) == best)
    assert sum(found) == fewest


def test_what_is_unlimited_is_never_cut():
    n = Network(4)
    n.connect(0, 2, UNLIMITED)
    n.connect(2, 3, 5)
    n.connect(3, 1, UNLIMITED)
    assert n.late() == [False, True, False, True]
