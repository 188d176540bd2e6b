"""Operators on functions of one vector, in the words that JAX and this package share.

`operators(m)` are those of the module `m`, ``jax`` or ``funcgrad``: each takes a function of a
vector of three numbers to another one, so that they can be put around each other in any order;
`own_operators` are more of ours.
`differences` says what an operator gives, in terms of the values of the function that it took.
"""

import numpy as np

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.testing import derivative_along

__all__ = [
    "DERIVATIVES",
    "POOL",
    "X",
    "differences",
    "function",
    "operators",
    "own_operators",
]

X = np.array([0.3, -0.6, 0.9])
WEIGHTS = np.array([0.7, -0.2, 0.4])
SCALES = np.array([0.5, 1.1, -0.8])
MATRIX = np.array([[1.0, 0.3, -0.2], [0.1, 0.8, 0.4], [-0.3, 0.2, 1.1]])

# Functions to begin with; `np` and `lax` are those of the module.
POOL = {
    "waves": "lambda x: np.sin(x) * np.exp(-x * x)",
    "rational": "lambda x: x / (1.0 + x**2) + 0.1 * x",
    "product": "lambda x: np.tanh(A @ x) * x[::-1]",
    "reduction": "lambda x: np.tanh(x) * np.mean(x**2) - np.max(x) * 0.1",
    "selection": "lambda x: np.where(x > 0.2, x**2, np.sin(x))",
    "division by zero not taken": "lambda x: np.where(x > -9.0, np.cos(x), np.sqrt(x + 9.0))",
    "indexing": "lambda x: np.stack([x[2] * x[0], np.sin(x[1]), np.sum(x[:2])])",
    "cumulative": "lambda x: np.cumsum(np.sin(x)) * 0.5",
    "sorted": "lambda x: np.sort(x) * np.cos(x)",
    "solve": "lambda x: np.linalg.solve(A + 0.1 * np.outer(x, x), x)",
    "complex": "lambda x: np.real(np.exp(1j * x) * (x + 0.2j))",
    "update": "lambda x: np.sin(at(x)[1].set(x[0] * x[2]))",
}


def operators(m):
    """By name, the operators of the module `m`."""
    xp, lax = m.numpy, m.lax
    weigh = lambda y: xp.sum(xp.sin(y) * WEIGHTS)  # bounded, whatever the function grows to
    along = lambda x: xp.cos(x)

    def grad(f):
        return m.grad(lambda x: weigh(f(x)))

    def value_and_grad(f):
        def both(x):
            value, found = m.value_and_grad(lambda x: weigh(f(x)))(x)
            return value + found

        return both

    def with_aux(f):
        def of_both(x):
            found, aux = m.grad(lambda x: (weigh(f(x)), f(x)), has_aux=True)(x)
            return found + 0.5 * aux

        return of_both

    def jvp(f):
        return lambda x: m.jvp(f, (x,), (along(x),))[1]

    def dual(f):
        return lambda x: sum(m.jvp(f, (x,), (along(x),)))

    def vjp(f):
        def pulled(x):
            y, pull = m.vjp(f, x)
            return pull(xp.cos(y))[0]

        return pulled

    def linearize(f):
        def moved(x):
            y, push = m.linearize(f, x)
            return push(along(x)) + 0.1 * push(y)

        return moved

    def transposed(f):
        def pulled(x):
            push = m.linearize(f, x)[1]
            return m.linear_transpose(push, x)(along(x))[0]

        return pulled

    def jacfwd(f):
        return lambda x: m.jacfwd(f)(x) @ along(x)

    def jacrev(f):
        return lambda x: along(x) @ m.jacrev(f)(x)

    def hessian(f):
        return lambda x: m.hessian(lambda x: weigh(f(x)))(x) @ WEIGHTS

    def vmap(f):
        return lambda x: xp.sum(m.vmap(lambda s: f(s * x))(xp.asarray(SCALES)), 0)

    def vmap_axes(f):
        def both(x):
            columns = xp.stack([x, 0.5 * x], 1)
            return m.vmap(f, in_axes=1, out_axes=1)(columns) @ np.array([0.3, 0.7])

        return both

    def named(f):
        def of_each(s, x):
            return f(s * x) - lax.pmean(f(x * (1.0 + s)), "i")

        return lambda x: m.vmap(of_each, in_axes=(0, None), axis_name="i")(SCALES, x)[1]

    def jit(f):
        return m.jit(f)

    def checkpoint(f):
        return m.checkpoint(f)

    def saving(f):
        return m.checkpoint(f, policy=m.checkpoint_policies.dots_saveable)

    def scan(f):
        def steps(x):
            step = lambda c, s: (xp.sin(f(c)) + s * x, c * s)
            last, rows = lax.scan(step, x, xp.asarray(SCALES))
            return last + xp.sum(rows, 0)

        return steps

    def reverse_scan(f):
        def steps(x):
            rows = xp.stack([x, 0.5 * x])
            return lax.scan(lambda c, r: (0.5 * c + f(r), None), x, rows, reverse=True)[0]

        return steps

    def repeated(f):
        return lambda x: lax.fori_loop(0, 2, lambda k, c: xp.sin(f(c)) + 0.1 * k * x, x)

    def cond(f):
        return lambda x: lax.cond(x[0] > 0.1, f, lambda x: f(2.0 * x), x)

    def switch(f):
        which = lambda x: xp.asarray(x[1] > 5.0, int) + 1
        branches = [lambda x: x, f, lambda x: 0.0 * x]
        return lambda x: lax.switch(which(x), branches, x)

    def mapped(f):
        return lambda x: xp.sum(lax.map(f, xp.stack([x, 0.5 * x])), 0)

    def custom_vjp(f):
        ruled = m.custom_vjp(f)
        ruled.defvjp(lambda x: (f(x), x), lambda x, g: m.vjp(f, x)[1](g))
        return ruled

    def custom_jvp(f):
        ruled = m.custom_jvp(f)
        ruled.defjvp(lambda xs, ts: m.jvp(f, xs, ts))
        return ruled

    def closing(f):
        """Inside a derivative, a value that the derivative outside moves."""
        return lambda x: m.grad(lambda y: xp.sum(f(y * x) * xp.sin(x)))(0.5 * x)

    def on_tree(f):
        def parts(x):
            tree = {"a": x, "b": (2.0 * x, [0.5 * x])}
            loss = lambda t: weigh(f(t["a"]) * t["b"][0] + t["b"][1][0])
            found = m.grad(loss)(tree)
            return found["a"] + found["b"][0] - found["b"][1][0]

        return parts

    def stopped(f):
        return lambda x: f(x) * lax.stop_gradient(xp.cos(f(x)))

    found = dict(locals())
    return {n: f for n, f in found.items() if callable(f) and n not in HELPERS}


def own_operators():
    """Those that are put together in other words here than in JAX."""

    def jet(f):
        return lambda x: fg.jet(f, (x,), ((np.cos(x),),))[1][0]

    def chunked(f):
        return lambda x: fg.jacobian(f, chunk_size=2)(x) @ np.cos(x)

    def custom_gradient(f):
        return fg.custom_gradient(lambda x: (f(x), lambda g: fg.vjp(f, x)[1](g)[0]))

    def custom_vmap(f):
        ruled = fg.custom_vmap(f)
        ruled.def_vmap(lambda size, batched, x: (fg.vmap(f)(x), True))
        return ruled

    def closure_convert(f):
        def called(x):
            made, values = fg.closure_convert(lambda y: f(y) + 0.1 * x, x)
            return made(x, *values)

        return called

    def two_halves(f):
        fwd, bwd = fg.fwd_and_bwd(f, 0)

        def pulled(x):
            out, residuals = fwd(x)
            return bwd(residuals, np.cos(out))

        return pulled

    def while_loop(f):
        def steps(x):
            step = lambda c: (c[0] + 1, np.sin(f(c[1])) + 0.1 * c[0] * x)
            return fg.while_loop(lambda c: c[0] < 2, step, (0, x))[1]

        return steps

    def written(f):
        def rows(x):
            y = fnp.zeros(3)
            y[:2] = f(x)[:2]
            y[2] = x[0] * y[0]
            y *= 0.5
            return y

        return rows

    def scoped(f):
        return fg.named_call(f)

    return dict(locals())


HELPERS = {"m", "xp", "lax", "weigh", "along"}
# How often an operator differentiates: the price of a nest grows with the product.
DERIVATIVES = {
    "grad": 1, "value_and_grad": 1, "with_aux": 1, "jvp": 1, "dual": 1, "vjp": 1, "linearize": 1,
    "transposed": 1, "jacfwd": 1, "jacrev": 1, "hessian": 2, "closing": 1, "on_tree": 1, "jet": 1,
    "chunked": 1, "two_halves": 1,
}  # fmt: skip


def function(m, name, at):
    """A function of the pool in the words of the module `m`."""
    return eval(POOL[name], {"np": m.numpy, "lax": m.lax, "A": MATRIX, "at": at})


def _tangent(f, x, t):
    return derivative_along(f, (x,), (t,))[0][0]


def _matrix(f, x):
    """The Jacobian, column by column."""
    return np.stack([_tangent(f, x, e) for e in np.eye(3)], -1)


def _weighed(f):
    return lambda x: np.sum(np.sin(f(x)) * WEIGHTS)


def _slope(f, x):
    return _matrix(_weighed(f), x)


def _loop(f, x, count):
    for k in range(count):
        x = f(k, x)
    return x


def _scan(f, x):
    c, rows = x, []
    for s in SCALES:
        rows.append(c * s)
        c = np.sin(f(c)) + s * x
    return c + np.sum(rows, 0)


def _tree(f, x):
    def of(a, b, c):
        return np.sum(np.sin(f(a) * b + c) * WEIGHTS)

    parts = [lambda v: of(v, 2.0 * x, 0.5 * x), lambda v: of(x, v, 0.5 * x)]
    last = _matrix(lambda v: of(x, 2.0 * x, v), 0.5 * x)
    return _matrix(parts[0], x) + _matrix(parts[1], 2.0 * x) - last


# What each operator gives, from values of `f` alone; None where that cannot tell.
differences = {
    "grad": _slope,
    "value_and_grad": lambda f, x: _weighed(f)(x) + _slope(f, x),
    "with_aux": lambda f, x: _slope(f, x) + 0.5 * f(x),
    "jvp": lambda f, x: _tangent(f, x, np.cos(x)),
    "dual": lambda f, x: f(x) + _tangent(f, x, np.cos(x)),
    "vjp": lambda f, x: np.cos(f(x)) @ _matrix(f, x),
    "linearize": lambda f, x: _tangent(f, x, np.cos(x)) + 0.1 * _tangent(f, x, f(x)),
    "transposed": lambda f, x: np.cos(x) @ _matrix(f, x),
    "jacfwd": lambda f, x: _tangent(f, x, np.cos(x)),
    "jacrev": lambda f, x: np.cos(x) @ _matrix(f, x),
    "hessian": None,  # two differences are too coarse
    "vmap": lambda f, x: sum(f(s * x) for s in SCALES),
    "vmap_axes": lambda f, x: 0.3 * f(x) + 0.7 * f(0.5 * x),
    "named": lambda f, x: f(SCALES[1] * x) - sum(f(x * (1.0 + s)) for s in SCALES) / 3.0,
    "jit": lambda f, x: f(x),
    "checkpoint": lambda f, x: f(x),
    "saving": lambda f, x: f(x),
    "scan": _scan,
    "reverse_scan": lambda f, x: 0.5 * (0.5 * x + f(0.5 * x)) + f(x),
    "repeated": lambda f, x: _loop(lambda k, c: np.sin(f(c)) + 0.1 * k * x, x, 2),
    "cond": lambda f, x: f(x) if x[0] > 0.1 else f(2.0 * x),
    "switch": lambda f, x: 0.0 * x if x[1] > 5.0 else f(x),
    "mapped": lambda f, x: f(x) + f(0.5 * x),
    "custom_vjp": lambda f, x: f(x),
    "custom_jvp": lambda f, x: f(x),
    "closing": lambda f, x: _matrix(lambda y: np.sum(f(y * x) * np.sin(x)), 0.5 * x),
    "on_tree": _tree,
    "stopped": lambda f, x: f(x) * np.cos(f(x)),
    "jet": lambda f, x: _tangent(f, x, np.cos(x)),
    "chunked": lambda f, x: _tangent(f, x, np.cos(x)),
    "two_halves": lambda f, x: np.cos(f(x)) @ _matrix(f, x),
    "custom_gradient": lambda f, x: f(x),
    "custom_vmap": lambda f, x: f(x),
    "closure_convert": lambda f, x: f(x) + 0.1 * x,
    "while_loop": lambda f, x: _loop(lambda k, c: np.sin(f(c)) + 0.1 * k * x, x, 2),
    "written": lambda f, x: 0.5 * np.append(f(x)[:2], x[0] * f(x)[0]),
    "scoped": lambda f, x: f(x),
}
