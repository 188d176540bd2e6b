"""The functions of `scipy.fft` for traced operands: arguments as SciPy reads them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.fft as sp

from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.ops.arithmetic import cast, conjugate, from_parts, imag, real
from funcgrad.ops.fft import OTHER_NORM
from funcgrad.scipy.fft.transforms import SCIPY, waves

__all__ = ["NAMES"]

NAMES: dict[str, Callable[..., Any]] = {}
"""The functions, by name."""


def _whole(x: Any, name: str) -> list[int]:
    try:
        return [operator.index(a) for a in (x if isinstance(x, Iterable) else (x,))]
    except TypeError as error:
        raise ValueError(f"{name} must be a scalar or iterable of integers") from error


def _axes(x: Array, shape: Any, axes: Any) -> tuple[list[int], list[int]]:
    """Extents and axes of a transform over several axes."""
    have = type_of(x).shape
    if axes is not None:
        axes = [a + len(have) if a < 0 else a for a in _whole(axes, "axes")]
        if any(a >= len(have) or a < 0 for a in axes):
            raise ValueError("axes exceeds dimensionality of input")
        if len(set(axes)) != len(axes):
            raise ValueError("all axes must be unique")
    if shape is not None:
        shape = _whole(shape, "shape")
        if axes and len(axes) != len(shape):
            raise ValueError("when given, axes and shape arguments have to be of the same length")
        if axes is None:
            if len(shape) > len(have):
                raise ValueError("shape requires more axes than are present")
            axes = list(range(len(have) - len(shape), len(have)))
        shape = [have[a] if s == -1 else s for s, a in zip(shape, axes, strict=True)]
    else:
        axes = list(range(len(have))) if axes is None else axes
        shape = [have[a] for a in axes]
    if any(s < 1 for s in shape):
        raise ValueError(f"invalid number of data points ({shape}) specified")
    return shape, axes


def _one(x: Array, n: Any, axis: Any) -> tuple[list[int], list[int]]:
    """Extent and axis of a transform along one axis."""
    rank = type_of(x).ndim
    if not -rank <= axis < rank:
        raise IndexError("axes exceeds dimensionality of input")
    axis = int(axis) % rank
    n = type_of(x).shape[axis] if n is None else int(n)
    if n < 1:
        raise ValueError(f"invalid number of data points ({n}) specified")
    return [n], [axis]


def _norm(norm: Any, forward: bool) -> str:
    norm = "backward" if norm is None else norm
    if norm not in OTHER_NORM:
        raise ValueError(f'Invalid norm value {norm!r}, should be "backward", "ortho" or "forward"')
    return str(norm) if forward else OTHER_NORM[norm]


def _floating(x: Any) -> Array:
    x = as_array(x)
    dtype = type_of(x).dtype
    if dtype == np.float16:
        return cast(x, np.float32)
    return x if dtype.kind in "fc" else cast(x, float)


def _is_real(x: Array) -> bool:
    return type_of(x).dtype.kind != "c"


Transform = Callable[[Array, list[int], list[int], Any], Array]


def _of(run: Any, x: Array, shape: list[int], axes: list[int], norm: str, **more: Any) -> Array:
    found: Array = run(x, shape=tuple(shape), axes=tuple(axes), norm=norm, **more)
    return found


def _complex(inverse: bool) -> Transform:
    def run(x: Array, shape: list[int], axes: list[int], norm: Any) -> Array:
        return _of(SCIPY.dft, x, shape, axes, _norm(norm, True), inverse=inverse)

    return run


def _of_real(forward: bool) -> Transform:
    def run(x: Array, shape: list[int], axes: list[int], norm: Any) -> Array:
        if not _is_real(x):
            raise TypeError("x must be a real sequence")
        out = _of(SCIPY.rdft, x, shape, axes, _norm(norm, forward))
        return out if forward else conjugate(out) + 0j  # SciPy's zeros are not negative

    return run


def _to_real(forward: bool) -> Transform:
    def run(x: Array, shape: list[int], axes: list[int], norm: Any) -> Array:
        x = conjugate(x) if forward else x
        return _of(SCIPY.irdft, x, shape, axes, _norm(norm, not forward))

    return run


def _define(
    name: str, find: Callable[..., Any], axes: Any, run: Transform, halves: bool = False
) -> None:
    """The function of that name; `find` reads extents and axes, `axes` is their default."""

    def call(
        x: Any,
        extent: Any = None,
        over: Any = axes,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Array:
        if plan is not None:
            raise NotImplementedError(
                "Passing a precomputed plan is not yet supported by scipy.fft functions"
            )
        x = _floating(x)
        shape, along = find(x, extent, over)
        if not along:
            if name.startswith(("fft", "ifft")):
                return x
            raise ValueError("at least 1 axis must be transformed")
        if halves and extent is None:
            shape[-1] = (type_of(x).shape[along[-1]] - 1) * 2
            if shape[-1] < 1:
                raise ValueError(f"Invalid number of data points ({shape[-1]}) specified")
        return run(x, shape, along, norm)

    NAMES[name] = _named(call, getattr(sp, name), find is _one)


def _named(call: Callable[..., Any], plain: Any, single: bool) -> Callable[..., Any]:
    """`call` under SciPy's name, and with its names of the parameters."""
    extent, over = ("n", "axis") if single else ("s", "axes")

    def renamed(*args: Any, **keywords: Any) -> Any:
        for theirs, ours in ((extent, "extent"), (over, "over")):
            if theirs in keywords:
                keywords[ours] = keywords.pop(theirs)
        return call(*args, **keywords)

    renamed.__name__ = plain.__name__
    renamed.__doc__ = (
        f"`scipy.fft.{plain.__name__}`, linear over the real numbers.\n\n"
        "Values are SciPy's; a cotangent costs one transform. `workers` counts for what is not\n"
        "traced."
    )
    return numpy_function(plain)(renamed)


for _suffix, _find, _over in (("", _one, -1), ("2", _axes, (-2, -1)), ("n", _axes, None)):
    _define(f"fft{_suffix}", _find, _over, _complex(False))
    _define(f"ifft{_suffix}", _find, _over, _complex(True))
    _define(f"rfft{_suffix}", _find, _over, _of_real(True))
    _define(f"ihfft{_suffix}", _find, _over, _of_real(False))
    _define(f"irfft{_suffix}", _find, _over, _to_real(False), halves=True)
    _define(f"hfft{_suffix}", _find, _over, _to_real(True), halves=True)


def _waves(
    x: Any, kind: str, type: int, where: Any, norm: Any, orthogonalize: Any, forward: bool
) -> Array:
    x = _floating(x)
    shape, axes = where(x)
    if not axes:
        return x
    if type not in (1, 2, 3, 4):
        raise ValueError("Invalid type, must be 1, 2, 3 or 4")
    type = type if forward else {2: 3, 3: 2}.get(type, type)
    if (kind, type) == ("dct", 1) and min(shape) < 2:
        raise ValueError("DCT-I is not defined for size < 2")
    way = _norm(norm, forward)
    given = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
    params = (tuple(shape), tuple(axes), way, kind, type)
    if _is_real(x):
        return waves(x, *params, given)
    plain = way == "ortho"  # what SciPy takes for complex numbers, whatever is asked for
    return from_parts(waves(real(x), *params, plain), waves(imag(x), *params, plain))


def _define_waves(kind: str, forward: bool) -> None:
    name = kind if forward else f"i{kind}"

    @numpy_function(getattr(sp, name))
    def along(
        x: Any,
        type: int = 2,
        n: Any = None,
        axis: int = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        orthogonalize: Any = None,
    ) -> Array:
        return _waves(x, kind, type, lambda x: _one(x, n, axis), norm, orthogonalize, forward)

    @numpy_function(getattr(sp, f"{name}n"))
    def over(
        x: Any,
        type: int = 2,
        s: Any = None,
        axes: Any = None,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        orthogonalize: Any = None,
    ) -> Array:
        return _waves(x, kind, type, lambda x: _axes(x, s, axes), norm, orthogonalize, forward)

    for call, full in ((along, name), (over, f"{name}n")):
        call.__name__ = full
        call.__doc__ = f"`scipy.fft.{full}`; a cotangent is one transform of the partner type."
        NAMES[full] = call


for _kind in ("dct", "dst"):
    for _forward in (True, False):
        _define_waves(_kind, _forward)
