"""`check_grads`: forward and reverse mode against differences of the function itself.

The difference is Ridders' extrapolation of central differences (Numerical Recipes, 3rd ed.,
section 5.7), which also estimates its own error; the tolerance follows from that estimate and
from the dtype, so that an ill-conditioned function is not called wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import is_inexact
from funcgrad.transforms.api import jvp, vjp

__all__ = ["check_grads", "derivative_along"]

Function = Callable[..., Any]


def _leaves(x: Any) -> list[Any]:
    return [operand(leaf) for leaf in tree.leaves(x)]


def _moved(args: Sequence[Any], direction: Sequence[Any], h: float) -> tuple[Any, ...]:
    def step(x: Any, t: Any) -> Any:
        if not is_inexact(type_of(operand(x)).dtype):
            return x
        return (np.asarray(x) + h * np.asarray(t)).astype(np.asarray(x).dtype)[()]

    return tuple(tree.map(step, tuple(args), tuple(direction)))


def derivative_along(
    f: Function, args: Sequence[Any], direction: Sequence[Any], step: float = 0.05
) -> tuple[list[Any], list[Any]]:
    """The derivative of `f` at `args` along `direction` from values alone, and its error.

    Parameters
    ----------
    f : callable
        Trees of arrays in and out.
    args, direction : sequence
        The point, and a tangent of the same tree for each argument.
    step : float, optional
        The first step; it is divided by 1.4 until the error no longer falls.

    Returns
    -------
    derivative, error : list of array
        One array for each leaf of the output.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.testing import derivative_along
    >>> derivative, error = derivative_along(np.sin, (0.0,), (1.0,))
    >>> bool(abs(derivative[0] - 1.0) < 1e-10)
    True
    """

    def central(h: float) -> list[Any]:
        up, down = f(*_moved(args, direction, h)), f(*_moved(args, direction, -h))
        return [
            (np.asarray(a, _wide(a)) - np.asarray(b, _wide(b))) / (2 * h)
            for a, b in zip(_leaves(up), _leaves(down), strict=True)
        ]

    shrink, rounds = 1.4, 14
    table = [central(step)]
    best, error = table[0], [np.full(np.shape(c), np.inf) for c in table[0]]
    for i in range(1, rounds):
        step /= shrink
        row = [central(step)]
        factor = 1.0
        for k in range(i):
            factor *= shrink**2
            row.append(
                [(a * factor - b) / (factor - 1) for a, b in zip(row[k], table[k], strict=True)]
            )
            for j, (new, left, old) in enumerate(zip(row[k + 1], row[k], table[k], strict=True)):
                miss = np.maximum(np.abs(new - left), np.abs(new - old))
                better = miss < error[j]
                best[j] = np.where(better, new, best[j])
                error[j] = np.where(better, miss, error[j])
        table = row
    return best, error


def _wide(x: Any) -> Any:
    return np.result_type(np.asarray(x).dtype, np.float64)


def _random_like(x: Any, rng: np.random.Generator) -> Any:
    kind = type_of(operand(x))
    if not is_inexact(kind.dtype):
        return np.zeros(kind.shape)
    t = rng.uniform(-1, 1, kind.shape)
    if kind.dtype.kind == "c":
        t = t + 1j * rng.uniform(-1, 1, kind.shape)
    return np.asarray(t).astype(kind.dtype)[()]


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Re Σ a·b: a real operand has no use for the imaginary part of its cotangent."""
    return np.real(
        sum(
            (
                np.sum(np.asarray(x, _wide(x)) * np.asarray(y, _wide(y)))
                for x, y in zip(a, b, strict=True)
                if np.asarray(x).dtype.kind in "fc" and np.asarray(y).dtype.kind in "fc"
            ),
            np.float64(0.0),
        )
    )


def check_grads(
    f: Function,
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
) -> None:
    """Compare the derivatives of `f` with differences, in both modes and to some order.

    Parameters
    ----------
    f : callable
        Trees of arrays in and out; it has to be smooth around `args`.
    args : sequence
        Its arguments. Integer leaves are held fixed.
    order : int, optional
        To which order; order 2 checks the derivatives of the derivatives.
    modes : sequence of {"fwd", "rev"}, optional
        Which modes; of "rev" also ⟨g, jvp t⟩ = ⟨vjp g, t⟩ is checked.
    rtol, atol : float, optional
        Tolerances besides the estimated error of the difference; by default from the dtype.
    seed : int, optional
        Of the random directions.

    Raises
    ------
    AssertionError
        They disagree; the message says in which mode, order and output, and by how much.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.testing import check_grads
    >>> check_grads(lambda x: np.sin(x) * x, (0.7,))
    """
    unknown = set(modes) - {"fwd", "rev"}
    if unknown:
        raise ValueError(f"modes are 'fwd' and 'rev', not {sorted(unknown)}")
    rng = np.random.default_rng(seed)
    _check(f, tuple(args), order, tuple(modes), rtol, atol, rng, 1)


def _tolerance(xs: Sequence[Any], rtol: float | None, atol: float | None) -> tuple[float, float]:
    eps = max(
        (float(np.finfo(np.asarray(x).dtype).eps) for x in xs if np.asarray(x).dtype.kind in "fc"),
        default=2.3e-16,
    )
    # a difference of values loses half of the digits where the extrapolation does not help
    return (eps**0.55 if rtol is None else rtol), (eps**0.55 if atol is None else atol)


def _check(
    f: Function,
    args: tuple[Any, ...],
    order: int,
    modes: tuple[str, ...],
    rtol: float | None,
    atol: float | None,
    rng: np.random.Generator,
    level: int,
) -> None:
    ts = tree.map(lambda x: _random_like(x, rng), args)
    wide = all(np.asarray(x).dtype not in (np.float32, np.complex64) for x in _leaves(args))
    expected, error = derivative_along(f, args, ts, 0.05 if wide else 0.2)
    out = _leaves(f(*args))
    r, a = _tolerance([*_leaves(args), *out], rtol, atol)
    if "fwd" in modes:
        _, moved = jvp(f, args, ts)
        for k, (got, want, miss) in enumerate(zip(_leaves(moved), expected, error, strict=True)):
            _close(got, want, r, a, miss, f"forward mode, order {level}, output {k}")
    gs = None
    if "rev" in modes:
        value, pull = vjp(f, *args)
        gs = tree.map(lambda x: _random_like(x, rng), value)
        back = pull(gs)
        numbers = [
            (np.asarray(g), np.asarray(w)) for g, w in zip(_leaves(gs), expected, strict=True)
        ]
        want = _dot([g for g, _ in numbers], [w for _, w in numbers])
        size = sum(float(np.sum(np.abs(g) * np.abs(w))) for g, w in numbers if g.dtype.kind in "fc")
        miss = sum(
            float(np.sum(np.abs(g) * e))
            for (g, _), e in zip(numbers, error, strict=True)
            if g.dtype.kind in "fc"
        )
        got = _dot(_leaves(back), _leaves(ts))
        _close(got, want, r, a + r * size, miss, f"reverse mode, order {level}")
    if order > 1:
        if "fwd" in modes:
            _check(lambda *x: jvp(f, x, ts)[1], args, order - 1, modes, rtol, atol, rng, level + 1)
        if gs is not None:

            def pulled(*x: Any) -> Any:
                _, pull = vjp(f, *x)
                return [c for c in tree.leaves(pull(gs)) if is_inexact(type_of(operand(c)).dtype)]

            _check(pulled, args, order - 1, modes, rtol, atol, rng, level + 1)


def _close(got: Any, want: Any, rtol: float, atol: float, error: Any, what: str) -> None:
    if np.asarray(got).dtype.kind not in "fc":
        return
    slack = atol + rtol * np.abs(want) + 10 * np.asarray(error)
    difference = np.abs(np.asarray(got, _wide(got)) - want)
    if not np.all(difference <= slack):
        raise AssertionError(
            f"{what}: the derivative differs from that of the values by {np.max(difference):.3g} "
            f"(allowed {np.max(slack):.3g})\n  derivative: {got}\n  of values:  {want}"
        )
