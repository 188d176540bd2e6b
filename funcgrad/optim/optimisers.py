"""The optimisers: a scaling of updates, decay of weights, then the learning rate."""

from __future__ import annotations

from typing import Any

from funcgrad.optim.base import (
    GradientTransformation,
    Schedule,
    add_decayed_weights,
    chain,
    identity,
    scale_by_learning_rate,
)
from funcgrad.optim.scalings import (
    scale_by_adadelta,
    scale_by_adam,
    scale_by_adamax,
    scale_by_lion,
    scale_by_radam,
    scale_by_rms,
    scale_by_rss,
    scale_by_stddev,
    trace,
)

__all__ = [
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "adamaxw",
    "adamw",
    "lion",
    "nadam",
    "nadamw",
    "radam",
    "rmsprop",
    "sgd",
]

Rate = float | Schedule


def _descent(first: GradientTransformation, rate: Rate, *between: Any) -> GradientTransformation:
    return chain(first, *between, scale_by_learning_rate(rate))


def sgd(
    learning_rate: Rate,
    momentum: float | None = None,
    nesterov: bool = False,
    accumulator_dtype: Any = None,
) -> GradientTransformation:
    """Gradient descent, with heavy-ball or Nesterov's momentum.

    Parameters
    ----------
    learning_rate : float or schedule
        A function of the number of steps done may take the place of a number.
    momentum : float, optional
        How much of the sum of steps stays.
    nesterov : bool, optional
    accumulator_dtype : dtype, optional
        That in which the sum is kept.

    Returns
    -------
    GradientTransformation

    Examples
    --------
    >>> from funcgrad import optim
    >>> optimizer = optim.sgd(0.5)
    >>> updates, state = optimizer.update(0.5, optimizer.init(1.0))
    >>> optim.apply_updates(1.0, updates)
    np.float64(0.75)
    """
    first = identity() if momentum is None else trace(momentum, nesterov, accumulator_dtype)
    return _descent(first, learning_rate)


def adam(
    learning_rate: Rate,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    eps_root: float = 0.0,
    mu_dtype: Any = None,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """Adam (Kingma and Ba 2015).

    Parameters
    ----------
    learning_rate : float or schedule
    b1, b2, eps, eps_root, mu_dtype, nesterov
        As of `scale_by_adam`.

    Returns
    -------
    GradientTransformation
        Its state is ``(ScaleByAdamState, …)``.

    Examples
    --------
    >>> import funcgrad as fg
    >>> optimizer = fg.optim.adam(0.1)
    >>> x = 1.0
    >>> state = optimizer.init(x)
    >>> for _ in range(200):
    ...     updates, state = optimizer.update(fg.grad(lambda x: (x - 3.0) ** 2)(x), state)
    ...     x = fg.optim.apply_updates(x, updates)
    >>> bool(abs(x - 3.0) < 1e-2)
    True
    """
    scaled = scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov)
    return _descent(scaled, learning_rate)


def adamw(
    learning_rate: Rate,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    eps_root: float = 0.0,
    mu_dtype: Any = None,
    weight_decay: float = 1e-4,
    mask: Any = None,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """`adam` with weights that decay by themselves (Loshchilov and Hutter 2019).

    Parameters
    ----------
    learning_rate, b1, b2, eps, eps_root, mu_dtype, nesterov
        As of `adam`.
    weight_decay : float, optional
        Times the learning rate.
    mask : tree of bool or callable, optional
        Which weights decay.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optimizer = optim.adamw(0.1, weight_decay=0.5)
    >>> round(float(optimizer.update(0.0, optimizer.init(1.0), 1.0)[0]), 6)
    -0.05
    """
    decay = add_decayed_weights(weight_decay, mask)
    scaled = scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov)
    return _descent(scaled, learning_rate, decay)


def nadam(
    learning_rate: Rate,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    eps_root: float = 0.0,
    mu_dtype: Any = None,
    *,
    nesterov: bool = True,
) -> GradientTransformation:
    """`adam` with Nesterov's momentum (Dozat 2016).

    Examples
    --------
    >>> from funcgrad import optim
    >>> optimizer = optim.nadam(0.1)
    >>> bool(optimizer.update(1.0, optimizer.init(1.0))[0] < 0.0)
    True
    """
    return adam(learning_rate, b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov)


def nadamw(
    learning_rate: Rate,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    eps_root: float = 0.0,
    mu_dtype: Any = None,
    weight_decay: float = 1e-4,
    mask: Any = None,
    *,
    nesterov: bool = True,
) -> GradientTransformation:
    """`adamw` with Nesterov's momentum.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optimizer = optim.nadamw(0.1)
    >>> bool(optimizer.update(1.0, optimizer.init(1.0), 1.0)[0] < 0.0)
    True
    """
    rates = (learning_rate, b1, b2, eps, eps_root, mu_dtype)
    return adamw(*rates, weight_decay, mask, nesterov=nesterov)


def adamax(
    learning_rate: Rate, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> GradientTransformation:
    """`adam` with the largest gradient in the place of the mean square.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optimizer = optim.adamax(0.1)
    >>> round(float(optimizer.update(1.0, optimizer.init(1.0))[0]), 6)
    -0.1
    """
    return _descent(scale_by_adamax(b1, b2, eps), learning_rate)


def adamaxw(
    learning_rate: Rate,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 1e-4,
    mask: Any = None,
) -> GradientTransformation:
    """`adamax` with weights that decay by themselves, as in `adamw`.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optimizer = optim.adamaxw(0.1, weight_decay=0.5)
    >>> round(float(optimizer.update(0.0, optimizer.init(1.0), 1.0)[0]), 6)
    -0.05
    """
    decay = add_decayed_weights(weight_decay, mask)
    return _descent(scale_by_adamax(b1, b2, eps), learning_rate, decay)


def radam(
    learning_rate: Rate,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    eps_root: float = 0.0,
    threshold: float = 5.0,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """`adam` once the variance of its steps is known (Liu et al. 2020).

    Examples
    --------
    >>> from funcgrad import optim
    >>> optimizer = optim.radam(0.1)
    >>> optimizer.update(1.0, optimizer.init(1.0))[0]
    np.float64(-0.1)
    """
    scaled = scale_by_radam(b1, b2, eps, eps_root, threshold, nesterov=nesterov)
    return _descent(scaled, learning_rate)


def lion(
    learning_rate: Rate,
    b1: float = 0.9,
    b2: float = 0.99,
    mu_dtype: Any = None,
    weight_decay: float = 1e-3,
    mask: Any = None,
) -> GradientTransformation:
    """Steps by the sign of a running mean (Chen et al. 2023); the weights decay by themselves.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optimizer = optim.lion(0.1, weight_decay=0.0)
    >>> optimizer.update(5.0, optimizer.init(1.0), 1.0)[0]
    np.float64(-0.1)
    """
    decay = add_decayed_weights(weight_decay, mask)
    return _descent(scale_by_lion(b1, b2, mu_dtype), learning_rate, decay)


def rmsprop(
    learning_rate: Rate,
    decay: float = 0.9,
    eps: float = 1e-8,
    initial_scale: float = 0.0,
    eps_in_sqrt: bool = True,
    centered: bool = False,
    momentum: float | None = None,
    nesterov: bool = False,
    bias_correction: bool = False,
) -> GradientTransformation:
    """Hinton's RMSprop; centered, by the variance of the gradient (Graves 2013).

    Parameters
    ----------
    learning_rate : float or schedule
    decay, eps, initial_scale, eps_in_sqrt
        As of `scale_by_rms`.
    centered : bool, optional
    momentum, nesterov : optional
        As of `sgd`, of the steps.
    bias_correction : bool, optional
        As of `scale_by_rms`.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optimizer = optim.rmsprop(0.1, decay=0.75)
    >>> round(float(optimizer.update(5.0, optimizer.init(1.0))[0]), 6)
    -0.2
    """
    scaled = (scale_by_stddev if centered else scale_by_rms)(
        decay, eps, initial_scale, eps_in_sqrt, bias_correction
    )
    heavy = identity() if momentum is None else trace(momentum, nesterov)
    return chain(scaled, scale_by_learning_rate(learning_rate), heavy)


def adagrad(
    learning_rate: Rate, initial_accumulator_value: float = 0.1, eps: float = 1e-7
) -> GradientTransformation:
    """Adagrad (Duchi et al. 2011).

    Examples
    --------
    >>> from funcgrad import optim
    >>> optimizer = optim.adagrad(0.1, initial_accumulator_value=0.0)
    >>> round(float(optimizer.update(5.0, optimizer.init(1.0))[0]), 6)
    -0.1
    """
    return _descent(scale_by_rss(initial_accumulator_value, eps), learning_rate)


def adadelta(
    learning_rate: Rate = 1.0,
    rho: float = 0.9,
    eps: float = 1e-6,
    weight_decay: float = 0.0,
    weight_decay_mask: Any = None,
) -> GradientTransformation:
    """Adadelta (Zeiler 2012).

    Examples
    --------
    >>> from funcgrad import optim
    >>> optimizer = optim.adadelta()
    >>> bool(optimizer.update(5.0, optimizer.init(1.0))[0] < 0.0)
    True
    """
    before = [add_decayed_weights(weight_decay, weight_decay_mask)] if weight_decay else []
    return chain(*before, scale_by_adadelta(rho, eps), scale_by_learning_rate(learning_rate))
