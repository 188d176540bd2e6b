"""One program text, run with JAX's modules and with ours in their place.

A program is an expression of `x` (an array), or a text that gives any tree. The names in it are
`m` (jax or funcgrad), `np` (jax.numpy or funcgrad.numpy), `tree`, `tu`, `nn`, `init`, `random`,
`lax` and `ravel`.
"""

import functools
import importlib

import numpy

import funcgrad as fg

__all__ = ["NESTS", "agree", "evaluate", "in_both", "ours", "theirs"]


@functools.cache
def ours():
    find = importlib.import_module
    return {
        "m": fg,
        "np": fg.numpy,
        "tree": fg.tree,
        "tu": find("funcgrad.tree_util"),
        "nn": find("funcgrad.nn"),
        "init": find("funcgrad.nn.initializers"),
        "random": find("funcgrad.random"),
        "lax": find("funcgrad.lax"),
        "ravel": find("funcgrad.flatten_util").ravel_pytree,
    }


@functools.cache
def theirs():
    import jax
    import jax.flatten_util

    return {
        "m": jax,
        "np": jax.numpy,
        "tree": jax.tree,
        "tu": jax.tree_util,
        "nn": jax.nn,
        "init": jax.nn.initializers,
        "random": jax.random,
        "lax": jax.lax,
        "ravel": jax.flatten_util.ravel_pytree,
    }


NESTS = {
    "value": "f(x)",
    "jit": "m.jit(f)(x)",
    "grad": "m.grad(s)(x)",
    "jit grad": "m.jit(m.grad(s))(x)",
    "jvp": "m.jvp(f, (x,), (np.cos(x),))[1]",
    "hvp": "m.jvp(m.grad(s), (x,), (np.cos(x),))[1]",
    "vmap grad": "m.vmap(m.grad(s))(np.stack([x, x * 0.5 + 0.1]))",
    "jit vmap jvp": "m.jit(m.vmap(lambda x: m.jvp(f, (x,), (np.cos(x),))[1]))(np.stack([x, -x]))",
    "hessian": "m.jacfwd(m.jacrev(s))(x)",
}


def evaluate(text, names, x=None):
    """The value of an expression; `s` is the sum of what the function `f` of `x` returns."""
    scope = dict(names)
    if x is not None:
        np, tree = names["np"], names["tree"]
        scope["x"] = np.asarray(x)
        f = scope["f"] = eval(f"lambda x: {text}", scope)
        weigh = lambda y: np.sum(y * np.sin(1.0 + np.arange(y.size)).reshape(y.shape))
        scope["s"] = lambda x: sum(map(weigh, tree.leaves(f(x))))
        return {name: lambda way=way: eval(way, scope) for name, way in NESTS.items()}
    *lines, last = text.strip().split("\n")
    exec("\n".join(lines), scope)
    return eval(last, scope)


def in_both(text, x=None, nests=()):
    """What our modules and JAX's give, for each nest."""
    import jax

    with jax.enable_x64(True):
        if x is None:
            return [(evaluate(text, ours()), evaluate(text, theirs()))]
        mine, other = (evaluate(text, names, x) for names in (ours(), theirs()))
        return [(mine[n](), other[n]()) for n in nests]


def agree(mine, other, rtol=1e-10, atol=1e-12):
    """The same leaves: shapes, and numbers up to rounding."""
    import jax

    one, two = fg.tree.leaves(mine), jax.tree.leaves(other)
    assert len(one) == len(two), (mine, other)
    for a, b in zip(one, two, strict=True):
        if isinstance(a, str) or not hasattr(numpy.asarray(b), "dtype"):
            assert a == b
            continue
        a, b = numpy.asarray(a), numpy.asarray(b)
        assert a.shape == b.shape, (a.shape, b.shape)
        assert a.dtype == b.dtype, (a.dtype, b.dtype)
        if b.dtype.kind in "fc":
            numpy.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
        else:
            numpy.testing.assert_array_equal(a, b)
