"""Linear filters along an axis: `lfilter`, `sosfilt`, and what runs them forth and back.

A filter obeys a₀ y[n] = Σ bⱼ x[n-j] - Σ aⱼ y[n-j], with what is left of the past in its state. All
but the recurrence is a convolution; the recurrence is linear in what drives it, and its transpose
is the same recurrence run backwards in time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as sp

import funcgrad.numpy as fnp
from funcgrad.core.forms import each_lane, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, concrete, type_of, value
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import as_array, known, numpy_function
from funcgrad.ops.arithmetic import cast, multiply, negative, subtract
from funcgrad.ops.index import getitem, selected
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, concatenate, flip, moveaxis, reshape, stack
from funcgrad.ops.sums import sum as total
from funcgrad.scipy.valued import valued

__all__ = ["filtfilt", "lfilter", "lfilter_zi", "sosfilt", "sosfilt_zi", "sosfiltfilt"]

# ------------------------------------------------------------------------------ the recurrence


def _recur(tail: Any, e: Any) -> Any:
    if not tail.size:
        return np.array(e)
    one = np.ones(1, tail.dtype)
    return sp.lfilter(one, np.concatenate([one, tail]), e)


def _late(x: Array, j: int, n: int) -> Array:
    """`x` from element `j` of the last axis on, or without its last `j` elements (j < 0)."""
    return getitem(x, (..., slice(min(j, n), n) if j >= 0 else slice(0, max(n + j, 0))))


def _reversed(x: Array) -> Array:
    return flip(x, (type_of(x).ndim - 1,))


def _recur_vjp(g: Any, y: Any, tail: Any, e: Any, *, needs: Any) -> list[Any]:
    backwards = _reversed(bind(RECUR, (tail, _reversed(g))))
    found: list[Any] = [None, cast(backwards, type_of(e).dtype) if needs[1] else None]
    if needs[0]:
        n = type_of(y).shape[-1]
        each = [
            negative(total(multiply(_late(backwards, j, n), _late(y, -j, n))))
            for j in range(1, type_of(tail).shape[0] + 1)
        ]
        found[0] = cast(stack(each), type_of(tail).dtype) if each else tail
    return found


def _recur_batch(size: int, xs: Any, batched: Any, params: Any) -> Any:
    if batched[0]:
        return each_lane(RECUR, size, xs, batched, params)
    return bind(RECUR, xs, params)


RECUR = explicit(
    "signal_recurrence",
    _recur,
    type_rule=lambda tail, e: ArrayType(e.shape, np.result_type(tail.dtype, e.dtype)),
    vjp=_recur_vjp,
    batch=_recur_batch,
    linear_in=(1,),
    sample=lambda: [
        Sample((np.array([-0.4, 0.3]), draw((6,)))),
        Sample((np.array([0.5]), draw((2, 3)))),
        Sample((np.array([0.4, 0.1, -0.2]), draw((2,)))),
        Sample((np.array([0.5j, 0.1]), draw((4,)))),
    ],
)
RECUR.__doc__ = "y[n] = e[n] - Σ tail[j] y[n-1-j] along the last axis."

# ------------------------------------------------------------------------------------ lfilter


def _padded(c: Array, count: int) -> Array:
    have = type_of(c)
    return concatenate([c, np.zeros(count - have.shape[0], have.dtype)], 0)


def _delayed(x: Array, j: int, width: int) -> Array:
    """`x` along the last axis after `j` zeros, and as many behind it as fill `width`."""
    have = type_of(x)
    lead, n = have.shape[:-1], have.shape[-1]
    before, behind = (np.zeros((*lead, k), have.dtype) for k in (j, width - n - j))
    return concatenate([before, x, behind], len(lead))


def _taps(c: Array, x: Array, first: int) -> Array:
    """Σ c[j] x[n-j] over j from `first` on, as long as the state goes on."""
    count, n = type_of(c).shape[0], type_of(x).shape[-1]
    width = n + count - 1
    out: Any = np.zeros((*type_of(x).shape[:-1], width), np.result_type(_d(c), _d(x)))
    for j in range(first, count):
        out = out + multiply(getitem(c, (j,)), _delayed(x, j, width))
    return out


def _d(x: Array) -> Any:
    return type_of(x).dtype


def _filtered(b: Array, a: Array, x: Array, zi: Array | None = None) -> tuple[Array, Array]:
    """The result and the last state, along the last axis."""
    head = getitem(a, (0,))
    b, a = b / head, a / head
    count = max(type_of(a).shape[0], type_of(b).shape[0])
    b, a = _padded(b, count), _padded(a, count)
    n = type_of(x).shape[-1]
    driving = _taps(b, x, 0)
    if zi is not None:
        driving = driving + _delayed(zi, 0, n + count - 1)
    y = bind(RECUR, (getitem(a, (slice(1, None),)), getitem(driving, (..., slice(0, n)))))
    rest = subtract(driving, _taps(a, y, 1))
    return y, getitem(rest, (..., slice(n, None)))


LFILTER = valued(
    "signal_lfilter",
    lambda b, a, x: sp.lfilter(b, a, x),
    lambda b, a, x: _filtered(b, a, x)[0],
    lambda: [
        Sample((np.array([0.5, 0.2]), np.array([2.0, -0.4, 0.3]), draw((2, 6)))),
        Sample((np.array([0.5, 0.2, 0.1]), np.array([2.0]), draw((4,)))),
        Sample((np.array([0.5]), np.array([2.0, 0.4 + 0.1j]), draw((4,)))),
    ],
    linear_in=(2,),
)
FROM = valued(
    "signal_lfilter_from",
    lambda b, a, x, zi: sp.lfilter(b, a, x, zi=zi),
    _filtered,
    lambda: [
        Sample((np.array([0.5, 0.2]), np.array([2.0, -0.4, 0.3]), draw((2, 6)), draw((2, 2)))),
        Sample((np.array([0.5, 0.2, 0.1]), np.array([1.0]), draw((4,)), draw((2,)))),
        Sample((np.array([0.5, 0.2, 0.1, 0.3]), np.array([1.0, 0.3]), draw((2,)), draw((3,)))),
    ],
    multiple=True,
    linear_in=(2, 3),
)


def _line(x: Array, axis: int) -> tuple[Array, int]:
    """`x` with the axis last, and where it was."""
    rank = type_of(x).ndim
    if not rank:
        raise ValueError("x must be at least 1-D")
    if not -rank <= axis < rank:
        raise ValueError("selected axis is out of range")
    return moveaxis(x, axis % rank, rank - 1), axis % rank


def _back(y: Array, axis: int) -> Array:
    return moveaxis(y, type_of(y).ndim - 1, axis)


def _coefficients(c: Any, name: str) -> Array:
    c = as_array(c)
    c = reshape(c, (1,)) if not type_of(c).ndim else c
    if type_of(c).ndim != 1 or not type_of(c).size:
        raise ValueError(
            f"Parameter {name} is not a non-empty 1d array, since {name}.shape={type_of(c).shape}!"
        )
    return c


def _same_dtype(*xs: Array) -> list[Array]:
    dtype = np.result_type(*(type_of(x).dtype for x in xs))
    dtype = np.dtype(float) if dtype.kind in "biu" else dtype
    if dtype.char not in "fdgFDG":
        raise NotImplementedError(f"input type '{dtype}' not supported")
    return [cast(x, dtype) for x in xs]


@numpy_function(sp.lfilter)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """`x` through the filter with numerator `b` and denominator `a`.

    Differentiable in the coefficients, the signal and the state.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import lfilter
    >>> fg.grad(lambda a: lfilter([1.0], [1.0, a], np.ones(3))[2])(-0.5)
    np.float64(-2.0)
    """
    b, a = _coefficients(b, "b"), _coefficients(a, "a")
    moved, at = _line(as_array(x), axis)
    if zi is None:
        return _back(LFILTER(*_same_dtype(b, a, moved)), at)
    count = max(type_of(a).shape[0], type_of(b).shape[0]) - 1
    start = as_array(zi)
    want = (*type_of(moved).shape[:-1], count)
    if type_of(start).ndim != type_of(moved).ndim:
        raise ValueError(
            "Dimensions of parameters x and zi must match, but "
            f"x.ndim={type_of(moved).ndim}, zi.ndim={type_of(start).ndim}!"
        )
    start = moveaxis(start, at, type_of(start).ndim - 1)
    have = type_of(start).shape
    if have[-1] != count or any(m not in (1, n) for m, n in zip(have, want, strict=True)):
        raise ValueError(f"Unexpected shape for parameter zi: expected {want}, found {have}.")
    y, zf = FROM(*_same_dtype(b, a, moved, broadcast_to(start, want)))
    return _back(y, at), _back(zf, at)


@numpy_function(sp.lfilter_zi)
def lfilter_zi(b: Any, a: Any) -> Array:
    """The state of a filter that has been given ones for ever.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import lfilter_zi
    >>> fg.grad(lambda a: lfilter_zi([1.0, 0.0], [1.0, a])[0])(-0.5)
    np.float64(-4.0)
    """
    b, a = (fnp.atleast_1d(as_array(c)) for c in (b, a))
    for c, text in ((b, "Numerator b must be 1-D."), (a, "Denominator a must be 1-D.")):
        if type_of(c).ndim != 1:
            raise ValueError(text)
    heads = known(a != 0, "the leading zeros of the denominator") if _head_counts(a) else [True]
    first = int(np.argmax(np.append(heads, True)))
    a = a[min(first, type_of(a).shape[0] - 1) :]
    b, a = b / a[0], a / a[0]
    count = max(type_of(a).shape[0], type_of(b).shape[0])
    b, a = _padded(b, count), _padded(a, count)
    tail = a[1:]
    shift = np.eye(count - 1, k=1)
    turned = fnp.concatenate([-tail[:, None] / (1.0 * a[0]), shift[:, 1:]], 1)
    return fnp.linalg.solve(np.eye(count - 1) - turned, b[1:] - tail * b[0])


def _head_counts(a: Array) -> bool:
    """Whether the first coefficient may be 0 and has others behind it, and can be looked at."""
    return type_of(a).shape[0] > 1 and concrete(a)


# ------------------------------------------------------------------------------ forth and back


def _extended(x: Array, n: int, kind: str | None) -> Array:
    """`x` along the last axis, continued by `n` elements at both ends."""
    if kind is None or n < 1:
        return x
    first, last = x[..., :1], x[..., -1:]
    if kind == "constant":
        ones = np.ones((*(1,) * (type_of(x).ndim - 1), n), type_of(x).dtype)
        return fnp.concatenate([ones * first, x, ones * last], -1)
    before, behind = x[..., n:0:-1], x[..., -2 : -(n + 2) : -1]
    if kind == "odd":
        before, behind = 2 * first - before, 2 * last - behind
    return fnp.concatenate([before, x, behind], -1)


def _edge(x: Array, padtype: str | None, padlen: int | None, taps: int) -> int:
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError(
            f"Unknown value '{padtype}' given to padtype. padtype must be 'even', 'odd', "
            "'constant', or None."
        )
    edge = 0 if padtype is None else taps * 3 if padlen is None else int(padlen)
    if type_of(x).shape[-1] <= edge:
        raise ValueError(
            f"The length of the input vector x must be greater than padlen, which is {edge}."
        )
    return edge


def _forth_and_back(run: Any, x: Array, edge: int, padtype: str | None) -> Array:
    """``run(x, first)`` filters along the last axis from the steady state times `first`."""
    wide = _extended(x, edge, padtype)
    y = run(wide, wide[..., :1])
    y = run(y[..., ::-1], y[..., -1:])[..., ::-1]
    return y[..., edge:-edge] if edge > 0 else y


@numpy_function(sp.filtfilt)
def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
    method: str = "pad",
    irlen: int | None = None,
) -> Array:
    """`x` through a filter forth and back, so that nothing is delayed.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import filtfilt
    >>> fg.grad(lambda x: filtfilt([0.5, 0.5], [1.0], x, padlen=1)[2])(np.zeros(5))
    array([0.  , 0.25, 0.5 , 0.25, 0.  ])
    """
    if method not in ("pad", "gust"):
        raise ValueError("method must be 'pad' or 'gust'.")
    if method == "gust":
        raise UnsupportedCallError(
            located("scipy.signal.filtfilt: method='gust' is not supported on traced values")
        )
    b, a = fnp.atleast_1d(as_array(b)), fnp.atleast_1d(as_array(a))
    moved, at = _line(as_array(x), axis)
    edge = _edge(moved, padtype, padlen, max(type_of(a).shape[0], type_of(b).shape[0]))
    zi = lfilter_zi(b, a)
    zi = reshape(zi, (*(1,) * (type_of(moved).ndim - 1), type_of(zi).shape[0]))
    out = _forth_and_back(lambda x, first: lfilter(b, a, x, zi=zi * first)[0], moved, edge, padtype)
    return _back(out, at)


# ------------------------------------------------------------------------- second-order sections


def _sections(sos: Array, x: Array, zi: Array | None = None) -> Any:
    states = []
    for k in range(type_of(sos).shape[0]):
        row = getitem(sos, (k,))
        b, a = getitem(row, (slice(3),)), getitem(row, (slice(3, 6),))
        if zi is None:
            x = bind(LFILTER, (b, a, x))
        else:
            x, state = bind(FROM, (b, a, x, getitem(zi, (k,))))
            states.append(state)
    return x if zi is None else (x, stack(states))


def _sos_sample() -> Any:
    return np.array([[0.5, 0.2, 0.1, 1.0, -0.4, 0.3], [0.3, 0.4, 0.0, 1.0, 0.2, 0.0]])


SOS = valued(
    "signal_sosfilt",
    lambda sos, x: sp.sosfilt(_unit(sos), x),
    _sections,
    lambda: [Sample((_sos_sample(), draw((2, 5)))), Sample((_sos_sample()[:1], draw((3,))))],
    linear_in=(1,),
)
SOS_FROM = valued(
    "signal_sosfilt_from",
    lambda sos, x, zi: sp.sosfilt(_unit(sos), x, zi=zi),
    _sections,
    lambda: [Sample((_sos_sample(), draw((2, 5)), draw((2, 2, 2))))],
    multiple=True,
    linear_in=(1, 2),
)


def _unit(sos: Any) -> Any:
    """Sections with a leading 1 in the denominator, of which SciPy takes no others."""
    return sos if np.all(sos[:, 3] == 1) else sos / sos[:, 3:4]


def _checked(sos: Any) -> Array:
    sos = fnp.atleast_2d(as_array(sos))
    if type_of(sos).ndim != 2:
        raise ValueError("sos array must be 2D")
    if type_of(sos).shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    if concrete(sos) and not np.all(np.asarray(value(sos))[:, 3] == 1):
        raise ValueError("sos[:, 3] should be all ones")
    return sos


@numpy_function(sp.sosfilt)
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """`x` through a filter in second-order sections, the rows of `sos`.

    Differentiable in the sections, the signal and the state.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import sosfilt
    >>> fg.grad(lambda x: sosfilt([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]], x)[2])(np.ones(3))
    array([0.25, 0.5 , 1.  ])
    """
    sos = _checked(sos)
    moved, at = _line(as_array(x), axis)
    if zi is None:
        return _back(SOS(*_same_dtype(sos, moved)), at)
    start, rank = as_array(zi), type_of(moved).ndim
    want = [type_of(sos).shape[0], *type_of(as_array(x)).shape]
    want[at + 1] = 2
    if type_of(start).shape != tuple(want):
        raise ValueError(
            f"Invalid zi shape. With axis={axis!r}, an input with shape "
            f"{type_of(as_array(x)).shape!r}, and an sos array with {want[0]} sections, zi must "
            f"have shape {tuple(want)!r}, got {type_of(start).shape!r}."
        )
    y, zf = SOS_FROM(*_same_dtype(sos, moved, moveaxis(start, at + 1, rank)))
    return _back(y, at), moveaxis(zf, rank, at + 1)


@numpy_function(sp.sosfilt_zi)
def sosfilt_zi(sos: Any) -> Array:
    """The states of sections that have been given ones for ever.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import sosfilt_zi
    >>> fg.grad(lambda b: sosfilt_zi([[b, 0.0, 0.0, 1.0, -0.5, 0.0]])[0, 0])(1.0)
    np.float64(1.0)
    """
    sos = as_array(sos)
    if type_of(sos).ndim != 2 or type_of(sos).shape[1] != 6:
        raise ValueError("sos must be shape (n_sections, 6)")
    states, scale = [], 1.0
    for k in range(type_of(sos).shape[0]):
        b, a = sos[k, :3], sos[k, 3:]
        states.append(scale * lfilter_zi(b, a))
        scale = scale * (fnp.sum(b) / fnp.sum(a))
    return fnp.stack(states)


@numpy_function(sp.sosfiltfilt)
def sosfiltfilt(
    sos: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None
) -> Array:
    """`x` through second-order sections forth and back.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import sosfiltfilt
    >>> sos = [[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]]
    >>> fg.grad(lambda x: sosfiltfilt(sos, x, padlen=1)[2])(np.zeros(5))
    array([0.  , 0.25, 0.5 , 0.25, 0.  ])
    """
    sos = _checked(sos)
    moved, at = _line(as_array(x), axis)
    zeros = [selected(sos[:, k] == 0, "the number of sections of first order") for k in (2, 5)]
    taps = 2 * type_of(sos).shape[0] + 1 - min(zeros)
    edge = _edge(moved, padtype, padlen, taps)
    states = sosfilt_zi(sos)
    lead = (1,) * (type_of(moved).ndim - 1)
    states = reshape(states, (type_of(sos).shape[0], *lead, 2))

    def run(x: Array, first: Array) -> Array:
        out: Array = sosfilt(sos, x, zi=states * first)[0]
        return out

    return _back(_forth_and_back(run, moved, edge, padtype), at)
