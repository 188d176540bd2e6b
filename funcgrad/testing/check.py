"""`check_grads`: forward and reverse mode against differences of the function itself.

The difference is Ridders' extrapolation of central differences (Numerical Recipes, 3rd ed.,
section 5.7), which also estimates its own error; the tolerance follows from that estimate and
from the dtype, so that an ill-conditioned function is not called wrong. It stands on `jvp` and
`vjp` alone: what it checks are their results, not the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad import tree
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import is_inexact
from funcgrad.errors import TreeError
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.vjp import vjp

__all__ = ["check_grads", "check_jvp", "check_vjp", "derivative_along", "eps_of", "random_like"]

Function = Callable[..., Any]
MODES = {"fwd": "forward mode", "rev": "reverse mode"}

# --------------------------------------------------------------------------- differences


def _leaves(x: Any) -> list[Any]:
    return [operand(leaf) for leaf in tree.leaves(x)]


def _inexact(x: Any) -> bool:
    return is_inexact(type_of(operand(x)).dtype)


def eps_of(xs: Sequence[Any]) -> float:
    """The rounding error of the coarsest dtype among `xs`."""
    kinds = [np.asarray(x).dtype for x in xs]
    return max((float(np.finfo(k).eps) for k in kinds if k.kind in "fc"), default=2.3e-16)


def _moved(args: Sequence[Any], direction: Sequence[Any], h: float) -> tuple[Any, ...]:
    def step(x: Any, t: Any) -> Any:
        if not _inexact(x):
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
        The first step; it is divided by 1.4 thirteen times, and the best of what is extrapolated
        is taken.

    Returns
    -------
    derivative, error : list of array
        One array for each leaf of the output. The error is an estimate: what further steps change,
        and what rounding of arguments and values does to a difference.

    Raises
    ------
    ValueError
        The step is not positive.
    TreeError
        `direction` has another tree than `args`.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.testing import derivative_along
    >>> derivative, error = derivative_along(np.sin, (0.0,), (1.0,))
    >>> bool(abs(derivative[0] - 1.0) < 1e-10)
    True
    """
    if not step > 0:
        raise ValueError(f"derivative_along: the step has to be positive, not {step}")
    kinds = tree.structure(tuple(args)), tree.structure(tuple(direction))
    if kinds[0] != kinds[1]:
        raise TreeError(f"the trees of args and direction do not match: {kinds[0]} and {kinds[1]}")
    points = [x for x in _leaves(args) if _inexact(x)]
    eps, extent = (
        eps_of(points),
        max((float(np.max(np.abs(x), initial=0)) for x in points), default=0),
    )

    def central(h: float) -> tuple[list[Any], list[Any]]:
        """The difference, and what rounding does to it."""
        up, down = f(*_moved(args, direction, h)), f(*_moved(args, direction, -h))
        slopes, noise = [], []
        for a, b in zip(_leaves(up), _leaves(down), strict=True):
            slope = (np.asarray(a, _wide(a)) - np.asarray(b, _wide(b))) / (2 * h)
            size = (np.abs(a) + np.abs(b)) / 2 + extent * np.abs(slope)
            slopes.append(slope)
            noise.append(max(eps, eps_of([a])) * size / h)
        return slopes, noise

    shrink, rounds = 1.4, 14
    first, _ = central(step)
    table, best, error = [first], first, [np.full(np.shape(c), np.inf) for c in first]
    for i in range(1, rounds):
        step /= shrink
        slopes, noise = central(step)
        row, factor = [slopes], 1.0
        for k in range(i):
            factor *= shrink**2
            row.append(
                [(a * factor - b) / (factor - 1) for a, b in zip(row[k], table[k], strict=True)]
            )
            for j, (new, left, old) in enumerate(zip(row[k + 1], row[k], table[k], strict=True)):
                miss = np.maximum(np.abs(new - left), np.abs(new - old)) + noise[j]
                better = miss < error[j]
                best[j] = np.where(better, new, best[j])
                error[j] = np.where(better, miss, error[j])
        table = row
    return best, error


def _wide(x: Any) -> Any:
    return np.result_type(np.asarray(x).dtype, np.float64)


def random_like(x: Any, rng: np.random.Generator) -> Any:
    aval = type_of(operand(x))
    if not is_inexact(aval.dtype):
        return np.zeros(aval.shape)
    t = rng.uniform(-1, 1, aval.shape)
    if aval.dtype.kind == "c":
        t = t + 1j * rng.uniform(-1, 1, aval.shape)
    return np.asarray(t).astype(aval.dtype)[()]


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


# --------------------------------------------------------------------------------- checks


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
        To which order; order 2 checks the derivatives of the derivatives, in all combinations of
        the modes.
    modes : sequence of {"fwd", "rev"}, optional
        Which modes. With t a random tangent, g a random cotangent and d the difference along t,
        "fwd" is jvp t = d and "rev" is ⟨vjp g, t⟩ = ⟨g, d⟩.
    rtol, atol : float, optional
        Tolerances besides the estimated error of the difference; by default from the dtype.
    seed : int, optional
        Of the random directions.

    Raises
    ------
    AssertionError
        They disagree; the message says in which mode and order, for which outputs and arguments,
        and by how much.
    ValueError, TypeError
        There is nothing to check: an empty `modes`, an order below 1, arguments that are no
        sequence or hold no floating point number, or an output that holds none.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.testing import check_grads
    >>> check_grads(lambda x: np.sin(x) * x, (0.7,))
    """
    if isinstance(modes, str) or not modes or set(modes) - set(MODES):
        raise ValueError(f"check_grads: modes are a sequence of 'fwd' and 'rev', not {modes!r}")
    if not isinstance(order, (int, np.integer)) or order < 1:
        raise ValueError(f"check_grads: the order is an integer from 1 on, not {order!r}")
    if not isinstance(args, (tuple, list)):
        raise TypeError(
            f"check_grads: args is a tuple with one item for each argument of f, not "
            f"{type(args).__name__!r}"
        )
    if not any(_inexact(x) for x in tree.leaves(tuple(args))):
        raise ValueError("check_grads: args hold no floating point number, so nothing can move")
    test = _Test(tuple(modes), rtol, atol, np.random.default_rng(seed))
    _check(f, tuple(args), int(order), test, ())


def check_jvp(
    f: Function,
    f_jvp: Function,
    args: Sequence[Any],
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
) -> None:
    """Compare a rule of forward mode with differences of the function.

    Parameters
    ----------
    f : callable
        Trees of arrays in and out; it has to be smooth around `args`.
    f_jvp : callable
        Takes a tuple of primals and one of tangents, gives the output and its tangent, as
        ``functools.partial(jvp, f)`` does.
    args : sequence
        The arguments of `f`.
    rtol, atol, seed : optional
        As in `check_grads`.

    Raises
    ------
    AssertionError
        They disagree.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.testing import check_jvp
    >>> check_jvp(np.sin, lambda x, t: (np.sin(x[0]), np.cos(x[0]) * t[0]), (0.7,))
    """
    rng = np.random.default_rng(seed)
    test = _Test(("fwd",), rtol, atol, rng, lambda _, x, t: f_jvp(x, t))
    _check(f, tuple(args), 1, test, ())


def check_vjp(
    f: Function,
    f_vjp: Function,
    args: Sequence[Any],
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
) -> None:
    """Compare a rule of reverse mode with differences of the function.

    Parameters
    ----------
    f : callable
        Trees of arrays in and out; it has to be smooth around `args`.
    f_vjp : callable
        Takes the arguments of `f`, gives the output and a function that pulls a cotangent back to
        a tuple, as ``functools.partial(vjp, f)`` does.
    args : sequence
        The arguments of `f`.
    rtol, atol, seed : optional
        As in `check_grads`.

    Raises
    ------
    AssertionError
        They disagree.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.testing import check_vjp
    >>> check_vjp(np.sin, lambda x: (np.sin(x), lambda g: (np.cos(x) * g,)), (0.7,))
    """
    rng = np.random.default_rng(seed)
    test = _Test(("rev",), rtol, atol, rng, pull=lambda _, *x: f_vjp(*x))
    _check(f, tuple(args), 1, test, ())


class _Test(NamedTuple):
    modes: tuple[str, ...]
    rtol: float | None
    atol: float | None
    rng: np.random.Generator
    push: Function = jvp  # of the function, primals and tangents
    pull: Function = vjp

    def slack(self, xs: Sequence[Any]) -> tuple[float, float]:
        """The relative and the absolute tolerance."""
        # a difference of values loses half of the digits where the extrapolation does not help
        own = eps_of(xs) ** 0.55
        return (
            own if self.rtol is None else self.rtol,
            own if self.atol is None else self.atol,
        )


class _Miss(NamedTuple):
    """A derivative that disagrees, and the path of the output."""

    path: str
    got: Any
    want: Any
    difference: float
    allowed: float


def _check(
    f: Function, args: tuple[Any, ...], order: int, test: _Test, inner: tuple[str, ...]
) -> None:
    """Check `f`, which is what the modes `inner` made of the user's function."""
    ts = tree.map(lambda x: random_like(x, test.rng), args)
    value = f(*args)
    if not any(_inexact(x) for x in tree.leaves(value)):
        raise ValueError("check_grads: the output holds no floating point number to differentiate")
    gs = tree.map(lambda x: random_like(x, test.rng), value)
    rtol, atol = test.slack([*_leaves(args), *_leaves(value)])
    step = 0.05 if eps_of(_leaves(args)) < 1e-10 else 0.2

    def forward(direction: Any, wanted: Any) -> Iterator[_Miss]:
        _, moved = test.push(f, args, direction)
        paths = tree.paths(tree.structure(value))
        for path, got, want, error in zip(paths, _leaves(moved), *wanted, strict=True):
            yield from _compare(path, got, want, rtol, atol, error)

    def reverse(direction: Any, wanted: Any) -> Iterator[_Miss]:
        _, pull = test.pull(f, *args)
        back = _leaves(pull(gs))
        groups = [
            (np.asarray(g), np.asarray(want), error)
            for g, want, error in zip(_leaves(gs), *wanted, strict=True)
            if np.asarray(g).dtype.kind in "fc"
        ]
        want = _dot([g for g, _, _ in groups], [w for _, w, _ in groups])
        size = sum(float(np.sum(np.abs(g) * np.abs(w))) for g, w, _ in groups)
        error = sum(float(np.sum(np.abs(g) * e)) for g, _, e in groups)
        got = _dot(back, _leaves(direction))
        yield from _compare("", got, want, rtol, atol + rtol * size, error)

    wanted = derivative_along(f, args, ts, step)
    for mode, compare in (("fwd", forward), ("rev", reverse)):
        misses = [*compare(ts, wanted)] if mode in test.modes else []
        if misses:
            wrong = [
                path
                for path, alone in _alone(ts)
                if [*compare(alone, derivative_along(f, args, alone, step))]
            ]
            raise AssertionError(_message((*inner, mode), misses, wrong))
    if order > 1:
        if "fwd" in test.modes:

            def pushed(*x: Any) -> Any:
                return tree.map(lambda c: c if _inexact(c) else 0, jvp(f, x, ts)[1])

            _check(pushed, args, order - 1, test, (*inner, "fwd"))
        if "rev" in test.modes:

            def pulled(*x: Any) -> Any:
                _, pull = vjp(f, *x)
                return [c for c in tree.leaves(pull(gs)) if _inexact(c)]

            _check(pulled, args, order - 1, test, (*inner, "rev"))


def _alone(ts: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """For each leaf that can move, its path and the direction in which it alone does."""
    found, definition = tree.flatten(ts)
    for k, (path, leaf) in enumerate(zip(tree.paths(definition), found, strict=True)):
        if np.asarray(leaf).size:
            only = [t if j == k else np.zeros_like(t)[()] for j, t in enumerate(found)]
            end = path.index("]")  # the first key is the position of the argument
            yield path[1:end] + path[end + 1 :], tree.unflatten(definition, only)


def _compare(
    path: str, got: Any, want: Any, rtol: float, atol: float, error: Any
) -> Iterator[_Miss]:
    if np.asarray(got).dtype.kind not in "fc":
        return
    slack = atol + rtol * np.abs(want) + 10 * np.asarray(error)
    difference = np.abs(np.asarray(got, _wide(got)) - want)
    if not np.all(difference <= slack):
        yield _Miss(path, got, want, float(np.max(difference)), float(np.max(slack)))


def _message(modes: tuple[str, ...], misses: Sequence[_Miss], wrong: Sequence[str]) -> str:
    """What disagrees: the outermost mode is named first."""
    what = " over ".join(MODES[m] for m in reversed(modes))
    where = f"argument {', '.join(wrong)}" if wrong else "several arguments together"
    lines = [f"check_grads: {what} (order {len(modes)}) is wrong for {where}"]
    for m in misses:
        output = f"output{m.path}: " if m.path else ""
        lines.append(
            f"  {output}it differs from the derivative of the values by {m.difference:.3g} "
            f"(allowed {m.allowed:.3g})\n    derivative: {m.got}\n    of values:  {m.want}"
        )
    return "\n".join(lines)
