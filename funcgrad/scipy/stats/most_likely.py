"""The powers that make data most normal: `boxcox_normmax` and `yeojohnson_normmax`.

SciPy finds them by search, whose steps depend on the data through comparisons: its program, run on
traced values, gives the derivative of the last parabola. The value here is SciPy's, and the
derivatives are those of two steps of Newton's method from there, which are right to third order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats as sps

from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import numpy_function, refuse
from funcgrad.ops.arithmetic import divide
from funcgrad.ops.constant import STOP_GRADIENT, Constant, constant
from funcgrad.ops.samples import draw
from funcgrad.ops.sort import sort
from funcgrad.ops.sums import sum as total
from funcgrad.scipy.special.elementary import boxcox
from funcgrad.scipy.stats.operands import number
from funcgrad.transforms.jvp import jvp

__all__ = ["boxcox_normmax", "ppcc_max", "yeojohnson_normmax"]

Objective = Callable[[Any, Any], Any]  # of the power and the data


def _slope(objective: Objective, data: Any) -> Callable[[Any], Any]:
    return lambda power: jvp(lambda p: objective(p, data), (power,), (np.float64(1.0),))[1]


def _newton(objective: Objective, power: Any, data: Any) -> Any:
    slope, bend = jvp(_slope(objective, data), (power,), (np.float64(1.0),))
    return power - divide(slope, bend)


def _search(name: str) -> Constant:
    def value(x: Any, options: Any = ()) -> Any:
        return np.float64(getattr(sps, name)(x, **dict(options)))

    found: Constant = constant(
        f"stats.{name}",
        value,
        lambda *_, **__: ArrayType((), np.dtype(float)),
        lambda _, xs, batched, params: _one_by_one(found, xs, params),
        lambda: [Sample((draw((9,), 0.3, 2.0),), {"options": ()})],
    )
    return found


def _one_by_one(search: Constant, xs: Any, params: Any) -> Any:
    raise UnsupportedCallError(
        located(f"scipy.{search.name} takes one row of data, and vmap has several; call it on each")
    )


SEARCHES = {name: _search(name) for name in ("boxcox_normmax", "yeojohnson_normmax")}


def _optimum(name: str, objective: Objective, x: Any, options: dict[str, Any]) -> Array:
    data = number(x)
    start = bind(SEARCHES[name], (data,), {"options": tuple(sorted(options.items()))})
    moved = _newton(objective, _newton(objective, start, data), data)
    return start + (moved - bind(STOP_GRADIENT, (moved,)))


def _correlation(power: Any, data: Any) -> Any:
    """Of the sorted transforms with the quantiles of a normal sample's medians (Filliben 1975)."""
    n = data.shape[0]
    medians = np.empty(n)
    medians[-1] = 0.5 ** (1.0 / n)
    medians[0] = 1 - medians[-1]
    medians[1:-1] = (np.arange(2, n) - 0.3175) / (n + 0.365)
    places = sps.norm.ppf(medians)
    places = places - np.mean(places)
    y = sort(boxcox(data, power))
    y = y - divide(total(y), float(n))
    return divide(total(places * y), np.sqrt(total(y * y)))


@numpy_function(sps.boxcox_normmax)
def boxcox_normmax(
    x: Any,
    brack: Any = None,
    method: str = "pearsonr",
    optimizer: Any = None,
    *,
    nan_policy: str = "propagate",
    **kwargs: Any,
) -> Array:
    """The power of Box and Cox that makes positive `x` most normal.

    Parameters
    ----------
    x : array of shape (n,)
    brack : (float, float), optional
        Where the search begins.
    method : {'pearsonr', 'mle'}, optional
        By the correlation of the probability plot, or by the likelihood.

    Notes
    -----
    Derivatives are those of the optimum as a function of `x`, not of the search.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.stats import boxcox_normmax
    >>> x = np.array([0.5, 1.0, 1.5, 4.0, 9.0])
    >>> slope = fg.grad(lambda x: boxcox_normmax(x, method="mle"))(x)
    >>> abs(slope @ x) < 1e-12  # it is no matter of units
    np.True_
    """
    policy = None if nan_policy == "propagate" else nan_policy  # `boxcox` of SciPy 1.18 gives it
    refuse("scipy.stats.boxcox_normmax", optimizer=optimizer, nan_policy=policy, **kwargs)
    if method not in ("pearsonr", "mle"):
        raise UnsupportedCallError(
            located("scipy.stats.boxcox_normmax of traced values has one method: pearsonr or mle")
        )
    objective = _correlation if method == "pearsonr" else sps.boxcox_llf
    return _optimum("boxcox_normmax", objective, x, {"brack": brack, "method": method})


@numpy_function(sps.yeojohnson_normmax)
def yeojohnson_normmax(x: Any, brack: Any = None) -> Array:
    """The power of Yeo and Johnson that makes `x` most normal, by its likelihood.

    Parameters
    ----------
    x : array of shape (n,)
    brack : (float, float), optional
        Where the search begins.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.stats import yeojohnson_normmax
    >>> x = np.array([-1.5, -0.2, 0.5, 1.0, 4.0])
    >>> fg.grad(yeojohnson_normmax)(x).round(4)
    array([-0.4518,  0.2085,  0.2018,  0.1403, -0.1544])
    """
    return _optimum("yeojohnson_normmax", sps.yeojohnson_llf, x, {"brack": brack})


@numpy_function(sps.ppcc_max)
def ppcc_max(x: Any, brack: Any = (0.0, 1.0), dist: Any = "tukeylambda") -> Array:
    """Not of traced values: a search through quantiles of a distribution's shape."""
    raise UnsupportedCallError(
        located(
            "scipy.stats.ppcc_max searches, and the steps depend on traced values through "
            "comparisons; maximise the correlation by funcgrad.scipy.optimize or apply it to "
            "funcgrad.value(x)"
        )
    )
