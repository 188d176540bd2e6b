"""How a function of `scipy.special` is defined: SciPy's ufunc, and a partial for each operand.

Values, dtypes and errors are SciPy's. The names of records begin with "special_", since some of
these functions exist in `funcgrad.ops` with values of their own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from funcgrad.core.forms import Op, elementwise
from funcgrad.core.forms.elementwise import Pointwise
from funcgrad.core.primitive import Sample
from funcgrad.errors import NotDifferentiableError, located
from funcgrad.numpy.function_calls import FUNCTIONS
from funcgrad.numpy.ufuncs import COMPOSED
from funcgrad.ops.arithmetic import divide, equal, where
from funcgrad.ops.samples import draw

__all__ = ["NAMES", "Range", "fixed", "over", "plain", "samples", "special", "special_outputs"]

NAMES: dict[str, tuple[np.ufunc, str]] = {}
"""The ufuncs of `scipy.special` that have a rule, with what their docstrings say of it."""

Range = tuple[float, float] | Sequence[int]  # an interval, or a list of whole numbers


def special(
    ufunc: Any,
    *partials: Any,
    ranges: Sequence[Range],
    complex_: bool | Sequence[int] = False,
    smooth: bool = True,
) -> Op:
    """The operation of a ufunc with one output.

    Parameters
    ----------
    ufunc : numpy.ufunc or callable
        SciPy's function; what is no ufunc has to broadcast as ufuncs do.
    *partials : float or callable
        As in `elementwise`.
    ranges : sequence of (float, float) or list of int
        For each operand the interval, or the whole numbers, from which samples are drawn.
    complex_ : bool or list of int, optional
        The partials hold for complex operands too: for all, or for those.
    smooth : bool, optional
        False where SciPy's values are so coarse that differences of them are no test.
    """
    given, ufunc = ufunc, plain(ufunc)
    if isinstance(ufunc, np.ufunc):
        _name(ufunc, partials)
    made = elementwise(
        ufunc,
        *partials,
        name=f"special_{ufunc.__name__}",
        sample=lambda: [s._replace(smooth=smooth) for s in samples(ranges, complex_)],
    )
    if given is not ufunc:
        FUNCTIONS[given] = made
    return made


def plain(function: Any) -> Any:
    """The ufunc behind what SciPy wraps for other arrays (``SCIPY_ARRAY_API=1``)."""
    behind = inspect.unwrap(function)
    return behind if isinstance(behind, np.ufunc) else function


def _name(ufunc: np.ufunc, partials: Sequence[Any]) -> None:
    """Put `ufunc` into the namespace, with a note of the operands that have no derivative."""
    without = [p.operand for p in partials if hasattr(p, "operand")]
    NAMES[ufunc.__name__] = ufunc, f"No derivative in {' and '.join(without)}." if without else ""


class Output(Pointwise):
    """One output of a ufunc that has several."""

    def __init__(self, ufunc: np.ufunc, which: int) -> None:
        def compute(*xs: Any) -> Any:
            return ufunc(*xs)[which]

        compute.__name__ = f"{ufunc.__name__}_{which}"
        super().__init__(compute, ufunc.nin)


def special_outputs(
    ufunc: np.ufunc, *partials: Sequence[Any], ranges: Sequence[Range], smooth: bool = True
) -> tuple[Op, ...]:
    """One operation for each output of a ufunc; `partials` has the list of each.

    The ufunc, called on traced values, gives the tuple of them.
    """
    parts = tuple(
        special(Output(ufunc, k), *those, ranges=ranges, smooth=smooth)
        for k, those in enumerate(partials)
    )
    _name(ufunc, [those[0] for those in zip(*partials, strict=True)])
    COMPOSED[ufunc] = lambda *xs: tuple(part(*xs) for part in parts)
    return parts


def _operand(given: Range, shape: tuple[int, ...], seed: int) -> Any:
    if isinstance(given, tuple):
        return draw(shape, given[0], given[1], seed)
    return np.resize(np.asarray(given), shape)


def samples(ranges: Sequence[Range], complex_: bool | Sequence[int] = False) -> list[Sample]:
    """Operands of the same shape, broadcast, of single precision, and complex ones."""
    shapes: list[tuple[int, ...]] = [(3,)] * len(ranges)
    wide: list[tuple[int, ...]] = [(2, 1) if k else (3,) for k in range(len(ranges))]
    drawn = [
        tuple(_operand(r, s, k) for k, (r, s) in enumerate(zip(ranges, shape, strict=True)))
        for shape in (shapes, wide)
    ]
    single = tuple(x.astype(np.float32) if x.dtype.kind == "f" else x for x in drawn[0])
    found = [Sample(args) for args in (*drawn, single)]
    if complex_:
        which = range(len(ranges)) if complex_ is True else complex_
        turned = tuple(
            x + 0.5j * draw((3,)) if k in which and x.dtype.kind == "f" else x
            for k, x in enumerate(drawn[0])
        )
        found.append(Sample(turned))
    return found


def fixed(name: str, operand: str, order: str = "") -> Callable[..., NoReturn]:
    """The partial derivative by an operand in which a function has none here (of that order).

    The name is that in `scipy.special`, or a full one.
    """
    full = name if name.startswith("scipy.") else f"scipy.special.{name}"

    def refuse(*_: Any) -> NoReturn:
        raise NotDifferentiableError(
            located(
                f"{full} has no {order}derivative here with respect to {operand}; "
                "if that is a constant, pass funcgrad.value of it"
            )
        )

    refuse.operand = operand  # type: ignore[attr-defined]
    return refuse


def over(x: Any, y: Any, otherwise: Any) -> Any:
    """x / y, and `otherwise` where y is 0."""
    none = equal(y, 0)
    return where(none, otherwise, divide(x, where(none, 1.0, y)))
