"""Updates scaled by a rule of `kernels.update_rules`.

The same statements are behind the facade's optimisers and its kernels. A rule gives the parameter
after a step; of the parameter 0 that is the step itself. Constants and states are those of optax.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

import funcgrad.numpy as fnp
from funcgrad import tree
from funcgrad.core.tracer import operand
from funcgrad.errors import located
from funcgrad.kernels.update_rules import OTHER_RULES, RULES
from funcgrad.ops.arithmetic import negative
from funcgrad.optim.base import (
    GradientTransformation,
    fitting,
    next_count,
    zeros_like,
)
from funcgrad.optim.states import (
    ScaleByAdaDeltaState,
    ScaleByAdamState,
    ScaleByLionState,
    ScaleByRmsState,
    ScaleByRmsWithCountState,
    ScaleByRssState,
    ScaleByRStdDevState,
    ScaleByRStdDevWithCountState,
    TraceState,
)

__all__ = [
    "scale_by_adadelta",
    "scale_by_adam",
    "scale_by_adamax",
    "scale_by_lion",
    "scale_by_radam",
    "scale_by_rms",
    "scale_by_rss",
    "scale_by_stddev",
    "trace",
]


def by_rule(
    rule: str,
    state_class: Any,
    numbers: Callable[[Any], dict[str, Any]],
    start: float = 0.0,
    first_dtype: Any = None,
) -> GradientTransformation:
    """The step of a rule, upwards, with the numbers that are its in the step so-and-so.

    The first array of the state is kept as `first_dtype`.
    """
    function = RULES[rule] if rule in RULES else OTHER_RULES[rule]
    counts = "count" in state_class._fields

    def kept(array: Any) -> Any:
        """The first array of the state in its dtype."""
        if first_dtype is None:
            return array
        return tree.map(lambda z: fnp.asarray(z).astype(first_dtype)[()], array)

    def init(params: Any) -> Any:
        arrays = [zeros_like(params) for _ in state_class._fields[counts:]]
        if start:
            arrays = [tree.map(lambda z: z + fitting(start, z), a) for a in arrays]
        arrays[:1] = [kept(a) for a in arrays[:1]]
        return state_class(*([np.int64(0)] if counts else []), *arrays)

    def update(updates: Any, state: Any, params: Any = None, **more: Any) -> tuple[Any, Any]:
        count = next_count(state.count) if counts else None
        given = numbers(count)
        leaves, definition = tree.flatten(updates)
        columns = [definition.flatten_up_to(part) for part in state[counts:]]
        rows = []
        for g, *own in zip(leaves, *columns, strict=True):
            g = operand(g)
            rows.append(function(0.0, g, *own, **{n: fitting(x, g) for n, x in given.items()}))
        made = [tree.unflatten(definition, c) for c in zip(*rows, strict=True)]
        if not rows:
            made = [tree.unflatten(definition, ()) for _ in range(1 + len(columns))]
        steps = tree.map(lambda u: negative(operand(u)), made[0])
        made[1:2] = [kept(a) for a in made[1:2]]
        return steps, state_class(*([count] if counts else []), *made[1:])

    return GradientTransformation(init, update)


def trace(
    decay: float, nesterov: bool = False, accumulator_dtype: Any = None
) -> GradientTransformation:
    """Updates with momentum: ``t = g + decay * t``, or ``g + decay * t`` of the new one.

    Parameters
    ----------
    decay : float
    nesterov : bool, optional
    accumulator_dtype : dtype, optional
        That in which the sum is kept.

    Examples
    --------
    >>> from funcgrad import optim
    >>> heavy = optim.trace(0.5)
    >>> _, state = heavy.update(1.0, heavy.init(0.0))
    >>> heavy.update(1.0, state)
    (np.float64(1.5), TraceState(trace=np.float64(1.5)))
    """
    numbers = {"momentum": decay, "share": 1.0, "lr": 1.0}
    rule = "nesterov" if nesterov else "momentum"
    return by_rule(rule, TraceState, lambda _: numbers, first_dtype=accumulator_dtype)


def scale_by_adam(
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    eps_root: float = 0.0,
    mu_dtype: Any = None,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """Updates over the root of a running mean of their squares (Kingma and Ba 2015).

    Parameters
    ----------
    b1, b2 : float, optional
        How much of the running means stays in a step.
    eps : float, optional
        Added to the root.
    eps_root : float, optional
        Added under the root, so that steps can be differentiated where a gradient is 0.
    mu_dtype : dtype, optional
        That in which the mean of the gradient is kept.
    nesterov : bool, optional
        With Nesterov's momentum (Dozat 2016).

    Examples
    --------
    >>> from funcgrad import optim
    >>> scaled = optim.scale_by_adam()
    >>> round(float(scaled.update(5.0, scaled.init(0.0))[0]), 6)
    1.0
    """

    def numbers(count: Any) -> dict[str, Any]:
        given = {"rest1": 1 - b1, "beta2": b2, "rest2": 1 - b2, "eps": eps}
        left = 1 - b2**count
        if not nesterov:
            return {**given, "root": fnp.sqrt(left), "rate": 1 / (1 - b1**count)}
        rate, ahead = (1 - b1) / (1 - b1**count), b1 / (1 - b1 ** (count + 1))
        return {**given, "correction": left, "rate": rate, "momentum_rate": ahead}

    if _is_none(eps_root):
        rule = "nadam" if nesterov else "adam"
        return by_rule(rule, ScaleByAdamState, numbers, first_dtype=mu_dtype)
    rooted = _under_root(b1, b2, eps, eps_root, nesterov)
    return by_rule("adam_rooted", ScaleByAdamState, rooted, first_dtype=mu_dtype)


def _is_none(eps_root: Any) -> bool:
    return isinstance(eps_root, (int, float)) and eps_root == 0


def _under_root(
    b1: float,
    b2: float,
    eps: float,
    eps_root: float,
    nesterov: bool,
    rectified: Callable[[Any], tuple[Any, Any]] = lambda _: (1.0, 1.0),
) -> Callable[[Any], dict[str, Any]]:
    """The numbers of `adam_rooted`; `rectified` gives whether a step is scaled, and its length."""

    def numbers(count: Any) -> dict[str, Any]:
        on, length = rectified(count)
        rate = (1 - b1) / (1 - b1**count) if nesterov else 0.0
        ahead = b1 / (1 - b1 ** (count + 1)) if nesterov else 1 / (1 - b1**count)
        means = {"rest1": 1 - b1, "beta2": b2, "rest2": 1 - b2, "correction": 1 - b2**count}
        rates = {"rate": rate * length, "momentum_rate": ahead * length, "rectified": on}
        return {**means, **rates, "inner": eps_root, "eps": eps}

    return numbers


def scale_by_adamax(
    b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> GradientTransformation:
    """`scale_by_adam` with the largest gradient in the place of the mean square.

    Examples
    --------
    >>> from funcgrad import optim
    >>> scaled = optim.scale_by_adamax()
    >>> round(float(scaled.update(5.0, scaled.init(0.0))[0]), 6)
    1.0
    """

    def numbers(count: Any) -> dict[str, Any]:
        return {"rest1": 1 - b1, "beta2": b2, "eps": eps, "rate": 1 / (1 - b1**count)}

    return by_rule("adamax", ScaleByAdamState, numbers)


def scale_by_radam(
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    eps_root: float = 0.0,
    threshold: float = 5.0,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """`scale_by_adam` once the variance of its steps is known (Liu et al. 2020).

    Examples
    --------
    >>> from funcgrad import optim
    >>> scaled = optim.scale_by_radam()
    >>> scaled.update(5.0, scaled.init(0.0))[0]
    np.float64(5.0)
    """
    most = 2 / (1 - b2) - 1

    def rectified(count: Any) -> tuple[Any, Any]:
        known = most - 2 * count * b2**count / (1 - b2**count)
        on = known >= threshold
        share = (known - 4) * (known - 2) * most / ((most - 4) * (most - 2) * known)
        length = fnp.where(on, fnp.sqrt(fnp.where(on, share, 1.0)), 1.0)
        return fnp.where(on, 1.0, 0.0), length

    def numbers(count: Any) -> dict[str, Any]:
        on, length = rectified(count)
        root = fnp.sqrt(1 - b2**count)
        size = length * fnp.where(on > 0, root, 1.0)
        given = {"rest1": 1 - b1, "beta2": b2, "rest2": 1 - b2, "eps": eps * root}
        return {**given, "rectified": on, "rate": size / (1 - b1**count)}

    if not nesterov and _is_none(eps_root):
        return by_rule("radam", ScaleByAdamState, numbers)
    rooted = _under_root(b1, b2, eps, eps_root, nesterov, rectified)
    return by_rule("adam_rooted", ScaleByAdamState, rooted)


def scale_by_lion(
    b1: float = 0.9,
    b2: float = 0.99,
    mu_dtype: Any = None,
    *,
    mode: Literal["hard", "smooth", "refined"] = "hard",
    smooth_beta: float = 1.0,
) -> GradientTransformation:
    """The sign of a mean of the gradient and a running mean of it (Chen et al. 2023).

    Parameters
    ----------
    b1, b2 : float, optional
        How much of the running mean is in a step, and how much of it stays.
    mu_dtype : dtype, optional
        That in which the mean is kept.
    mode : "hard", "smooth" or "refined", optional
        The sign, ``tanh(smooth_beta * mean)``, or the mean itself where it is less than 1.
    smooth_beta : float, optional

    Raises
    ------
    ValueError
        `mode` is another one.

    Examples
    --------
    >>> from funcgrad import optim
    >>> scaled = optim.scale_by_lion()
    >>> scaled.update(-5.0, scaled.init(0.0))[0]
    np.float64(-1.0)
    """
    rules = {"hard": "lion", "smooth": "lion_smooth", "refined": "lion_refined"}
    if mode not in rules:
        raise ValueError(located(f"scale_by_lion: mode is one of {list(rules)}, not {mode!r}"))
    numbers = {"beta1": b1, "rest1": 1 - b1, "beta2": b2, "rest2": 1 - b2, "lr": 1.0}
    if mode == "smooth":
        numbers["steep"] = smooth_beta
    return by_rule(rules[mode], ScaleByLionState, lambda _: numbers, first_dtype=mu_dtype)


def scale_by_rms(
    decay: float = 0.9,
    eps: float = 1e-8,
    initial_scale: float = 0.0,
    eps_in_sqrt: bool = True,
    bias_correction: bool = False,
) -> GradientTransformation:
    """Updates over the root of a running mean of their squares (Hinton 2012).

    Parameters
    ----------
    decay : float, optional
        How much of the mean stays in a step.
    eps : float, optional
    initial_scale : float, optional
        What the mean begins with.
    eps_in_sqrt : bool, optional
        Whether `eps` is added under the root, as in optax; PyTorch adds it to the root.
    bias_correction : bool, optional
        Whether the mean is corrected for what it begins with, as in Adam.

    Examples
    --------
    >>> from funcgrad import optim
    >>> scaled = optim.scale_by_rms(0.75)
    >>> round(float(scaled.update(5.0, scaled.init(0.0))[0]), 6)
    2.0
    """
    if bias_correction:
        corrected = _corrected(decay, eps, eps_in_sqrt)
        return by_rule("rmsprop_corrected", ScaleByRmsWithCountState, corrected, initial_scale)
    numbers = {"alpha": decay, "rest": 1 - decay, "eps": eps, "lr": 1.0}
    rule = "rmsprop_under_root" if eps_in_sqrt else "rmsprop"
    return by_rule(rule, ScaleByRmsState, lambda _: numbers, initial_scale)


def _corrected(decay: float, eps: float, eps_in_sqrt: bool) -> Callable[[Any], dict[str, Any]]:
    """The numbers of `rmsprop_corrected`."""
    inner, outer = (eps, 0.0) if eps_in_sqrt else (0.0, eps)
    fixed = {"alpha": decay, "rest": 1 - decay, "inner": inner, "eps": outer, "lr": 1.0}
    return lambda count: {**fixed, "correction": 1 - decay**count}


def scale_by_stddev(
    decay: float = 0.9,
    eps: float = 1e-8,
    initial_scale: float = 0.0,
    eps_in_sqrt: bool = True,
    bias_correction: bool = False,
) -> GradientTransformation:
    """`scale_by_rms` with the variance in the place of the mean square (Graves 2013).

    Examples
    --------
    >>> from funcgrad import optim
    >>> scaled = optim.scale_by_stddev(0.5)
    >>> round(float(scaled.update(5.0, scaled.init(0.0))[0]), 6)
    2.0
    """
    made = _by_deviation(decay, eps, eps_in_sqrt, bias_correction)

    def init(params: Any) -> Any:
        state = made.init(params)
        nu = tree.map(lambda z: z + fitting(initial_scale, z), state.nu)
        return state._replace(nu=nu) if initial_scale else state

    return GradientTransformation(init, made.update)


def _by_deviation(
    decay: float, eps: float, eps_in_sqrt: bool, bias_correction: bool
) -> GradientTransformation:
    if bias_correction:
        corrected = _corrected(decay, eps, eps_in_sqrt)
        return by_rule("rmsprop_centered_corrected", ScaleByRStdDevWithCountState, corrected)
    numbers = {"alpha": decay, "rest": 1 - decay, "eps": eps, "lr": 1.0}
    rule = "rmsprop_centered_under_root" if eps_in_sqrt else "rmsprop_centered"
    return by_rule(rule, ScaleByRStdDevState, lambda _: numbers)


def scale_by_rss(
    initial_accumulator_value: float = 0.1, eps: float = 1e-7
) -> GradientTransformation:
    """Updates over the root of the sum of their squares so far (Duchi et al. 2011).

    Examples
    --------
    >>> from funcgrad import optim
    >>> scaled = optim.scale_by_rss(0.0)
    >>> round(float(scaled.update(5.0, scaled.init(0.0))[0]), 6)
    1.0
    """
    numbers = {"eps": eps, "rate": 1.0}
    return by_rule(
        "adagrad_under_root", ScaleByRssState, lambda _: numbers, initial_accumulator_value
    )


def scale_by_adadelta(rho: float = 0.9, eps: float = 1e-6) -> GradientTransformation:
    """Updates times the size of the steps so far over that of the gradients (Zeiler 2012).

    Examples
    --------
    >>> from funcgrad import optim
    >>> scaled = optim.scale_by_adadelta()
    >>> bool(0.0 < scaled.update(5.0, scaled.init(0.0))[0] < 1.0)
    True
    """
    numbers = {"rho": rho, "rest": 1 - rho, "eps": eps, "lr": 1.0}
    return by_rule("adadelta", ScaleByAdaDeltaState, lambda _: numbers)
