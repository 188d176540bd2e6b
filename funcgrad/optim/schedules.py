"""Schedules: functions of the number of steps done, for learning rates, under optax's names.

The number may be traced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.boundary import boundary
from funcgrad.errors import located
from funcgrad.ops.arithmetic import where
from funcgrad.optim.base import Schedule

__all__ = [
    "constant_schedule",
    "cosine_decay_schedule",
    "exponential_decay",
    "join_schedules",
    "linear_schedule",
    "piecewise_constant_schedule",
    "polynomial_schedule",
    "warmup_constant_schedule",
    "warmup_cosine_decay_schedule",
    "warmup_exponential_decay_schedule",
]


def constant_schedule(value: Any) -> Schedule:
    """Always the same.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.constant_schedule(0.1)(5)
    0.1
    """
    return lambda count: value


def polynomial_schedule(
    init_value: Any, end_value: Any, power: Any, transition_steps: int, transition_begin: int = 0
) -> Schedule:
    """From `init_value` to `end_value` by a power of the share of steps that are left.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.polynomial_schedule(1.0, 0.0, 2.0, 10)(5)
    np.float64(0.25)
    """
    if transition_steps <= 0:
        return constant_schedule(init_value)

    @boundary
    def schedule(count: Any) -> Any:
        done = fnp.clip(count - max(transition_begin, 0), 0, transition_steps)
        return (init_value - end_value) * (1 - done / transition_steps) ** power + end_value

    return schedule


def linear_schedule(
    init_value: Any, end_value: Any, transition_steps: int, transition_begin: int = 0
) -> Schedule:
    """From `init_value` to `end_value` in equal steps.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.linear_schedule(1.0, 0.0, 10)(5)
    np.float64(0.5)
    """
    return polynomial_schedule(init_value, end_value, 1, transition_steps, transition_begin)


def exponential_decay(
    init_value: Any,
    transition_steps: int,
    decay_rate: Any,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: Any = None,
) -> Schedule:
    """``init_value * decay_rate ** (count / transition_steps)``.

    Parameters
    ----------
    init_value : float
    transition_steps : int
    decay_rate : float
    transition_begin : int, optional
        Until then it is `init_value`.
    staircase : bool, optional
        Whether the exponent is rounded down.
    end_value : float, optional
        The last value: the least for a rate below 1, the largest for one above.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.exponential_decay(1.0, 10, 0.5)(20)
    np.float64(0.25)
    """
    if transition_steps <= 0 or decay_rate == 0:
        return constant_schedule(init_value)
    limit = fnp.maximum if decay_rate < 1 else fnp.minimum

    @boundary
    def schedule(count: Any) -> Any:
        done = count - max(transition_begin, 0)
        power = done / transition_steps
        power = fnp.floor(power) if staircase else power
        found = where(done <= 0, init_value, init_value * fnp.power(decay_rate, power))
        return found if end_value is None else limit(found, end_value)

    return schedule


def cosine_decay_schedule(
    init_value: Any, decay_steps: int, alpha: Any = 0.0, exponent: Any = 1.0
) -> Schedule:
    """From `init_value` to ``alpha * init_value`` along half a cosine (Loshchilov and Hutter 2017).

    Raises
    ------
    ValueError
        `decay_steps` is not positive.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.cosine_decay_schedule(1.0, 10)(5)
    np.float64(0.5)
    """
    if not decay_steps > 0:
        raise ValueError(
            located(f"cosine_decay_schedule: decay_steps is positive, not {decay_steps}")
        )

    @boundary
    def schedule(count: Any) -> Any:
        share = fnp.minimum(count, decay_steps) / decay_steps
        decayed = (0.5 * (1 + fnp.cos(np.pi * share))) ** exponent
        return init_value * ((1 - alpha) * decayed + alpha)

    return schedule


def piecewise_constant_schedule(
    init_value: Any, boundaries_and_scales: Mapping[int, float] | None = None
) -> Schedule:
    """`init_value` times each factor whose number of steps is passed.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.piecewise_constant_schedule(1.0, {10: 0.1, 20: 0.5})(15)
    np.float64(0.1)
    """

    @boundary
    def schedule(count: Any) -> Any:
        value = init_value
        for begin, factor in sorted((boundaries_and_scales or {}).items()):
            value = value * where(count >= begin, factor, 1.0)
        return value

    return schedule


def join_schedules(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """Schedules one after the other, each counted from its boundary on.

    Raises
    ------
    ValueError
        There is not one boundary between each two.

    Examples
    --------
    >>> from funcgrad import optim
    >>> parts = optim.linear_schedule(0.0, 1.0, 10), optim.constant_schedule(5.0)
    >>> optim.join_schedules(parts, [10])(12)
    np.float64(5.0)
    """
    if len(boundaries) != len(schedules) - 1:
        raise ValueError(
            located(
                f"join_schedules: {len(schedules)} schedules have {len(schedules) - 1} boundaries, "
                f"not {len(boundaries)}"
            )
        )

    @boundary
    def schedule(count: Any) -> Any:
        found = schedules[0](count)
        for begin, part in zip(boundaries, schedules[1:], strict=True):
            found = where(count < begin, found, part(count - begin))
        return found

    return schedule


def warmup_constant_schedule(init_value: Any, peak_value: Any, warmup_steps: int) -> Schedule:
    """Up to `peak_value` in equal steps, and constant from there on.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.warmup_constant_schedule(0.0, 1.0, 10)(5)
    np.float64(0.5)
    """
    return linear_schedule(init_value, peak_value, warmup_steps)


def warmup_cosine_decay_schedule(
    init_value: Any,
    peak_value: Any,
    warmup_steps: int,
    decay_steps: int,
    end_value: Any = 0.0,
    exponent: Any = 1.0,
) -> Schedule:
    """Up to `peak_value` in equal steps, then down to `end_value` along half a cosine.

    Parameters
    ----------
    init_value, peak_value, end_value : float
    warmup_steps : int
    decay_steps : int
        Of both together.
    exponent : float, optional
        Of the cosine.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.warmup_cosine_decay_schedule(0.0, 1.0, 10, 30)(20)
    np.float64(0.5)
    """
    alpha = 0.0 if peak_value == 0.0 else end_value / peak_value
    parts = [
        linear_schedule(init_value, peak_value, warmup_steps),
        cosine_decay_schedule(peak_value, decay_steps - warmup_steps, alpha, exponent),
    ]
    return join_schedules(parts, [warmup_steps])


def warmup_exponential_decay_schedule(
    init_value: Any,
    peak_value: Any,
    warmup_steps: int,
    transition_steps: int,
    decay_rate: Any,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: Any = None,
) -> Schedule:
    """Up to `peak_value` in equal steps, then `exponential_decay`.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.warmup_exponential_decay_schedule(0.0, 1.0, 10, 10, 0.5)(20)
    np.float64(0.5)
    """
    after = exponential_decay(
        peak_value, transition_steps, decay_rate, transition_begin, staircase, end_value
    )
    return join_schedules([linear_schedule(init_value, peak_value, warmup_steps), after],
                          [warmup_steps])  # fmt: skip
