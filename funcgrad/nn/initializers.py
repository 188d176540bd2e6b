"""First values of the weights of networks, under the names of ``jax.nn.initializers``.

Each function makes one that is called as ``initializer(key, shape, dtype)``; the numbers are JAX's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad import random
from funcgrad.core.boundary import boundary, publish
from funcgrad.core.types import Array
from funcgrad.errors import located

__all__ = [
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]

Initializer = Callable[..., Array]
Axes = int | Sequence[int]
MODES = ("fan_in", "fan_out", "fan_avg", "fan_geo_avg")
KINDS = ("truncated_normal", "normal", "uniform")


def zeros(key: Any, shape: Sequence[int], dtype: Any = None) -> Array:
    """Zeros; the key is not used.

    Examples
    --------
    >>> from funcgrad.nn import initializers
    >>> initializers.zeros(None, (2,))
    array([0., 0.])
    """
    return np.zeros(shape, dtype or np.float64)


def ones(key: Any, shape: Sequence[int], dtype: Any = None) -> Array:
    """Ones; the key is not used.

    Examples
    --------
    >>> from funcgrad.nn import initializers
    >>> initializers.ones(None, (2,))
    array([1., 1.])
    """
    return np.ones(shape, dtype or np.float64)


def constant(value: Any, dtype: Any = None) -> Initializer:
    """Arrays full of one number.

    Examples
    --------
    >>> from funcgrad.nn import initializers
    >>> initializers.constant(3.0)(None, (2,))
    array([3., 3.])
    """
    return lambda key, shape, dtype=dtype: fnp.full(shape, value, dtype or np.float64)


def _scaled(draw: Callable[..., Any], scale: Any, dtype: Any) -> Initializer:
    @boundary
    def initializer(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        kind = np.dtype(dtype or np.float64)
        return draw(key, shape=shape, dtype=kind) * kind.type(scale)

    return initializer


def uniform(scale: float = 1e-2, dtype: Any = None) -> Initializer:
    """Uniform numbers in [0, scale).

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.nn.initializers.uniform(2.0)(fg.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return _scaled(random.uniform, scale, dtype)


def normal(stddev: float = 1e-2, dtype: Any = None) -> Initializer:
    """Normal numbers of this standard deviation.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.nn.initializers.normal(0.1)(fg.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return _scaled(random.normal, stddev, dtype)


def truncated_normal(
    stddev: float = 1e-2, dtype: Any = None, lower: float = -2.0, upper: float = 2.0
) -> Initializer:
    """Normal numbers between the bounds, then multiplied by `stddev`.

    Examples
    --------
    >>> import funcgrad as fg
    >>> x = fg.nn.initializers.truncated_normal(1.0)(fg.random.key(0), (100,))
    >>> bool(abs(x).max() < 2.0)
    True
    """

    def draw(key: Any, shape: Any, dtype: Any) -> Any:
        return random.truncated_normal(key, lower, upper, shape, dtype)

    return _scaled(draw, stddev, dtype)


def _fans(shape: Sequence[int], inner: Axes, outer: Axes, batch: Axes) -> tuple[float, float]:
    """How many inputs and outputs a unit has; further axes are the window of a convolution."""
    if inner == -2 and len(shape) < 2:
        raise ValueError(
            located(f"weights of shape {tuple(shape)} have no second last axis; give in_axis")
        )

    def size(axes: Axes) -> int:
        return math.prod(shape[k] for k in ((axes,) if isinstance(axes, int) else axes))

    window = math.prod(shape) / size(inner) / size(outer) / size(batch)
    return size(inner) * window, size(outer) * window


def variance_scaling(
    scale: float,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = None,
) -> Initializer:
    """Numbers of mean 0 and variance ``scale / n`` for n inputs or outputs.

    Parameters
    ----------
    scale : float
    mode : {"fan_in", "fan_out", "fan_avg", "fan_geo_avg"}
        What n is: the inputs, the outputs, their arithmetic or geometric mean.
    distribution : {"truncated_normal", "normal", "uniform"}
        Truncated at two standard deviations.
    in_axis, out_axis, batch_axis : int or sequence of int, optional
        The axes of inputs, outputs, and of what is not counted. The others are a window.
    dtype : dtype, optional
        float64 by default, also complex.

    Raises
    ------
    ValueError
        The mode or the distribution is none of these; when called, the shape has no such axes.

    Examples
    --------
    >>> import funcgrad as fg
    >>> initializer = fg.nn.initializers.variance_scaling(2.0, "fan_in", "normal")
    >>> initializer(fg.random.key(0), (400, 10)).std()
    np.float64(0.07...)
    """
    for name, given, known in (("mode", mode, MODES), ("distribution", distribution, KINDS)):
        if given not in known:
            raise ValueError(
                located(f"variance_scaling: {name} is one of {', '.join(known)}, not {given!r}")
            )

    @boundary
    def initializer(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        kind = np.dtype(dtype or np.float64)
        inner, outer = _fans(shape, in_axis, out_axis, batch_axis)
        means = inner, outer, (inner + outer) / 2, math.sqrt(inner * outer)
        deviation = math.sqrt(scale / means[MODES.index(mode)])
        if kind.kind == "c" and distribution != "normal":
            return _in_a_disk(key, shape, kind, distribution == "uniform") * deviation
        if distribution == "normal":
            return random.normal(key, shape, kind) * kind.type(deviation)
        if distribution == "uniform":
            drawn = random.uniform(key, shape, kind, -1.0)
            return drawn * kind.type(math.sqrt(3.0) * deviation)
        drawn = random.truncated_normal(key, -2.0, 2.0, shape, kind)
        return drawn * kind.type(deviation / 0.87962566103423978)  # the deviation of these

    return initializer


def _in_a_disk(key: Any, shape: Sequence[int], kind: Any, uniform: bool) -> Any:
    """Complex numbers of mean 0 and variance 1 within a radius."""
    real = np.empty(0, kind).real.dtype
    first, second = random.split(key)
    u = random.uniform(first, shape, real)
    if uniform:
        radius = fnp.sqrt(2.0 * u)
    else:
        radius = fnp.sqrt(-fnp.log(1.0 - (1.0 - math.exp(-4.0)) * u)) / 0.95311164380491208
    angle = 2.0 * np.pi * random.uniform(second, shape, real)
    return fnp.astype(radius * fnp.exp(1j * angle), kind)


def _of(scale: float, mode: str, distribution: str, name: str, source: str) -> Initializer:
    def maker(
        in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    maker.__name__ = maker.__qualname__ = name
    maker.__doc__ = f"""``variance_scaling({scale}, {mode!r}, {distribution!r})`` ({source}).

    Parameters
    ----------
    in_axis, out_axis, batch_axis, dtype
        As of `variance_scaling`.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.nn.initializers.{name}()(fg.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return maker


glorot_uniform = _of(1.0, "fan_avg", "uniform", "glorot_uniform", "Glorot and Bengio 2010")
glorot_normal = _of(1.0, "fan_avg", "truncated_normal", "glorot_normal", "Glorot and Bengio 2010")
lecun_uniform = _of(1.0, "fan_in", "uniform", "lecun_uniform", "LeCun et al. 1998")
lecun_normal = _of(1.0, "fan_in", "truncated_normal", "lecun_normal", "LeCun et al. 1998")
he_uniform = _of(2.0, "fan_in", "uniform", "he_uniform", "He et al. 2015")
he_normal = _of(2.0, "fan_in", "truncated_normal", "he_normal", "He et al. 2015")
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


def orthogonal(scale: float = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Matrices with orthonormal rows or columns, whichever are fewer, times `scale`.

    Parameters
    ----------
    scale : float, optional
    column_axis : int, optional
        The axis of the columns; the others together are the rows.
    dtype : dtype, optional

    Raises
    ------
    ValueError
        When called, for a shape of fewer than two axes.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> q = fg.nn.initializers.orthogonal()(fg.random.key(0), (3, 3))
    >>> bool(np.allclose(q.T @ q, np.eye(3)))
    True
    """

    @boundary
    def initializer(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        kind = np.dtype(dtype or np.float64)
        if len(shape) < 2:
            raise ValueError(
                located(f"orthogonal: the shape {tuple(shape)} has fewer than two axes")
            )
        if 0 in shape:
            return np.zeros(shape, kind)
        columns = shape[column_axis]
        rows = math.prod(shape) // columns
        q = random.orthogonal(key, rows, (), kind, columns)
        rest = [n for k, n in enumerate(shape) if k != column_axis % len(shape)]
        return kind.type(scale) * fnp.moveaxis(fnp.reshape(q, (*rest, columns)), -1, column_axis)

    return initializer


def delta_orthogonal(scale: float = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Weights of convolutions that are orthogonal in the middle of the window and 0 elsewhere.

    Xiao et al. 2018. The window comes first, then the inputs, then the outputs, not fewer.

    Parameters
    ----------
    scale, column_axis, dtype
        As of `orthogonal`.

    Raises
    ------
    ValueError
        When called, for another shape.

    Examples
    --------
    >>> import funcgrad as fg
    >>> w = fg.nn.initializers.delta_orthogonal()(fg.random.key(0), (3, 2, 4))
    >>> bool(w[0].any() or w[2].any())
    False
    """

    @boundary
    def initializer(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        kind = np.dtype(dtype or np.float64)
        if len(shape) not in (3, 4, 5) or shape[-1] < shape[-2]:
            raise ValueError(
                located(
                    f"delta_orthogonal: the shape {tuple(shape)} has to have one to three axes of "
                    "the window, inputs, and at least as many outputs"
                )
            )
        middle = orthogonal(scale, column_axis, kind)(key, shape[-2:])
        window = np.zeros((*shape[:-2], 1, 1), bool)
        window[tuple((n - 1) // 2 for n in shape[:-2])] = True
        return fnp.where(window, middle, kind.type(0))

    return initializer


publish(__name__)
