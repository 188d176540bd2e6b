"""Activations of neural networks, under JAX's names; elementwise, of arrays of any shape.

Smooth ones are those of `ops.activation`, which the facade has too. At a kink the derivative is
JAX's: 0 for `relu`, `relu6` and their kin, the slope to the right for `leaky_relu`, that within
for `hard_tanh`. PyTorch's, which the facade has, differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.numpy.function_calls import as_array
from funcgrad.ops import activation as smooth
from funcgrad.ops import logistic
from funcgrad.ops.arithmetic import where
from funcgrad.ops.logistic import logaddexp
from funcgrad.ops.matrices import as_float

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "swish",
    "tanh",
]

ALPHA, SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def _float(x: Any) -> Array:
    return as_float(operand(x))


def identity(x: Any) -> Array:
    """`x` as it is.

    Examples
    --------
    >>> from funcgrad import nn
    >>> nn.identity(3.0)
    3.0
    """
    return x


def relu(x: Any) -> Array:
    """``max(x, 0)``; the derivative at 0 is 0.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.nn.relu(np.array([-1.0, 0.0, 2.0]))
    array([0., 0., 2.])
    >>> fg.grad(fg.nn.relu)(0.0)
    np.float64(0.0)
    """
    return smooth.relu(as_array(x))


def relu6(x: Any) -> Array:
    """`x` limited to [0, 6]; the derivative at the bounds is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import nn
    >>> nn.relu6(np.array([-1.0, 2.0, 7.0]))
    array([0., 2., 6.])
    """
    return smooth.clamped(_float(x), 0.0, 6.0)


def sigmoid(x: Any) -> Array:
    """``1 / (1 + exp(-x))``, which overflows nowhere.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.grad(fg.nn.sigmoid)(0.0)
    np.float64(0.25)
    """
    return logistic.expit(_float(x))


def silu(x: Any) -> Array:
    """``x * sigmoid(x)``, also called `swish`.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.grad(fg.nn.silu)(0.0)
    np.float64(0.5)
    """
    return smooth.silu(_float(x))


swish = silu


def mish(x: Any) -> Array:
    """``x * tanh(softplus(x))``.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.grad(fg.nn.mish)(0.0)
    np.float64(0.6)
    """
    return smooth.mish(_float(x))


def softplus(x: Any) -> Array:
    """``log(1 + exp(x))``, which overflows nowhere.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import nn
    >>> nn.softplus(np.array([-1000.0, 1000.0]))
    array([   0., 1000.])
    """
    return logaddexp(_float(x), 0.0)


def log_sigmoid(x: Any) -> Array:
    """``log(sigmoid(x))``, which overflows nowhere.

    Examples
    --------
    >>> from funcgrad import nn
    >>> nn.log_sigmoid(-1000.0)
    np.float64(-1000.0)
    """
    return smooth.log_sigmoid(_float(x))


def tanh(x: Any) -> Array:
    """The hyperbolic tangent.

    Examples
    --------
    >>> from funcgrad import nn
    >>> nn.tanh(0.0)
    np.float64(0.0)
    """
    return fnp.tanh(x)


def soft_sign(x: Any) -> Array:
    """``x / (1 + |x|)``.

    Examples
    --------
    >>> from funcgrad import nn
    >>> nn.soft_sign(1.0)
    np.float64(0.5)
    """
    x = _float(x)
    return fnp.divide(x, fnp.abs(x) + 1)


def squareplus(x: Any, b: Any = 4) -> Array:
    """``(x + sqrt(x**2 + b)) / 2``.

    Examples
    --------
    >>> from funcgrad import nn
    >>> nn.squareplus(0.0)
    np.float64(1.0)
    """
    x = _float(x)
    return (x + fnp.sqrt(fnp.square(x) + b)) / 2


def sparse_plus(x: Any) -> Array:
    """0 up to -1, `x` from 1 on, ``(x + 1)**2 / 4`` between: `softplus` with sparse gradients.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import nn
    >>> nn.sparse_plus(np.array([-2.0, 0.0, 2.0]))
    array([0.  , 0.25, 2.  ])
    """
    x = _float(x)
    within = fnp.square(x + 1.0) / 4
    return where(x <= -1.0, 0.0, where(x >= 1.0, x, within))


def sparse_sigmoid(x: Any) -> Array:
    """``(x + 1) / 2`` limited to [0, 1], the derivative of `sparse_plus`.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import nn
    >>> nn.sparse_sigmoid(np.array([-2.0, 0.0, 2.0]))
    array([0. , 0.5, 1. ])
    """
    return 0.5 * fnp.clip(_float(x) + 1.0, 0.0, 2.0)


def elu(x: Any, alpha: Any = 1.0) -> Array:
    """`x` above 0, ``alpha * (exp(x) - 1)`` else.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.grad(fg.nn.elu)(0.0)
    np.float64(1.0)
    """
    x = _float(x)
    above = x > 0
    return where(above, x, alpha * fnp.expm1(where(above, 0.0, x)))


def selu(x: Any) -> Array:
    """`elu` scaled so that activations keep mean 0 and variance 1 (Klambauer et al. 2017).

    Examples
    --------
    >>> from funcgrad import nn
    >>> nn.selu(1.0)
    np.float64(1.0507009873554805)
    """
    return SCALE * elu(x, ALPHA)


def celu(x: Any, alpha: Any = 1.0) -> Array:
    """``max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)``.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.grad(fg.nn.celu)(0.0)
    np.float64(1.0)
    """
    x = _float(x)
    return fnp.maximum(x, 0.0) + alpha * fnp.expm1(fnp.minimum(x, 0.0) / alpha)


def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Array:
    """`x` from 0 on, ``negative_slope * x`` else.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.grad(fg.nn.leaky_relu)(-2.0)
    np.float64(0.01)
    """
    x = _float(x)
    return where(x >= 0, x, negative_slope * x)


def hard_tanh(x: Any) -> Array:
    """`x` limited to [-1, 1]; the derivative at the bounds is 1.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.grad(fg.nn.hard_tanh)(1.0)
    np.float64(1.0)
    """
    x = _float(x)
    return where(x > 1, 1.0, where(x < -1, -1.0, x))


def hard_sigmoid(x: Any) -> Array:
    """``relu6(x + 3) / 6``.

    Examples
    --------
    >>> from funcgrad import nn
    >>> nn.hard_sigmoid(0.0)
    np.float64(0.5)
    """
    return relu6(_float(x) + 3.0) / 6.0


def hard_silu(x: Any) -> Array:
    """``x * hard_sigmoid(x)``, also called `hard_swish`.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.grad(fg.nn.hard_silu)(0.0)
    np.float64(0.5)
    """
    x = _float(x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


def gelu(x: Any, approximate: bool = True) -> Array:
    """`x` times the normal distribution function of `x`, or an approximation of it.

    Parameters
    ----------
    x : array_like
    approximate : bool, optional
        By ``0.5 * x * (1 + tanh(sqrt(2 / π) * (x + 0.044715 * x**3)))``, as JAX does by default.

    Examples
    --------
    >>> from funcgrad import nn
    >>> nn.gelu(1.0), nn.gelu(1.0, approximate=False)
    (np.float64(0.841191990608...), np.float64(0.841344746068...))
    """
    return smooth.gelu_tanh(_float(x)) if approximate else smooth.gelu(_float(x))


def glu(x: Any, axis: int = -1) -> Array:
    """The first half along an axis times the sigmoid of the second.

    Raises
    ------
    ValueError
        The axis has an odd number of elements.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import nn
    >>> nn.glu(np.array([1.0, 2.0, 0.0, 0.0]))
    array([0.5, 1. ])
    """
    x = _float(x)
    shape = type_of(x).shape
    if not shape or shape[axis] % 2:
        raise ValueError(located(f"glu: axis {axis} of an array of shape {shape} cannot be halved"))
    first, second = fnp.split(x, 2, axis)
    return first * logistic.expit(operand(second))


def log1mexp(x: Any) -> Array:
    """``log(1 - exp(-x))`` of positive `x`, of which no digits are lost (Mächler 2012).

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.nn.log1mexp(1e-20)
    np.float64(-46.0517018598809...)
    """
    x = _float(x)
    small = x < np.log(2.0)
    near = fnp.log(-fnp.expm1(-where(small, x, 1.0)))
    far = fnp.log1p(-fnp.exp(-where(small, 1.0, x)))
    return where(small, near, far)
