"""Functions of neural networks: the same program text with `jax.nn` and `funcgrad.nn`."""

import numpy
import pytest
from like_jax.swapped import NESTS, agree, evaluate, in_both, ours, theirs

pytestmark = pytest.mark.peers

X = numpy.array([-7.3, -3.0, -1.6, -0.4, 0.2, 0.9, 2.2, 3.7, 6.4])
M = numpy.array([[0.3, -1.2, 2.0, 0.7], [1.1, 0.4, -0.9, -2.3], [0.0, 0.5, 0.8, -0.6]])
ELEMENTWISE = """
nn.relu(x)
nn.relu6(x)
nn.sigmoid(x)
nn.log_sigmoid(x)
nn.softplus(x)
nn.silu(x)
nn.swish(x) * nn.tanh(x)
nn.mish(x)
nn.soft_sign(x)
nn.squareplus(x)
nn.squareplus(x, 0.5)
nn.sparse_plus(x)
nn.sparse_sigmoid(x)
nn.elu(x)
nn.elu(x, 0.3)
nn.selu(x)
nn.celu(x)
nn.celu(x, 2.5)
nn.leaky_relu(x)
nn.leaky_relu(x, 0.2)
nn.hard_tanh(x)
nn.hard_sigmoid(x)
nn.hard_silu(x)
nn.hard_swish(x) + nn.identity(x)
nn.gelu(x)
nn.gelu(x, approximate=False)
nn.log1mexp(np.abs(x))
nn.glu(np.concatenate([x, x * 2]))
nn.relu(nn.elu(x) * x) + nn.gelu(nn.silu(x))
""".strip().split("\n")
REDUCING = """
nn.softmax(x)
nn.softmax(x, axis=0)
nn.softmax(x, axis=None)
nn.softmax(x, axis=(0, 1))
nn.softmax(x, where=x > 0.1)
nn.softmax(x * 100)
nn.log_softmax(x)
nn.log_softmax(x, axis=(0,))
nn.log_softmax(x, axis=None)
np.where(x > 0.1, nn.log_softmax(x, where=x > 0.1), 0.0)
nn.logsumexp(x)
nn.logsumexp(x, axis=1)
nn.logsumexp(x, axis=(0, 1), keepdims=True)
nn.logsumexp(x, axis=0, where=x > -0.7)
nn.logsumexp(x, axis=0, b=1.5 + np.cos(x))
nn.logsumexp(x, axis=0, b=np.cos(x), return_sign=True)[0]
nn.logsumexp(x, b=x, return_sign=True)
nn.logsumexp(x, axis=1, b=np.abs(x), where=x > -0.7, keepdims=True)
nn.logmeanexp(x)
nn.logmeanexp(x, axis=1)
nn.logmeanexp(x, axis=0, where=x > -0.7, keepdims=True)
nn.standardize(x)
nn.standardize(x, axis=None)
nn.standardize(x, axis=(0, 1), epsilon=1e-3)
nn.standardize(x, axis=0, algorithm="stable")
nn.standardize(x, mean=0.5, variance=2.0)
nn.standardize(x, where=x > -0.7)
nn.one_hot(np.argmax(x, axis=0), 3) * x[0][:, None]
nn.one_hot(np.argmax(x, axis=0), 5, axis=0) * x[0]
-np.sum(nn.one_hot(np.asarray([0, 3, 1]), 4) * nn.log_softmax(x), axis=-1)
nn.glu(x, axis=1)
""".strip().split("\n")
CASES = [(p, X) for p in ELEMENTWISE] + [(p, M) for p in REDUCING]
OTHERS = [n for n in NESTS if n != "value"]


@pytest.mark.parametrize("k", range(len(CASES)))
def test_nn_like_jax(k):
    """Each program for itself, and under one of the nests of transforms in turn."""
    pytest.importorskip("jax")
    program, x = CASES[k]
    nests = ("value", OTHERS[(3 * k + 4) % len(OTHERS)])
    for mine, other in in_both(program, x, nests):
        agree(mine, other, rtol=1e-9, atol=1e-10)


KINKS = [
    "relu",
    "relu6",
    "hard_tanh",
    "hard_sigmoid",
    "hard_silu",
    "leaky_relu",
    "elu",
    "celu",
    "selu",
    "sparse_plus",
]


@pytest.mark.parametrize("name", KINKS)
def test_derivatives_at_kinks_are_those_of_jax(name):
    pytest.importorskip("jax")
    points = numpy.array([-3.0, -1.0, 0.0, 1.0, 3.0, 6.0])
    [(mine, other)] = in_both(f"nn.{name}(x)", points, ["jit vmap jvp"])
    agree(mine, other)
    [(mine, other)] = in_both(f"nn.{name}(x)", points, ["grad"])
    agree(mine, other)


Q = numpy.random.default_rng(0).normal(size=(2, 5, 4, 3))
K = numpy.random.default_rng(1).normal(size=(2, 6, 2, 3))
ATTENTION = """
nn.dot_product_attention(x, k, v)
nn.dot_product_attention(x, k, v, is_causal=True)
nn.dot_product_attention(x, k, v, scale=0.3)
nn.dot_product_attention(x, k, v, np.cos(np.arange(2 * 4 * 5 * 6.0)).reshape(2, 4, 5, 6))
nn.dot_product_attention(x, k, v, bias=np.cos(np.arange(30.0)).reshape(1, 1, 5, 6))
nn.dot_product_attention(x, k, v, mask=np.arange(30).reshape(1, 1, 5, 6) % 3 > 0)
nn.dot_product_attention(x, k, v, mask=np.arange(30).reshape(1, 1, 5, 6) > 8)
nn.dot_product_attention(x, k, v, local_window_size=1)
nn.dot_product_attention(x, k, v, local_window_size=(2, 0), is_causal=True)
nn.dot_product_attention(x, k, v, query_seq_lengths=n, key_value_seq_lengths=n)
nn.dot_product_attention(x[0], k[0], v[0])
nn.dot_product_attention(x, k[:, :, :1], v[:, :, :1], is_causal=True)
nn.dot_product_attention(x, k, v, return_residual=True)
""".strip().split("\n")


@pytest.mark.parametrize("k", range(len(ATTENTION)))
def test_attention_like_jax(k):
    """JAX has the softmax in single precision."""
    pytest.importorskip("jax")
    text = ATTENTION[k].replace("k[", "K[").replace(", k,", ", K,").replace("v[", "V[")
    text = (
        f"(lambda K, V, n: {text.replace(', v', ', V')})(np.asarray(KEYS), np.asarray(KEYS) * 2, N)"
    )
    lengths = "np.asarray([3, 5], dtype=np.int32)"
    keys = repr(K.tolist())
    text = text.replace("KEYS", keys).replace("N)", f"{lengths})")
    nests = ("value", OTHERS[k % len(OTHERS)])
    if "residual" in text:
        nests = ("value", "jvp")
    for mine, other in in_both(text, Q, nests):
        agree(mine, other, rtol=2e-5, atol=2e-5)


REFUSED = """
nn.glu(np.ones(3))
nn.standardize(np.ones(3), algorithm="slow")
nn.dot_product_attention(np.ones((5, 3, 2)), np.ones((6, 2, 2)), np.ones((6, 2, 2)))
nn.dot_product_attention(np.ones((5, 3, 2)), np.ones((6, 3, 2)), np.ones((6, 3, 3)))
nn.dot_product_attention(np.ones((5, 3, 2)), np.ones((6, 3, 2)), np.ones((6, 3, 2)), mask=np.ones((1, 3, 5, 6)))
""".strip().split("\n")


@pytest.mark.parametrize("program", REFUSED)
def test_nn_refuses_like_jax(program):
    jax = pytest.importorskip("jax")
    for names in (ours(), theirs()):
        with jax.enable_x64(True), pytest.raises((TypeError, ValueError, AssertionError)):
            evaluate(program, names)
