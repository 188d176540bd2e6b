"""What the optimisers remember between steps, under the names of optax."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = [
    "ScaleByAdaDeltaState",
    "ScaleByAdamState",
    "ScaleByLionState",
    "ScaleByRStdDevState",
    "ScaleByRStdDevWithCountState",
    "ScaleByRmsState",
    "ScaleByRmsWithCountState",
    "ScaleByRssState",
    "TraceState",
]


class TraceState(NamedTuple):
    """The sum of updates, in which older ones decay.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.trace(0.5).init(1.0)
    TraceState(trace=np.float64(0.0))
    """

    trace: Any


class ScaleByAdamState(NamedTuple):
    """The number of steps, and running means of the gradient and of its square.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.scale_by_adam().init(1.0)
    ScaleByAdamState(count=np.int64(0), mu=np.float64(0.0), nu=np.float64(0.0))
    """

    count: Any
    mu: Any
    nu: Any


class ScaleByLionState(NamedTuple):
    """The number of steps, and a running mean of the gradient.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.scale_by_lion().init(1.0)
    ScaleByLionState(count=np.int64(0), mu=np.float64(0.0))
    """

    count: Any
    mu: Any


class ScaleByRmsState(NamedTuple):
    """A running mean of the square of the gradient.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.scale_by_rms().init(1.0)
    ScaleByRmsState(nu=np.float64(0.0))
    """

    nu: Any


class ScaleByRStdDevState(NamedTuple):
    """Running means of the gradient's square, and of itself.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.scale_by_stddev().init(1.0)
    ScaleByRStdDevState(nu=np.float64(0.0), mu=np.float64(0.0))
    """

    nu: Any
    mu: Any


class ScaleByRmsWithCountState(NamedTuple):
    """The number of steps, and a running mean of the square of the gradient.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.scale_by_rms(bias_correction=True).init(1.0)
    ScaleByRmsWithCountState(count=np.int64(0), nu=np.float64(0.0))
    """

    count: Any
    nu: Any


class ScaleByRStdDevWithCountState(NamedTuple):
    """The number of steps, and running means of the gradient's square, and of itself.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.scale_by_stddev(bias_correction=True).init(1.0).count
    np.int64(0)
    """

    count: Any
    nu: Any
    mu: Any


class ScaleByRssState(NamedTuple):
    """The sum of the squares of gradients.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.scale_by_rss().init(1.0)
    ScaleByRssState(sum_of_squares=np.float64(0.1))
    """

    sum_of_squares: Any


class ScaleByAdaDeltaState(NamedTuple):
    """Running means of the squares of gradients, and of steps.

    Examples
    --------
    >>> from funcgrad import optim
    >>> optim.scale_by_adadelta().init(1.0)
    ScaleByAdaDeltaState(e_g=np.float64(0.0), e_x=np.float64(0.0))
    """

    e_g: Any
    e_x: Any
