"""NumPy's ufuncs on traced values: the call with its keywords, and the methods of a ufunc.

`call_ufunc` is what NEP 13 hands a plain ``np.sin(t)`` to; a `Ufunc` is the same thing under a
name of the namespace. The rules are those of the forms; what has none is a named error.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.boundary import boundary, hide_frames
from funcgrad.core.forms import UFUNCS
from funcgrad.core.tracer import Operand, Tracer, bind, operand, type_of
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import (
    BOXED,
    RAW,
    TRACED,
    as_array,
    boxed,
    into,
    no_rule,
    objects,
    owned,
    replace,
    state,
    unbox,
)
from funcgrad.numpy.scatter import REDUCTIONS, add_at, reduce_at, update_at
from funcgrad.numpy.ufunc_keywords import apply as with_keywords
from funcgrad.ops import arithmetic as a
from funcgrad.ops import (
    logistic,  # noqa: F401 (fills UFUNCS)
    pointwise,
    product,
    transcendental,  # noqa: F401 (fills UFUNCS)
)
from funcgrad.ops.index import check_storable
from funcgrad.ops.shape import reshape

__all__ = ["COMPOSED", "METHODS", "Ufunc", "call_ufunc"]


def _divmod(x: Any, y: Any) -> tuple[Any, Any]:
    return a.floor_divide(x, y), a.remainder(x, y)


def _modf(x: Any) -> tuple[Any, Any]:
    x = operand(x)
    kind = type_of(x)
    if kind.dtype.kind != "f":
        x = a.cast(x, np.modf.resolve_dtypes((kind.dtype, None, None))[-1])
    endless = a.isinf(x)
    # fmod keeps the sign of a zero fraction, as modf does; ±inf has the fraction ±0
    fraction = a.fmod(a.where(endless, 0.0, x), 1.0)
    return a.where(endless, a.copysign(0.0, x), fraction), a.trunc(x)


def _frexp(x: Any) -> tuple[Any, Any]:
    x = operand(x)
    if type_of(x).dtype.kind != "f":
        x = a.cast(x, np.frexp.resolve_dtypes((type_of(x).dtype, None, None))[1])
    exponent = pointwise.exponent(x)
    return pointwise.ldexp(x, a.negative(exponent)), exponent


COMPOSED: dict[np.ufunc, Callable[..., Any]] = {
    np.matmul: product.matmul,
    np.divmod: _divmod,
    np.modf: _modf,
    np.frexp: _frexp,
    np.conjugate: lambda x: bind(a.CONJUGATE, (as_array(x),)),
}
"""Ufuncs made of several operations."""

METHODS: dict[tuple[np.ufunc, str], Callable[..., Any]] = {}
"""(ufunc, "reduce" or "accumulate") -> function of the namespace; `reductions` fills it."""

_OF_SCIPY = (
    *("cluster.vq", "differentiate"),
    *("fft", "integrate", "interpolate", "linalg", "ndimage", "optimize"),
    *("signal", "signal.windows", "sparse", "sparse.linalg"),
    *("spatial", "spatial.distance", "special", "stats"),
)
_SERIES = ("polynomial", "chebyshev", "hermite", "hermite_e", "laguerre", "legendre")

LIBRARIES = {
    **{f"scipy.{name}": f"funcgrad.scipy.{name}" for name in _OF_SCIPY},
    **{f"numpy.polynomial.{n}": f"funcgrad.numpy.polynomial.{n}" for n in _SERIES},
}
"""Modules that ask nobody -> those with our rules, imported when a traced value meets them."""

_OUTER = "outer"


def rule_of(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """What computes `ufunc` for traced operands, if there is a rule."""
    found = UFUNCS.get(ufunc) or COMPOSED.get(ufunc)
    if found is None:
        for theirs, ours in LIBRARIES.items():
            module = sys.modules.get(theirs)
            if ours not in sys.modules and getattr(module, ufunc.__name__, None) is ufunc:
                importlib.import_module(ours)
                return rule_of(ufunc)
    return found


def call_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], keywords: Any) -> Any:
    """Apply a ufunc, or one of its methods, where an operand or `out` is traced or boxed."""
    if method == "__call__" and not keywords:
        rule = UFUNCS.get(ufunc)
        if rule is not None and len(inputs) == ufunc.nin:
            return boxed(rule(*inputs))
    keywords = dict(keywords)
    inputs, outs = _split_outputs(ufunc, method, inputs, keywords)
    if method == "at":
        return _at(ufunc, *inputs)
    found = max(state(inputs), state(tuple(keywords.values())))
    if found != TRACED:
        result = getattr(ufunc, method)(
            *map(unbox, inputs), **_raw_keywords(method, keywords, outs)
        )
        if any(o is not None for o in outs):
            return _deliver(ufunc, result, outs)
        return tuple(map(boxed, result)) if isinstance(result, tuple) else boxed(result)
    if method == "__call__":
        return _deliver(ufunc, _apply(ufunc, inputs, keywords, outs), outs)
    if method == _OUTER:
        return _deliver(ufunc, _outer(ufunc, inputs, keywords, outs), outs)
    function = _method_of(ufunc, method)
    defaults = {"axis": 0}
    if method == "reduce" and keywords.get("dtype") is None:
        keywords.pop("dtype", None)
    return _deliver(ufunc, function(*inputs, **_bound(method, inputs, defaults, keywords)), outs)


def _method_of(ufunc: np.ufunc, method: str) -> Callable[..., Any]:
    """The function for a method: one of the namespace, or the loop that NumPy carries out."""
    from funcgrad.numpy import ufunc_methods as loops  # it stands on reductions

    if (ufunc, method) in METHODS:
        return METHODS[ufunc, method]
    rule = rule_of(ufunc)
    if rule is None or ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature is not None:
        raise UnsupportedCallError(
            located(f"np.{ufunc.__name__}.{method} is not supported on traced values")
        )
    if method == "reduceat":
        return functools.partial(loops.reduced_at, ufunc, _method_of(ufunc, "reduce"))
    loop = loops.reduced if method == "reduce" else loops.accumulated
    return functools.partial(loop, ufunc, rule)


def _bound(method: str, inputs: Sequence[Any], defaults: Any, keywords: Any) -> dict[str, Any]:
    """`axis` is 0 for a method of a ufunc where a reduction of the namespace has None."""
    given = dict(keywords)
    if len(inputs) < (3 if method == "reduceat" else 2) and "axis" not in given:
        given.update(defaults)
    return given


def _split_outputs(
    ufunc: np.ufunc, method: str, inputs: Sequence[Any], keywords: dict[str, Any]
) -> tuple[list[Any], tuple[Any, ...]]:
    inputs = list(inputs)
    outs = keywords.pop("out", None)
    if method == "__call__" and len(inputs) > ufunc.nin:
        outs = tuple(inputs[ufunc.nin :])
        inputs = inputs[: ufunc.nin]
    if outs is None:
        outs = (None,) * ufunc.nout
    return inputs, outs if isinstance(outs, tuple) else (outs,)


def _raw_keywords(method: str, keywords: dict[str, Any], outs: tuple[Any, ...]) -> dict[str, Any]:
    given = {k: unbox(v) for k, v in keywords.items()}
    if "where" in given and any(o is not None for o in outs):
        # the content of out shows through where the mask is False
        held = tuple(None if o is None else _raw_copy(o) for o in outs)
        given["out"] = held if method == "__call__" else held[0]
    return given


def _raw_copy(out: Any) -> Any:
    content = operand(out)
    if isinstance(content, Tracer):
        raise UnsupportedCallError(
            located("where= with a traced out= needs a traced operand; use funcgrad.numpy.where")
        )
    return np.array(content)


def _deliver(ufunc: np.ufunc, result: Any, outs: tuple[Any, ...]) -> Any:
    if all(o is None for o in outs):
        return result
    if not isinstance(result, tuple):
        return into(outs[0], result, ufunc.__name__)
    return tuple(
        r if o is None else into(o, r, ufunc.__name__) for r, o in zip(result, outs, strict=True)
    )


def _apply(
    ufunc: np.ufunc, inputs: Sequence[Any], keywords: dict[str, Any], outs: tuple[Any, ...]
) -> Any:
    rule = rule_of(ufunc)
    if rule is None:
        raise no_rule(ufunc.__name__)
    mask = keywords.pop("where", True)
    operands = [operand(x) for x in inputs]
    result = with_keywords(ufunc, rule, operands, keywords) if keywords else rule(*operands)
    if mask is True or mask is np.True_:
        return result
    if any(o is None for o in outs):
        raise UnsupportedCallError(
            located(
                f"np.{ufunc.__name__}: where= without out= leaves the other elements undefined; "
                "give out=, or use funcgrad.numpy.where"
            )
        )
    if isinstance(result, tuple):
        return tuple(a.where(mask, r, o) for r, o in zip(result, outs, strict=True))
    return a.where(mask, result, outs[0])


def _outer(
    ufunc: np.ufunc, inputs: Sequence[Any], keywords: dict[str, Any], outs: tuple[Any, ...]
) -> Any:
    x, y = map(operand, inputs)
    if not isinstance(x, (int, float, complex)):
        x = reshape(x, type_of(x).shape + (1,) * type_of(y).ndim)
    return _apply(ufunc, (x, y), keywords, outs)


def _at(ufunc: np.ufunc, target: Any, index: Any, *values: Any) -> None:
    """``ufunc.at(target, index, v)``: repeated positions are updated once for each repeat."""
    if isinstance(target, np.ndarray) and target.dtype.char == "O":
        ufunc.at(target, unbox(index), *map(objects, values))
        return
    if not isinstance(target, Operand):
        if state((index, values)) == TRACED:
            if values:
                check_storable(target.dtype, operand(values[0]))
            into(target, operand(values[0]) if values else operand(index), f"{ufunc.__name__}.at")
        ufunc.at(target, unbox(index), *map(unbox, values))
        return
    if state((target, index, values)) == BOXED:
        ufunc.at(target.content(), unbox(index), *map(unbox, values))
        return
    if ufunc in (np.add, np.subtract):
        v = operand(values[0])
        new = add_at(target.content(), index, v if ufunc is np.add else a.negative(v))
    else:
        rule = rule_of(ufunc)
        if rule is None or ufunc.nin != len(values) + 1:
            raise UnsupportedCallError(
                located(f"np.{ufunc.__name__}.at is not supported on traced values")
            )
        x, new = target.content(), None
        if ufunc in REDUCTIONS:
            new = reduce_at(x, index, operand(values[0]), REDUCTIONS[ufunc])
        if new is None:
            new = update_at(rule, x, index, *map(operand, values))
    replace(target, new)


def _example(ufunc: np.ufunc) -> str:
    """A call with what comes out, for a docstring; none of a ufunc that takes no numbers."""
    floats, wide, whole = (0.5, 2.0, 3.0), (1.5, 2.0, 3.0), (6, 3, 1)
    for numbers in () if ufunc.signature else (floats, wide, whole):
        given = numbers[: ufunc.nin]
        with np.errstate(all="ignore"), contextlib.suppress(TypeError):
            found = ufunc(*given)
            if ufunc.nout > 1 or not np.any(np.not_equal(found, found)):
                call = f"np.{ufunc.__name__}({', '.join(map(repr, given))})"
                return (
                    "\n\nExamples\n--------\n>>> import funcgrad.numpy as np\n"
                    f">>> {call}\n{found!r}\n"
                )
    return ""


class Ufunc:
    """A ufunc of the namespace: NumPy's name, signature, attributes and methods.

    With nothing traced it calls NumPy's ufunc.
    """

    def __init__(self, ufunc: np.ufunc, note: str = "", module: str = "numpy") -> None:
        self.ufunc = ufunc
        self.rule = UFUNCS.get(ufunc)
        self.__name__ = self.__qualname__ = ufunc.__name__
        self.nin, self.nout, self.nargs = ufunc.nin, ufunc.nout, ufunc.nargs
        self.identity, self.types = ufunc.identity, ufunc.types
        self.__module__ = f"funcgrad.{module}"
        says = f"{module}.{ufunc.__name__} for plain and traced operands. {note}".rstrip()
        self.__doc__ = says + (_example(ufunc) if module == "numpy" else "")

    def __repr__(self) -> str:
        return f"<funcgrad ufunc '{self.__name__}'>"

    def __reduce__(self) -> str:
        """It is pickled by its name, and copied as itself."""
        return self.__name__

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        try:  # a boundary without a call of its own
            if (
                not keywords
                and self.rule is not None
                and len(inputs) == self.nin
                and (isinstance(inputs[0], Tracer) or isinstance(inputs[-1], Tracer))
            ):
                return self.rule(*inputs)
            return self._method("__call__", inputs, keywords)
        except Exception as error:
            hide_frames(error)
            raise

    def _method(self, method: str, inputs: Sequence[Any], keywords: dict[str, Any]) -> Any:
        if state(tuple(inputs)) == RAW and state(tuple(keywords.values())) == RAW:
            made = getattr(self.ufunc, method)(*inputs, **keywords)
            return made if "out" in keywords or method == "at" else owned(made, inputs)
        return call_ufunc(self.ufunc, method, inputs, keywords)

    @boundary
    def reduce(self, array: Any, *inputs: Any, **keywords: Any) -> Any:
        """Reduce along an axis, 0 by default."""
        return self._method("reduce", (array, *inputs), keywords)

    @boundary
    def accumulate(self, array: Any, *inputs: Any, **keywords: Any) -> Any:
        """The partial results along an axis, 0 by default."""
        return self._method("accumulate", (array, *inputs), keywords)

    @boundary
    def outer(self, x: Any, y: Any, /, **keywords: Any) -> Any:
        """Apply to all pairs of elements."""
        return self._method(_OUTER, (x, y), keywords)

    @boundary
    def at(self, target: Any, indices: Any, *values: Any) -> None:
        """Update `target` in place at `indices`, once for each repeat."""
        self._method("at", (target, indices, *values), {})

    @boundary
    def reduceat(self, array: Any, indices: Any, *inputs: Any, **keywords: Any) -> Any:
        """Reduce the run of elements from each index to the next one; the indices are constants."""
        return self._method("reduceat", (array, indices, *inputs), keywords)
