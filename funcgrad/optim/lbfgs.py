"""The limited-memory BFGS method, and searches along its directions, in optax's manner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

import funcgrad.numpy as fnp
from funcgrad import debug, tree
from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import concrete, operand, type_of, value
from funcgrad.errors import located
from funcgrad.ops.shape import broadcast_to
from funcgrad.optim.base import (
    GradientTransformation,
    apply_updates,
    chain,
    fitting,
    needed,
    next_count,
    scale,
    scale_by_learning_rate,
    zeros_like,
)
from funcgrad.optim.zoom import Conditions, zoom
from funcgrad.transforms.api import cond, value_and_grad, while_loop

__all__ = [
    "LinesearchState",
    "ScaleByLBFGSState",
    "lbfgs",
    "scale_by_backtracking_linesearch",
    "scale_by_lbfgs",
    "scale_by_zoom_linesearch",
    "value_and_grad_from_state",
]

Function = Callable[..., Any]


class ScaleByLBFGSState(NamedTuple):
    """The number of steps, the last parameters and gradient, and the last differences of both.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.scale_by_lbfgs(2).init(1.0).diff_params_memory
    array([0., 0.])
    """

    count: Any
    params: Any
    updates: Any
    diff_params_memory: Any
    diff_updates_memory: Any
    weights_memory: Any


class LinesearchState(NamedTuple):
    """The length of the last step, and the value and the gradient where it ended.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.scale_by_backtracking_linesearch(5).init(1.0).learning_rate
    np.float64(1.0)
    """

    learning_rate: Any
    value: Any
    grad: Any


def _dot(x: Any, y: Any) -> Any:
    """The inner product of two trees."""
    parts = [
        fnp.sum(fnp.real(fnp.conj(a) * b))
        for a, b in zip(tree.leaves(x), tree.leaves(y), strict=True)
    ]
    return sum(parts[1:], parts[0])


def _times(factor: Any, x: Any) -> Any:
    return tree.map(lambda leaf: leaf * fitting(factor, leaf), x)


def _plus(x: Any, y: Any) -> Any:
    return tree.map(lambda a, b: a + b, x, y)


def scale_by_lbfgs(
    memory_size: int = 10, scale_init_precond: bool = True
) -> GradientTransformation:
    """Updates times an approximation of the inverse Hessian (Nocedal and Wright 2006, 7.4).

    Parameters
    ----------
    memory_size : int, optional
        How many of the last steps it is made of.
    scale_init_precond : bool, optional
        Whether it begins with a multiple of the identity instead of the identity.

    Raises
    ------
    ValueError
        `memory_size` is not positive, or `update` is not given the parameters.

    Examples
    --------
    >>> from funcgrad import optim
    >>> scaled = optim.scale_by_lbfgs()
    >>> scaled.update(2.0, scaled.init(1.0), 1.0)[0]
    np.float64(1.0)
    """
    if memory_size < 1:
        raise ValueError(located(f"scale_by_lbfgs: memory_size is positive, not {memory_size}"))

    def stacked(params: Any) -> Any:
        return tree.map(
            lambda z: broadcast_to(z, (memory_size, *type_of(operand(z)).shape)), zeros_like(params)
        )

    def init(params: Any) -> ScaleByLBFGSState:
        none = zeros_like(params)
        return ScaleByLBFGSState(
            np.int64(0), none, none, stacked(params), stacked(params), np.zeros(memory_size)
        )

    def update(
        updates: Any, state: ScaleByLBFGSState, params: Any = None, **more: Any
    ) -> tuple[Any, ScaleByLBFGSState]:
        needed(params, "scale_by_lbfgs")
        later = state.count > 0
        s = tree.map(lambda a, b: fnp.where(later, a - b, 0.0), params, state.params)
        y = tree.map(lambda a, b: fnp.where(later, a - b, 0.0), updates, state.updates)
        product, size = _dot(s, y), _dot(y, y)
        curved = product > 0
        weight = fnp.where(curved, 1.0 / fnp.where(curved, product, 1.0), 0.0)
        steps = tree.map(_remembered, state.diff_params_memory, s)
        turns = tree.map(_remembered, state.diff_updates_memory, y)
        weights = _remembered(state.weights_memory, weight)
        if scale_init_precond:
            first = 1.0 / fnp.sqrt(fnp.maximum(1.0, _dot(updates, updates)))
            factor = fnp.where(curved, product / fnp.where(size > 0, size, 1.0), first)
        else:
            factor = 1.0
        found = _product(updates, steps, turns, weights, factor, memory_size)
        new = ScaleByLBFGSState(next_count(state.count), params, updates, steps, turns, weights)
        return found, new

    return GradientTransformation(init, update)


def _remembered(rows: Any, new: Any) -> Any:
    """The last rows and a new one, which comes last."""
    return fnp.concatenate([rows[1:], fnp.expand_dims(new, 0)])


def _row(rows: Any, k: int) -> Any:
    return tree.map(lambda leaf: leaf[k], rows)


def _product(q: Any, steps: Any, turns: Any, weights: Any, factor: Any, count: int) -> Any:
    """The approximation times a tree, by the two-loop recursion."""
    shares = []
    for k in reversed(range(count)):
        shares.append(weights[k] * _dot(_row(steps, k), q))
        q = _plus(q, _times(-shares[-1], _row(turns, k)))
    r = _times(factor, q)
    for k, share in zip(range(count), reversed(shares), strict=True):
        back = weights[k] * _dot(_row(turns, k), r)
        r = _plus(r, _times(share - back, _row(steps, k)))
    return r


# ------------------------------------------------------------------------------ line searches


def _search(
    find: Callable[[Any, Any, Any, Any, Any, Function], LinesearchState],
) -> GradientTransformation:
    def init(params: Any) -> LinesearchState:
        return LinesearchState(np.float64(1.0), np.float64(np.inf), zeros_like(params))

    def update(
        updates: Any, state: LinesearchState, params: Any = None, **more: Any
    ) -> tuple[Any, LinesearchState]:
        needed(params, "a line search")
        given = [more.get(n) for n in ("value", "grad", "value_fn")]
        if any(x is None for x in given):
            raise ValueError(
                located(
                    "a line search needs the function: call update(gradient, state, params, "
                    "value=value, grad=gradient, value_fn=function)"
                )
            )
        known = {"value", "grad", "value_fn"}
        rest = {n: x for n, x in more.items() if n not in known}
        at, gradient, function = given
        assert function is not None
        found = find(updates, state, params, at, gradient, lambda p: function(p, **rest))
        return _times(found.learning_rate, updates), found

    return GradientTransformation(init, update)


def scale_by_zoom_linesearch(
    max_linesearch_steps: int = 25,
    max_learning_rate: Any = None,
    tol: Any = 0.0,
    increase_factor: Any = 2.0,
    slope_rtol: Any = 1e-4,
    curv_rtol: Any = 0.9,
    approx_dec_rtol: Any = 1e-6,
    stepsize_precision: Any = 1e-5,
    initial_guess_strategy: Literal["keep", "one"] = "keep",
    verbose: bool = False,
) -> GradientTransformation:
    """Updates times a length that meets the strong Wolfe conditions, found by cubic interpolation.

    Parameters
    ----------
    max_linesearch_steps : int, optional
    max_learning_rate : float, optional
        The largest length.
    tol : float, optional
        By how much the conditions may be missed.
    increase_factor : float, optional
        What the length is multiplied by until an interval is found.
    slope_rtol, curv_rtol : float, optional
        The constants of the two conditions.
    approx_dec_rtol : float or None, optional
        Values that differ by less, in proportion, are compared by their slopes.
    stepsize_precision : float, optional
        In a smaller interval it is not searched, if the value falls enough somewhere.
    initial_guess_strategy : "keep" or "one", optional
        The first length is the last one found, or 1.
    verbose : bool, optional
        Whether a search after which the value has not fallen says so.

    Raises
    ------
    ValueError
        `initial_guess_strategy` is another one, or `update` is not given ``params``, ``value=``,
        ``grad=`` and ``value_fn=``.

    Notes
    -----
    It may be jitted and mapped. The steps are optax's.

    Examples
    --------
    >>> from funcgrad import optim
    >>> f = lambda x: (x - 3.0) ** 2
    >>> search = optim.chain(optim.scale(-1.0), optim.scale_by_zoom_linesearch())
    >>> search.update(-6.0, search.init(0.0), 0.0, value=9.0, grad=-6.0, value_fn=f)[0]
    np.float64(3.0)
    """
    if initial_guess_strategy not in ("keep", "one"):
        raise ValueError(
            located(
                "scale_by_zoom_linesearch: initial_guess_strategy is 'keep' or 'one', not "
                f"{initial_guess_strategy!r}"
            )
        )
    wanted = Conditions(
        max_linesearch_steps, max_learning_rate, tol, increase_factor,
        slope_rtol, curv_rtol, approx_dec_rtol, stepsize_precision,
    )  # fmt: skip

    def find(d: Any, state: Any, params: Any, at: Any, gradient: Any, function: Function) -> Any:
        both = value_and_grad(function)

        def evaluate(t: Any) -> tuple[Any, Any, Any]:
            v, g = both(apply_updates(params, _times(t, d)))
            return v, _dot(tree.map(fnp.conj, g), d), g

        guess = state.learning_rate if initial_guess_strategy == "keep" else 1.0
        slope = _dot(gradient, d)
        made = LinesearchState(*zoom(evaluate, at, slope, gradient, guess, wanted))
        if verbose:
            _tell(made.value < at, made.learning_rate, made.value, at, slope)
        return made

    return _search(find)


def scale_by_backtracking_linesearch(
    max_backtracking_steps: int = 25,
    slope_rtol: float = 1e-4,
    decrease_factor: float = 0.8,
    increase_factor: float = 1.5,
    max_learning_rate: float = 1.0,
    atol: float = 0.0,
    rtol: float = 0.0,
    store_grad: bool = False,
    verbose: bool = False,
) -> GradientTransformation:
    """Updates times a length that makes the value fall enough (Armijo's condition).

    Parameters
    ----------
    max_backtracking_steps : int, optional
    slope_rtol : float, optional
        How much of the fall that the slope promises has to come.
    decrease_factor : float, optional
        What the length is multiplied by until it does.
    increase_factor : float, optional
        The first length is the last one times this.
    max_learning_rate : float, optional
        The largest length.
    atol, rtol : float, optional
        By how much the value may rise besides, and by which part of itself.
    store_grad : bool, optional
        Whether the gradient where the step ends is computed, for `value_and_grad_from_state`; else
        it is NaN in the state.
    verbose : bool, optional
        Whether a search that finds no length says so.

    Raises
    ------
    ValueError
        `update` is not given ``params``, ``value=``, ``grad=`` and ``value_fn=``.

    Notes
    -----
    It may be jitted and mapped. Where no length is found the step is the last one tried, or none
    if its value is no number.

    Examples
    --------
    >>> from funcgrad import optim
    >>> f = lambda x: (x - 3.0) ** 2
    >>> search = optim.scale_by_backtracking_linesearch(decrease_factor=0.5)
    >>> search.update(6.0, search.init(0.0), 0.0, value=9.0, grad=-6.0, value_fn=f)[0]
    3.0
    """

    def find(d: Any, state: Any, params: Any, at: Any, gradient: Any, function: Function) -> Any:
        slope = _dot(d, gradient)

        def value_at(t: Any) -> Any:
            return fnp.astype(
                fnp.asarray(function(apply_updates(params, _times(t, d)))), np.float64
            )

        first = fnp.minimum(state.learning_rate * increase_factor, max_learning_rate)

        def excess(t: Any, v: Any) -> Any:
            found = v - (1.0 + rtol) * at - slope_rtol * t * slope
            return fnp.maximum(fnp.where(fnp.isnan(found), np.inf, found), 0.0)

        def low(t: Any, v: Any) -> Any:
            return excess(t, v) <= atol

        def again(carry: Any) -> Any:
            t, v, k = carry
            return fnp.logical_and(fnp.logical_not(low(t, v)), k < max_backtracking_steps)

        def shorter(carry: Any) -> Any:
            t, _, k = carry
            t = t * decrease_factor
            return t, value_at(t), k + 1

        t, v, _ = while_loop(again, shorter, (fnp.asarray(first), value_at(first), np.int64(0)))
        if verbose:
            _tell(low(t, v), t, v, at, slope)
        some = fnp.isfinite(excess(t, v))
        t, v = fnp.where(some, t, 0.0), fnp.where(some, v, at)
        if not store_grad:
            return LinesearchState(t, v, tree.map(lambda g: g * np.nan, gradient))
        return LinesearchState(t, *value_and_grad(function)(apply_updates(params, _times(t, d))))

    return _search(find)


def _tell(found: Any, *numbers: Any) -> None:
    """Print what a search knows that has not found a length."""

    def failed(t: Any, v: Any, at: Any, slope: Any) -> None:
        text = "the line search has found no length: at {} the value is {} after {}, the slope {}"
        debug.print(text, t, v, at, slope)

    cond(found, lambda *_: None, failed, *numbers)


def value_and_grad_from_state(value_fn: Function) -> Function:
    """The value and the gradient that a line search has left in its state, or computed anew.

    Parameters
    ----------
    value_fn : callable

    Returns
    -------
    callable
        ``f(params, *args, state=state, **kwargs)`` returns ``(value, gradient)``.

    Examples
    --------
    >>> from funcgrad import optim
    >>> f = lambda x: (x - 3.0) ** 2
    >>> optimizer = optim.lbfgs()
    >>> x, state = 0.0, optimizer.init(0.0)
    >>> both = optim.value_and_grad_from_state(f)
    >>> for _ in range(5):
    ...     value, gradient = both(x, state=state)
    ...     updates, state = optimizer.update(
    ...         gradient, state, x, value=value, grad=gradient, value_fn=f
    ...     )
    ...     x = optim.apply_updates(x, updates)
    >>> round(float(x), 6)
    3.0
    """
    both = value_and_grad(value_fn)

    @boundary
    def function(params: Any, *args: Any, state: Any, **kwargs: Any) -> Any:
        parts = tree.leaves(state, is_leaf=lambda s: isinstance(s, LinesearchState))
        for part in parts:
            if isinstance(part, LinesearchState) and _known(part):
                return part.value, part.grad
        return both(params, *args, **kwargs)

    return function


def _known(state: LinesearchState) -> bool:
    """Whether numbers are at hand, and all finite."""
    leaves = [state.value, *tree.leaves(state.grad)]
    return all(concrete(x) and bool(np.all(np.isfinite(value(x)))) for x in leaves)


def lbfgs(
    learning_rate: Any = None,
    memory_size: int = 10,
    scale_init_precond: bool = True,
    linesearch: GradientTransformation | None = None,
) -> GradientTransformation:
    """The limited-memory BFGS method with a line search.

    Parameters
    ----------
    learning_rate : float or schedule, optional
        By default 1, which is what it is for.
    memory_size, scale_init_precond
        As of `scale_by_lbfgs`.
    linesearch : GradientTransformation, optional
        By default `scale_by_zoom_linesearch` of at most 20 steps, each time from 1 on;
        `identity()` for none.

    Returns
    -------
    GradientTransformation
        ``update(gradient, state, params, value=…, grad=…, value_fn=…)``.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> f = lambda x: np.sum((x**2 - 2.0) ** 2)
    >>> optimizer = fg.optim.lbfgs()
    >>> x = np.array([1.0, 3.0])
    >>> state = optimizer.init(x)
    >>> for _ in range(20):
    ...     value, gradient = fg.value_and_grad(f)(x)
    ...     updates, state = optimizer.update(
    ...         gradient, state, x, value=value, grad=gradient, value_fn=f
    ...     )
    ...     x = fg.optim.apply_updates(x, updates)
    >>> x.round(6)
    array([1.414214, 1.414214])
    """
    downwards = scale(-1.0) if learning_rate is None else scale_by_learning_rate(learning_rate)
    search = linesearch or scale_by_zoom_linesearch(20, initial_guess_strategy="one")
    return chain(scale_by_lbfgs(memory_size, scale_init_precond), downwards, search)
