"""One small program for each function of `lax`, `nn`, `random`, `optim`, `image` and `tree`.

`write_compositions.py` puts each under the transforms and prints what comes of it. A program is a
function of three numbers between 0 and 1; where none is written here it is the name applied to
them. Those of most of `lax` stand with the tests that compare them with JAX.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from lax.jax_programs import PROGRAMS as OF_LAX

import funcgrad as fg
import funcgrad.numpy as fnp

__all__ = ["POINT", "TAKES_NO_ARRAYS", "function", "program"]

POINT = np.array([0.2, 0.7, 0.45])

TAKES_NO_ARRAYS = {
    "lax": "broadcast_shapes conv_dimension_numbers dtype empty padtype_to_pads "
    "reduce_window_shape_tuple",
    "random": "key_dtype key_impl",
    "tree": "is_container keystr paths register_dataclass register_node register_static static",
}
"""What is about shapes, types and structures alone."""

_OVER_EXAMPLES = "lambda x: m.vmap(lambda v: {}, axis_name='i')(x)"
_OF_KEY = "lambda x: x * random.normal({})[..., None]"
_UPDATE = "lambda x: step(optim.{}, x)"
_SCHEDULE = "lambda x: optim.{}(10.0 * x[0])"
_INITIALIZER = "lambda x: x * init.{}(key, (3, 3))"
_SEARCH = "lambda x: searched(optim.{}, x)"
_OF_TREE = "lambda x: (lambda parts: {})({{'a': x, 'b': [x[0] * x, 2.0]}})"

PROGRAMS: dict[str, dict[str, str]] = {
    "lax": {
        "all_gather": _OVER_EXAMPLES.format("v * lax.all_gather(v, 'i')"),
        "all_to_all": "lambda x: m.vmap(lambda v: lax.all_to_all(v, 'i', 0, 0), axis_name='i')("
        "np.outer(x, x))",
        "approx_min_k": "lambda x: lax.approx_min_k(x, 2)[0]",
        "associative_scan": "lambda x: lax.associative_scan(np.multiply, x)",
        "axis_index": _OVER_EXAMPLES.format("v * lax.axis_index('i')"),
        "axis_size": _OVER_EXAMPLES.format("v * lax.axis_size('i')"),
        "broadcast_like": "lambda x: lax.broadcast_like(x, np.zeros((2, 3)))",
        "cond": "lambda x: lax.cond(x[0] < 0.5, np.sin, np.cos, x)",
        "conv_general_dilated": "lambda x: lax.conv_general_dilated(x[None, None], "
        "x[None, None, :2], (1,), 'SAME')",
        "conv_with_general_padding": "lambda x: lax.conv_with_general_padding(x[None, None], "
        "x[None, None, :2], (1,), [(1, 0)], (1,), (1,))",
        "convert_element_type": "lambda x: lax.convert_element_type(x, complex)",
        "custom_linear_solve": "lambda x: lax.custom_linear_solve(lambda v: v * (1 + x), x, "
        "lambda f, b: b / (1 + x), symmetric=True)",
        "custom_root": "lambda x: lax.custom_root(lambda y: y**3 - x, x, "
        "lambda f, _: np.cbrt(x), lambda g, y: y / g(np.ones(3)))",
        "fori_loop": "lambda x: lax.fori_loop(0, 3, lambda i, y: y * np.sin(x), x)",
        "map": "lambda x: lax.map(np.sin, x)",
        "platform_dependent": "lambda x: lax.platform_dependent(x, default=np.sin)",
        "pmax": _OVER_EXAMPLES.format("v * lax.pmax(v, 'i')"),
        "pmean": _OVER_EXAMPLES.format("v * lax.pmean(v, 'i')"),
        "pmin": _OVER_EXAMPLES.format("v * lax.pmin(v, 'i')"),
        "ppermute": _OVER_EXAMPLES.format("v * lax.ppermute(v, 'i', [(0, 1), (1, 2), (2, 0)])"),
        "pshuffle": _OVER_EXAMPLES.format("v * lax.pshuffle(v, 'i', [1, 2, 0])"),
        "psum": _OVER_EXAMPLES.format("v * lax.psum(v, 'i')"),
        "psum_scatter": "lambda x: m.vmap(lambda v: lax.psum_scatter(v, 'i'), axis_name='i')("
        "np.outer(x, x))",
        "pswapaxes": "lambda x: m.vmap(lambda v: lax.pswapaxes(v, 'i', 0), axis_name='i')("
        "np.outer(x, x))",
        "ragged_dot": "lambda x: lax.ragged_dot(x[:, None], np.reshape(x, (3, 1, 1)), "
        "np.array([1, 1, 1], np.int32))",
        "ragged_dot_general": "lambda x: lax.ragged_dot_general(x[:, None], "
        "np.reshape(x, (3, 1, 1)), np.array([1, 1, 1], np.int32), "
        "lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,)))",
        "real": "lambda x: lax.real(lax.complex(x, x) * (2 + 1j))",
        "reduce_precision": "lambda x: lax.reduce_precision(x, 10, 52)",
        "scaled_dot": "lambda x: lax.scaled_dot(np.outer(x, x), np.outer(x, x), "
        "lhs_scale=np.ones((3, 1)), rhs_scale=np.ones((1, 3)))",
        "scan": "lambda x: lax.scan(lambda c, v: (c * v, np.sin(c)), 1.0, x)",
        "scatter_apply": "lambda x: lax.scatter_apply(x, np.array([[1]]), np.sin, "
        "lax.ScatterDimensionNumbers((), (0,), (0,)), update_shape=(1,))",
        "stop_gradient": "lambda x: lax.stop_gradient(x)",
        "switch": "lambda x: lax.switch((2 * x[1]).astype(int), [np.sin, np.cos], x)",
        "unstack": "lambda x: lax.unstack(x)",
        "while_loop": "lambda x: lax.while_loop(lambda c: c[1] < 3, "
        "lambda c: (c[0] * np.sin(x), c[1] + 1), (x, 0))[0]",
        "zeta": "lambda x: lax.zeta(3.0, 1 + x)",
    },
    "lax.linalg": {
        "cholesky_update": "lambda x: lax.linalg.cholesky_update(np.eye(3) + 0 * x, x)",
        "qdwh": "lambda x: lax.linalg.qdwh(np.eye(3) + np.outer(x, x))[:2]",
        "tridiagonal": "lambda x: lax.linalg.tridiagonal(np.outer(x, x) + np.diag(x))[:3]",
    },
    "nn": {
        "dot_product_attention": "lambda x: nn.dot_product_attention(*3 * "
        "[np.reshape(np.outer(x, x), (1, 3, 1, 3))])",
        "glu": "lambda x: nn.glu(np.append(x, 1.0))",
        "one_hot": "lambda x: nn.one_hot(np.argsort(x), 3)",
        "scaled_matmul": "lambda x: nn.scaled_matmul(*2 * [np.outer(x, x)[None]], "
        "*2 * [np.ones((1, 3, 1))])",
    },
    "nn.initializers": {
        "constant": _INITIALIZER.format("constant(2.0)"),
        "delta_orthogonal": "lambda x: x * init.delta_orthogonal()(key, (3, 3, 3))",
        "ones": "lambda x: x * init.ones(key, (3,))",
        "variance_scaling": _INITIALIZER.format("variance_scaling(1.0, 'fan_in', 'normal')"),
        "zeros": "lambda x: x + init.zeros(key, (3,))",
    },
    "random": {
        "PRNGKey": _OF_KEY.format("random.PRNGKey(3)"),
        "ball": "lambda x: x * random.ball(key, 3)",
        "bernoulli": "lambda x: random.bernoulli(key, x)",
        "beta": "lambda x: random.beta(key, 1 + x, 2.0)",
        "binomial": "lambda x: random.binomial(key, 5, x)",
        "bits": "lambda x: x * random.bits(key, (3,))",
        "categorical": "lambda x: random.categorical(key, x)",
        "chisquare": "lambda x: random.chisquare(key, 1 + x)",
        "choice": "lambda x: random.choice(key, x, (2,))",
        "clone": _OF_KEY.format("random.clone(key)"),
        "dirichlet": "lambda x: random.dirichlet(key, 1 + x)",
        "double_sided_maxwell": "lambda x: random.double_sided_maxwell(key, x, 1 + x, (3,))",
        "f": "lambda x: random.f(key, 1 + x, 3.0)",
        "fold_in": _OF_KEY.format("random.fold_in(key, 7)"),
        "gamma": "lambda x: random.gamma(key, 1 + x)",
        "generalized_normal": "lambda x: x * random.generalized_normal(key, 1.5, (3,))",
        "geometric": "lambda x: random.geometric(key, x)",
        "key": _OF_KEY.format("random.key(3)"),
        "key_data": "lambda x: x[:2] * random.key_data(key)",
        "loggamma": "lambda x: random.loggamma(key, 1 + x)",
        "lognormal": "lambda x: random.lognormal(key, x)",
        "multinomial": "lambda x: random.multinomial(key, 5.0, x / x.sum())",
        "multivariate_normal": "lambda x: random.multivariate_normal(key, x, "
        "np.eye(3) + np.outer(x, x))",
        "orthogonal": "lambda x: x @ random.orthogonal(key, 3)",
        "pareto": "lambda x: random.pareto(key, 1 + x)",
        "permutation": "lambda x: random.permutation(key, x)",
        "poisson": "lambda x: random.poisson(key, 5 * x)",
        "rademacher": "lambda x: x * random.rademacher(key, (3,), float)",
        "randint": "lambda x: x * random.randint(key, (3,), 1, 9)",
        "rayleigh": "lambda x: random.rayleigh(key, x)",
        "split": _OF_KEY.format("random.split(key)[1]"),
        "t": "lambda x: random.t(key, 1 + x, (3,))",
        "triangular": "lambda x: random.triangular(key, -x, 0.1, 1 + x)",
        "truncated_normal": "lambda x: random.truncated_normal(key, -x, 1 + x)",
        "uniform": "lambda x: random.uniform(key, (3,), minval=-x, maxval=x)",
        "wald": "lambda x: random.wald(key, 1 + x)",
        "weibull_min": "lambda x: random.weibull_min(key, x, 1 + x, (3,))",
        "wrap_key_data": _OF_KEY.format("random.wrap_key_data(random.key_data(key))"),
    },
    "optim": {
        "apply_updates": "lambda x: optim.apply_updates(x, x**2)",
        "chain": _UPDATE.format("chain(optim.clip(1.0), optim.adam(0.1))"),
        "clip": _UPDATE.format("clip(0.5)"),
        "clip_by_global_norm": _UPDATE.format("clip_by_global_norm(0.5)"),
        "constant_schedule": "lambda x: x * optim.constant_schedule(0.5)(3)",
        "cosine_decay_schedule": _SCHEDULE.format("cosine_decay_schedule(0.5, 10)"),
        "exponential_decay": _SCHEDULE.format("exponential_decay(0.5, 10, 0.9)"),
        "global_norm": "lambda x: optim.global_norm([x, x**2])",
        "join_schedules": _SCHEDULE.format(
            "join_schedules([optim.linear_schedule(0.0, 1.0, 5), "
            "optim.exponential_decay(1.0, 9, 0.5)], [5])"
        ),
        "lbfgs": _SEARCH.format("lbfgs()"),
        "linear_schedule": _SCHEDULE.format("linear_schedule(0.5, 0.1, 10)"),
        "masked": _UPDATE.format("masked(optim.adam(0.1), True)"),
        "multi_transform": _UPDATE.format("multi_transform({'a': optim.adam(0.1)}, 'a')"),
        "piecewise_constant_schedule": _SCHEDULE.format("piecewise_constant_schedule(0.5, {2: 1})"),
        "polynomial_schedule": _SCHEDULE.format("polynomial_schedule(0.5, 0.1, 2, 10)"),
        "scale_by_backtracking_linesearch": _SEARCH.format("scale_by_backtracking_linesearch()"),
        "scale_by_schedule": _UPDATE.format("scale_by_schedule(lambda k: 0.1 / (1 + k))"),
        "scale_by_zoom_linesearch": _SEARCH.format("scale_by_zoom_linesearch()"),
        "set_to_zero": _UPDATE.format("set_to_zero()"),
        "trace": _UPDATE.format("trace(0.9)"),
        "value_and_grad_from_state": "lambda x: optim.value_and_grad_from_state(well)("
        "x, state=optim.lbfgs().init(x))",
        "warmup_constant_schedule": _SCHEDULE.format("warmup_constant_schedule(0.1, 0.5, 10)"),
        "warmup_cosine_decay_schedule": _SCHEDULE.format(
            "warmup_cosine_decay_schedule(0.1, 0.5, 1, 10)"
        ),
        "warmup_exponential_decay_schedule": _SCHEDULE.format(
            "warmup_exponential_decay_schedule(0.1, 0.5, 1, 10, 0.9)"
        ),
    },
    "image": {
        "resize": "lambda x: image.resize(np.outer(x, x), (5, 4), 'cubic')",
        "scale_and_translate": "lambda x: image.scale_and_translate(np.outer(x, x), (4, 4), "
        "(0, 1), 1 + x[:2], x[1:], 'linear')",
    },
    "tree": {
        "all": _OF_TREE.format("x * tree.all(parts, is_leaf=lambda p: p is parts)"),
        "broadcast": _OF_TREE.format("tree.broadcast({'a': x, 'b': x**2}, parts)['b'][1]"),
        "flatten": _OF_TREE.format("np.stack(tree.flatten(parts)[0][:2])"),
        "flatten_prefix": _OF_TREE.format("tree.flatten_prefix({'a': x, 'b': x**2}, parts)[2]"),
        "flatten_with_path": _OF_TREE.format("tree.flatten_with_path(parts)[0][1][1]"),
        "leaves": _OF_TREE.format("np.stack(tree.leaves(parts)[:2])"),
        "leaves_with_path": _OF_TREE.format("tree.leaves_with_path(parts)[1][1]"),
        "map": _OF_TREE.format("tree.map(np.sin, parts)['b'][0]"),
        "map_with_path": _OF_TREE.format(
            "tree.map_with_path(lambda k, v: len(k) * v, parts)['b'][0]"
        ),
        "reduce": _OF_TREE.format("tree.reduce(np.multiply, parts)"),
        "reduce_associative": _OF_TREE.format("tree.reduce_associative(np.multiply, parts)"),
        "structure": _OF_TREE.format("x * tree.structure(parts).num_leaves"),
        "transpose": "lambda x: tree.transpose(tree.structure([0, 0]), None, "
        "[{'a': x}, {'a': x**2}])['a'][1]",
        "unflatten": _OF_TREE.format("tree.unflatten(tree.structure([0, 0]), [x, x**2])[1]"),
    },
}

# What the rest of a module's names are applied to
_OTHERWISE = {
    "nn": "lambda x: nn.{}(x)",
    "nn.initializers": _INITIALIZER.replace("{}", "{}()"),
    "random": "lambda x: x * random.{}(key, (3,))",
    "optim": _UPDATE.replace("{}", "{}(0.1)"),
}
_WITHOUT_RATE = "identity scale_by_adam scale_by_adadelta scale_by_adamax scale_by_lion " \
    "scale_by_lbfgs scale_by_radam scale_by_rms scale_by_rss scale_by_stddev"  # fmt: skip


def program(module: str, name: str) -> tuple[str, Any] | None:
    """The text of the program of a name, and the point; None where there is none."""
    if name in PROGRAMS.get(module, {}):
        return PROGRAMS[module][name], POINT
    if module in _OTHERWISE:
        called = f"{name}()" if name in _WITHOUT_RATE.split() else None
        return (_UPDATE.format(called) if called else _OTHERWISE[module].format(name)), POINT
    if name in OF_LAX:
        return OF_LAX[name][:2]
    called = rf"\b{re.escape(module)}\.{name}\b"
    return next((p[:2] for p in OF_LAX.values() if re.search(called, p[0])), None)


def _step(optimizer: Any, x: Any) -> Any:
    """The second update of two, by gradients that differ."""
    state = optimizer.init(x)
    for g in (x, x**2):
        updates, state = optimizer.update(g, state, x)
    return updates


def _well(x: Any) -> Any:
    return (x**4).sum() + (x**2).sum()


def _searched(optimizer: Any, x: Any) -> Any:
    value, gradient = fg.value_and_grad(_well)(x)
    given = {"value": value, "grad": gradient, "value_fn": _well}
    return optimizer.update(-gradient, optimizer.init(x), x, **given)[0]


def function(text: str) -> Any:
    """The function that a program is the text of."""
    names = {"m": fg, "jax": fg, "np": fnp, "jnp": fnp, "at": fg.at, "init": fg.nn.initializers}
    names |= {n: getattr(fg, n) for n in ("lax", "nn", "random", "optim", "image", "tree")}
    names |= {"key": fg.random.key(3), "step": _step, "searched": _searched, "well": _well}
    return eval(text, names)
