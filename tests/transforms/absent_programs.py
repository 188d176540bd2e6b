"""Compositions that are singular somewhere, and every way to differentiate them.

A program is elementwise: what it does at one element knows nothing of the others, so a Jacobian
or a Hessian is diagonal, and the ways agree element by element.
"""

import numpy as np

import funcgrad as fg

POINTS = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 4.0])

SINGULAR = {
    "sqrt": np.sqrt,
    "log": np.log,
    "arccos": np.arccos,
    "power": lambda x: x**0.5,
    "reciprocal": lambda x: 1.0 / x,
    "cbrt": np.cbrt,
    "arctanh": np.arctanh,
    "log1p": np.log1p,
}
SMOOTH = {
    "square": np.square,
    "exp": np.exp,
    "cos": np.cos,
    "abs": np.abs,
    "twice": lambda x: 2.0 * x,
    "less one": lambda x: x - 1.0,
    "hypot": lambda x: np.hypot(x, 1.0),
    "with itself": lambda x: x * x,
    "sum of two": lambda x: x + np.sin(x),
}
CHOOSING = {
    "where": lambda x: np.where(x > 0, x, 0.0),
    "the other": lambda x: np.where(x > 0, 1.0, x),
    "maximum": lambda x: np.maximum(x, 0.25),
    "minimum": lambda x: np.minimum(x, 0.25),
    "clip": lambda x: np.clip(x, -0.25, 0.75),
    "select": lambda x: np.select([x > 0.75, x > 0], [x * x, x], 0.5),
    "nan_to_num": lambda x: np.nan_to_num(x, nan=0.5),
    "fmax": lambda x: np.fmax(x, 0.25),
    "piece": lambda x: np.where(np.isfinite(x), x, 1.0),
}
STEPS = {**SINGULAR, **SMOOTH, **CHOOSING}


def composed(names):
    def f(x):
        for name in names:
            x = STEPS[name](x)
        return x

    return f


def drawn(rng):
    """A composition of two to five steps with at least one that is singular."""
    pools = [SINGULAR, CHOOSING, {**SMOOTH, **CHOOSING, **SINGULAR}]
    count = int(rng.integers(2, 6))
    picked = [pools[k] if k < 2 else pools[2] for k in range(count)]
    names = [str(rng.choice(list(pool))) for pool in picked]
    return [names[k] for k in rng.permutation(count)]


def total(f):
    return lambda x: np.sum(f(x))


def diagonal(way):
    return lambda f: lambda x: _diagonal(way(f)(x))


def _diagonal(j):
    """The diagonal; everything else is 0: an element does not depend on the others."""
    np.testing.assert_array_equal(j[~np.eye(len(j), dtype=bool)], 0.0)
    return np.diagonal(j)


FIRST = {
    "grad": lambda f: fg.grad(total(f)),
    "jit of grad": lambda f: fg.jit(fg.grad(total(f))),
    "grad of jit": lambda f: fg.grad(fg.jit(total(f))),
    "sum of jit": lambda f: fg.grad(total(fg.jit(f))),
    "grad of checkpoint": lambda f: fg.grad(fg.checkpoint(total(f))),
    "vmap of grad": lambda f: fg.vmap(fg.grad(f)),
    "jit of vmap of grad": lambda f: fg.jit(fg.vmap(fg.grad(f))),
    "grad of vmap": lambda f: fg.grad(total(fg.vmap(f))),
    "jacfwd": lambda f: diagonal(fg.jacfwd)(f),
    "jacrev": lambda f: diagonal(fg.jacrev)(f),
    "jit of jacfwd": lambda f: fg.jit(fg.jacfwd(total(f))),
    "jacfwd of jit": lambda f: fg.jacfwd(fg.jit(total(f))),
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (np.ones_like(x),))[1],
    "linearize": lambda f: lambda x: fg.linearize(f, x)[1](np.ones_like(x)),
}
SECOND = {
    "hessian": lambda f: diagonal(fg.hessian)(total(f)),
    "reverse over reverse": lambda f: diagonal(lambda g: fg.jacrev(fg.grad(g)))(total(f)),
    "forward over forward": lambda f: diagonal(lambda g: fg.jacfwd(fg.jacfwd(g)))(total(f)),
    "reverse over forward": lambda f: diagonal(lambda g: fg.jacrev(fg.jacfwd(g)))(total(f)),
    "jit of hessian": lambda f: diagonal(lambda g: fg.jit(fg.hessian(g)))(total(f)),
    "each alone": lambda f: fg.vmap(fg.grad(fg.grad(f))),
}
