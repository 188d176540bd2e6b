"""Gradient transformations, and how they are put together.

One is a pair of pure functions, `init` and `update`, in the manner of optax. States are named
tuples of arrays: trees, which can be pickled, jitted, mapped and differentiated through.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from funcgrad import tree
from funcgrad.core.boundary import bounded_if_ours
from funcgrad.core.tracer import Tracer, operand, type_of
from funcgrad.core.types import zeros
from funcgrad.errors import located
from funcgrad.ops.arithmetic import absolute, cast, maximum, minimum, multiply, sqrt, square, where
from funcgrad.ops.sums import sum as sum_

__all__ = [
    "EmptyState",
    "GradientTransformation",
    "MaskedNode",
    "MaskedState",
    "MultiTransformState",
    "Schedule",
    "ScaleByScheduleState",
    "add_decayed_weights",
    "apply_updates",
    "chain",
    "clip",
    "clip_by_global_norm",
    "fitting",
    "global_norm",
    "identity",
    "masked",
    "multi_transform",
    "next_count",
    "scale",
    "scale_by_learning_rate",
    "scale_by_schedule",
    "set_to_zero",
    "zeros_like",
]

Schedule = Callable[[Any], Any]


class Update(Protocol):
    """``update(updates, state, params=None, **more)`` returns ``(updates, state)``."""

    def __call__(
        self, updates: Any, state: Any, params: Any = None, **more: Any
    ) -> tuple[Any, Any]: ...


class _Pair(NamedTuple):
    init: Callable[[Any], Any]
    update: Update


class GradientTransformation(_Pair):
    """What makes steps of gradients.

    Attributes
    ----------
    init : callable
        ``init(params)`` returns the first state.
    update : callable
        ``update(updates, state, params=None)`` returns new updates and a new state: what is to be
        added to the parameters (`apply_updates`), if it is an optimiser. Nothing is changed in
        place. A line search takes ``value=``, ``grad=`` and ``value_fn=`` besides.

    Examples
    --------
    >>> import funcgrad as fg
    >>> optimizer = fg.optim.adam(0.1)
    >>> params = {"x": 1.0}
    >>> state = optimizer.init(params)
    >>> @fg.jit
    ... def step(params, state):
    ...     gradient = fg.grad(lambda p: (p["x"] - 3.0) ** 2)(params)
    ...     updates, state = optimizer.update(gradient, state, params)
    ...     return fg.optim.apply_updates(params, updates), state
    >>> for _ in range(200):
    ...     params, state = step(params, state)
    >>> bool(abs(params["x"] - 3.0) < 1e-2)
    True
    """

    __slots__ = ()

    def __new__(cls, init: Callable[[Any], Any], update: Update) -> Self:
        return super().__new__(cls, bounded_if_ours(init), bounded_if_ours(update))


class EmptyState(NamedTuple):
    """Nothing has to be remembered.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.scale(2.0).init(1.0)
    EmptyState()
    """


class ScaleByScheduleState(NamedTuple):
    """The number of steps done.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.scale_by_schedule(lambda count: 0.1).init(1.0)
    ScaleByScheduleState(count=np.int64(0))
    """

    count: Any


class MaskedState(NamedTuple):
    """The state of a transformation that sees a part of the tree.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.masked(optim.scale(2.0), [True, False]).init([1.0, 2.0])
    MaskedState(inner_state=EmptyState())
    """

    inner_state: Any


class MultiTransformState(NamedTuple):
    """The states of several transformations, by label.

    Examples
    --------
    >>> from funcgrad import optim
    >>> both = {'a': optim.scale(1.0), 'b': optim.scale(2.0)}
    >>> sorted(optim.multi_transform(both, ['a', 'b']).init([1.0, 2.0]).inner_states)
    ['a', 'b']
    """

    inner_states: dict[Any, Any]


class MaskedNode(NamedTuple):
    """In the place of a leaf that a transformation does not see: a tree without leaves.

    Examples
    --------
    >>> from funcgrad import optim
    >>> import funcgrad as fg
    >>> fg.tree.leaves([1.0, optim.MaskedNode()])
    [1.0]
    """


# ---------------------------------------------------------------------------------- leaves


def zeros_like(params: Any) -> Any:
    """Zeros of the shapes and dtypes of the leaves."""
    return tree.map(lambda p: zeros(type_of(operand(p))), params)


def next_count(count: Any) -> Any:
    """One more step."""
    return count + np.int64(1)


def fitting(number: Any, like: Any) -> Any:
    """A number that leaves the dtype of `like` as it is."""
    if isinstance(number, Tracer):
        dtype = type_of(operand(like)).dtype
        return cast(number, dtype if dtype.kind in "fc" else np.dtype(np.float64))
    return number if type(number) in (int, float, complex) else np.asarray(number).item()


def _scaled(factor: Any, updates: Any) -> Any:
    return tree.map(lambda u: multiply(operand(u), fitting(factor, u)), updates)


def apply_updates(params: Any, updates: Any) -> Any:
    """``params + updates``, leaf by leaf, in the dtypes of the parameters.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.apply_updates({"w": 1.0}, {"w": 0.5})
    {'w': 1.5}
    """

    def added(p: Any, u: Any) -> Any:
        found = p + u
        dtype = type_of(operand(p)).dtype
        same = type_of(operand(found)).dtype == dtype
        return found if same or dtype.kind not in "fc" else cast(operand(found), dtype)

    return tree.map(added, params, updates)


def global_norm(updates: Any) -> Any:
    """The root of the sum of the squares of all elements of a tree.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.global_norm({"a": 3.0, "b": 4.0})
    np.float64(5.0)
    """
    squares = [sum_(square(absolute(operand(u)))) for u in tree.leaves(updates)]
    return sqrt(operand(sum(squares)))


# ------------------------------------------------------------------------------ simple ones


def _stateless(function: Callable[[Any, Any], Any]) -> GradientTransformation:
    def update(updates: Any, state: Any, params: Any = None, **more: Any) -> tuple[Any, EmptyState]:
        return function(updates, params), EmptyState()

    return GradientTransformation(lambda params: EmptyState(), update)


def identity() -> GradientTransformation:
    """Updates as they are.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.identity().update(2.0, optim.EmptyState())
    (2.0, EmptyState())
    """
    return _stateless(lambda updates, _: updates)


def set_to_zero() -> GradientTransformation:
    """No updates: parameters that stay as they are.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.set_to_zero().update(2.0, optim.EmptyState())[0]
    np.float64(0.0)
    """
    return _stateless(lambda updates, _: zeros_like(updates))


def scale(step_size: Any) -> GradientTransformation:
    """Updates times a number.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.scale(-0.1).update(2.0, optim.EmptyState())[0]
    np.float64(-0.2)
    """
    return _stateless(lambda updates, _: _scaled(step_size, updates))


def scale_by_schedule(step_size_fn: Schedule) -> GradientTransformation:
    """Updates times what a schedule gives for the number of steps done.

    Examples
    --------
    >>> from funcgrad import optim
    >>> halves = optim.scale_by_schedule(lambda count: 0.5**count)
    >>> updates, state = halves.update(2.0, halves.init(None))
    >>> halves.update(2.0, state)[0]
    np.float64(1.0)
    """

    def update(
        updates: Any, state: ScaleByScheduleState, params: Any = None, **more: Any
    ) -> tuple[Any, ScaleByScheduleState]:
        done = _scaled(step_size_fn(state.count), updates)
        return done, ScaleByScheduleState(next_count(state.count))

    return GradientTransformation(lambda params: ScaleByScheduleState(np.int64(0)), update)


def scale_by_learning_rate(learning_rate: Any, *, flip_sign: bool = True) -> GradientTransformation:
    """Updates times a learning rate, a number or a schedule, downwards unless `flip_sign` is False.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.scale_by_learning_rate(0.1).update(2.0, optim.EmptyState())[0]
    np.float64(-0.2)
    """
    sign = -1 if flip_sign else 1
    if callable(learning_rate):
        return scale_by_schedule(lambda count: sign * learning_rate(count))
    return scale(sign * learning_rate)


def add_decayed_weights(weight_decay: Any = 0.0, mask: Any = None) -> GradientTransformation:
    """Updates plus the parameters times a number.

    Parameters
    ----------
    weight_decay : float, optional
    mask : tree of bool or callable, optional
        Which parameters decay, as of `masked`.

    Raises
    ------
    ValueError
        `update` is not given the parameters.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.add_decayed_weights(0.5).update(1.0, optim.EmptyState(), 2.0)[0]
    2.0
    """

    def decayed(updates: Any, params: Any) -> Any:
        needed(params, "add_decayed_weights")
        return tree.map(lambda u, p: u + p * fitting(weight_decay, p), updates, params)

    made = _stateless(decayed)
    return made if mask is None else masked(made, mask)


def needed(params: Any, what: str) -> None:
    """Raise where a transformation that needs the parameters is not given them."""
    if params is None:
        raise ValueError(
            located(f"{what} needs the parameters: call update(updates, state, params)")
        )


def clip(max_delta: Any) -> GradientTransformation:
    """Updates limited to [-max_delta, max_delta], element by element.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.clip(1.0).update(2.0, optim.EmptyState())[0]
    np.float64(1.0)
    """

    def clipped(u: Any) -> Any:
        bound = fitting(max_delta, u)
        return minimum(maximum(operand(u), -bound), bound)

    return _stateless(lambda updates, _: tree.map(clipped, updates))


def clip_by_global_norm(max_norm: Any) -> GradientTransformation:
    """Updates scaled so that `global_norm` of them is `max_norm` at most.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.clip_by_global_norm(1.0).update({"a": 3.0, "b": 4.0}, optim.EmptyState())[0]
    {'a': np.float64(0.6), 'b': np.float64(0.8)}
    """

    def clipped(updates: Any, _: Any) -> Any:
        norm = global_norm(updates)
        small = norm < max_norm

        def one(u: Any) -> Any:
            return where(small, u, operand(u) / fitting(norm, u) * fitting(max_norm, u))

        return tree.map(one, updates)

    return _stateless(clipped)


# ----------------------------------------------------------------------------- put together


def _takes_more(update: Any) -> bool:
    """Whether an `update`, which may be of a user, takes further arguments by name."""
    parameters = inspect.signature(update).parameters.values()
    return any(p.kind is p.VAR_KEYWORD for p in parameters)


def chain(*transforms: GradientTransformation) -> GradientTransformation:
    """Transformations one after the other; the state is the tuple of theirs.

    Parameters
    ----------
    *transforms : GradientTransformation
        Also a user's own pairs of functions.

    Raises
    ------
    ValueError
        The state has another length than there are transformations.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optimizer = optim.chain(optim.clip(1.0), optim.sgd(0.1))
    >>> optimizer.update(5.0, optimizer.init(0.0))[0]
    np.float64(-0.1)
    """
    more_of = [_takes_more(t.update) for t in transforms]

    def init(params: Any) -> tuple[Any, ...]:
        return tuple(t.init(params) for t in transforms)

    def update(
        updates: Any, state: Any, params: Any = None, **more: Any
    ) -> tuple[Any, tuple[Any, ...]]:
        if len(state) != len(transforms):
            raise ValueError(
                located(
                    f"chain: the state is of {len(state)} transformations, not of "
                    f"{len(transforms)}; make it with init(params) of this one"
                )
            )
        new = []
        for t, own, takes in zip(transforms, state, more_of, strict=True):
            updates, s = t.update(updates, own, params, **(more if takes else {}))
            new.append(s)
        return updates, tuple(new)

    return GradientTransformation(init, update)


def masked(inner: GradientTransformation, mask: Any) -> GradientTransformation:
    """A transformation of some leaves; the others are handed on as they are.

    Parameters
    ----------
    inner : GradientTransformation
    mask : tree of bool or callable
        A prefix of the tree of parameters, or a function of it that gives one.

    Examples
    --------
    >>> from funcgrad import optim
    >>> half = optim.masked(optim.scale(0.5), {"w": True, "b": False})
    >>> p = {"w": 2.0, "b": 2.0}
    >>> half.update(p, half.init(p))[0]
    {'w': np.float64(1.0), 'b': 2.0}
    """
    takes = _takes_more(inner.update)

    def chosen(x: Any) -> Any:
        return tree.broadcast(mask(x) if callable(mask) else mask, x)

    def hidden(flags: Any, x: Any) -> Any:
        return tree.map(lambda flag, part: part if flag else MaskedNode(), flags, x)

    def init(params: Any) -> MaskedState:
        return MaskedState(inner.init(hidden(chosen(params), params)))

    def update(
        updates: Any, state: MaskedState, params: Any = None, **more: Any
    ) -> tuple[Any, MaskedState]:
        flags = chosen(updates)
        given = None if params is None else hidden(flags, params)
        new, own = inner.update(
            hidden(flags, updates), state.inner_state, given, **(more if takes else {})
        )
        return tree.map(lambda f, a, b: a if f else b, flags, new, updates), MaskedState(own)

    return GradientTransformation(init, update)


def multi_transform(
    transforms: Mapping[Any, GradientTransformation], param_labels: Any
) -> GradientTransformation:
    """For each leaf the transformation of its label.

    Parameters
    ----------
    transforms : dict
        Transformations by label.
    param_labels : tree of labels or callable
        A prefix of the tree of parameters, or a function of it that gives one.

    Raises
    ------
    ValueError
        There is no transformation of a label.

    Examples
    --------
    >>> from funcgrad import optim
    >>> both = optim.multi_transform(
    ...     {"train": optim.sgd(0.1), "keep": optim.set_to_zero()}, {"w": "train", "b": "keep"}
    ... )
    >>> p = {"w": 2.0, "b": 2.0}
    >>> both.update(p, both.init(p))[0]
    {'w': np.float64(-0.2), 'b': np.float64(0.0)}
    """

    def labels(x: Any) -> Any:
        found = tree.broadcast(param_labels(x) if callable(param_labels) else param_labels, x)
        unknown = [n for n in tree.leaves(found) if n not in transforms]
        if unknown:
            raise ValueError(
                located(
                    f"multi_transform: there is no transformation of the label {unknown[0]!r}, "
                    f"only of {', '.join(map(repr, transforms))}"
                )
            )
        return found

    def part(name: Any) -> GradientTransformation:
        return masked(transforms[name], lambda x: tree.map(lambda own: own == name, labels(x)))

    parts = {name: part(name) for name in transforms}

    def init(params: Any) -> MultiTransformState:
        return MultiTransformState({name: t.init(params) for name, t in parts.items()})

    def update(
        updates: Any, state: MultiTransformState, params: Any = None, **more: Any
    ) -> tuple[Any, MultiTransformState]:
        new = {}
        for name, t in parts.items():
            updates, new[name] = t.update(updates, state.inner_states[name], params, **more)
        return updates, MultiTransformState(new)

    return GradientTransformation(init, update)
