"""`check_vmap`, `check_jit`, `check_all`: the transforms of a function agree with each other."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import is_inexact
from funcgrad.testing.check import check_grads, eps_of, random_like
from funcgrad.transforms.checkpoint import checkpoint
from funcgrad.transforms.jacobian import jacfwd, jacrev
from funcgrad.transforms.jit import jit
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.linearize import linearize
from funcgrad.transforms.vjp import vjp
from funcgrad.transforms.vmap import vmap

__all__ = ["check_all", "check_jit", "check_vmap"]

Function = Callable[..., Any]


def check_vmap(
    f: Function,
    args: Sequence[Any],
    in_axes: Any = 0,
    out_axes: int = 0,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Compare ``vmap(f)`` with a loop over the examples.

    Parameters
    ----------
    f : callable
        Trees of arrays in and out.
    args : sequence
        What the mapped function is called with: every array has the axis of the examples.
    in_axes, out_axes : optional
        As in `vmap`; one number, or one for each argument, None for one that is not mapped.
    rtol, atol : float, optional
        By default some rounding errors of the dtype.

    Raises
    ------
    AssertionError
        They disagree; the message names the output and the difference.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.testing import check_vmap
    >>> check_vmap(lambda x: x * np.sum(x), (np.arange(6.0).reshape(3, 2),))
    """
    axes = [in_axes] * len(args) if isinstance(in_axes, int) else list(in_axes)
    size = next(
        np.shape(leaf)[axis]
        for a, axis in zip(args, axes, strict=True)
        if axis is not None
        for leaf in tree.leaves(a)
    )

    def example(k: int) -> Any:
        chosen = [
            a if axis is None else tree.map(lambda x, axis=axis: np.take(x, k, axis), a)
            for a, axis in zip(args, axes, strict=True)
        ]
        return f(*chosen)

    found = vmap(f, tuple(axes), out_axes)(*args)
    each = [example(k) for k in range(size)]
    wanted = tree.map(lambda *xs: np.stack(xs, out_axes), *each)
    _agree(found, wanted, "vmap differs from a loop", rtol, atol)


def check_jit(
    f: Function, args: Sequence[Any], rtol: float | None = None, atol: float | None = None,
    seed: int = 0,
) -> None:  # fmt: skip
    """Compare ``jit(f)`` with `f`: twice at `args`, and at another point of the same types.

    The other point shows what was taken for a constant while the function was traced.

    Parameters
    ----------
    f : callable
        Trees of arrays in and out.
    args : sequence
        Its arguments. The other point is near by; integers stay as they are.
    rtol, atol : float, optional
        By default some rounding errors of the dtype.
    seed : int, optional
        Of the other point.

    Raises
    ------
    AssertionError
        They disagree; the message names the call, the output and the difference.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.testing import check_jit
    >>> check_jit(lambda x: np.where(x > 0, x, 0.0), (np.array([1.0, -1.0]),))
    """
    compiled = jit(f)
    other = _beside(tuple(args), np.random.default_rng(seed))
    for what, point in (("", args), (" in its second call", args), (" at another point", other)):
        _agree(compiled(*point), f(*point), f"jit differs from the function{what}", rtol, atol)


def check_all(
    f: Function,
    args: Sequence[Any],
    order: int = 2,
    rtol: float | None = None,
    atol: float | None = None,
    complex_step: bool = False,
    seed: int = 0,
) -> None:
    """Check that every transform of a function agrees with the others and with differences.

    Values are those of the function bit for bit in both modes; derivatives agree with differences
    (`check_grads`), forward with reverse mode, `linearize` and `checkpoint` with both, and `jit`
    and `vmap` of the function and of its derivatives with the function and a loop.

    Parameters
    ----------
    f : callable
        Trees of arrays in and out, smooth around `args`.
    args : sequence
        Its arguments; integer leaves are held fixed.
    order : int, optional
        Of the derivatives that are compared with differences.
    rtol, atol : float, optional
        Between transforms; by default some rounding errors of the dtype.
    complex_step : bool, optional
        Compare with the complex step as well, which is exact; `f` has to be analytic, and to take
        complex numbers.
    seed : int, optional
        Of the random directions.

    Raises
    ------
    AssertionError
        Two of them disagree; the message says which, and by how much.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.testing import check_all
    >>> check_all(lambda x: np.sum(np.sin(x) ** 2), (np.array([0.3, 0.7]),))
    """
    args = tuple(args)
    check_grads(f, args, order, seed=seed)
    rng = np.random.default_rng(seed)
    value = f(*args)
    ts = tree.map(lambda x: random_like(x, rng), args)
    gs = tree.map(lambda x: random_like(x, rng), value)

    def pushed(*point: Any) -> Any:
        return _inexact(jvp(f, point, ts)[1])

    def pulled(*point: Any) -> Any:
        return _inexact(vjp(f, *point)[1](gs))

    _same(vjp(f, *args)[0], value, "the value of vjp")
    _same(jvp(f, args, ts)[0], value, "the value of jvp")
    _same(checkpoint(f)(*args), value, "the value of checkpoint")
    moved, cotangents = pushed(*args), pulled(*args)
    push = linearize(f, *args)[1]
    _agree(_inexact(push(*ts)), moved, "linearize differs from jvp", rtol, atol)
    kept = _inexact(vjp(checkpoint(f), *args)[1](gs))
    _agree(kept, cotangents, "checkpoint changes the gradient", rtol, atol)
    for what, derivative in (("", f), ("jvp of it: ", pushed), ("vjp of it: ", pulled)):
        with _named(what):
            check_jit(derivative, args, rtol, atol, seed)
            check_vmap(derivative, _batch(args, rng), 0, 0, rtol, atol)
    _check_jacobians(f, args, rtol, atol)
    if complex_step:
        _check_complex_step(f, args, ts, moved)


@contextlib.contextmanager
def _named(what: str) -> Iterator[None]:
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{what}{error}") from None


def _check_jacobians(f: Function, args: Any, rtol: Any, atol: Any) -> None:
    leaves = tree.leaves((args, f(*args)))
    kinds = {np.asarray(x).dtype.kind for x in leaves}
    if kinds <= {"f"} and sum(np.size(x) for x in leaves) <= 100:
        every = tuple(range(len(args)))
        forward, reverse = jacfwd(f, every)(*args), jacrev(f, every)(*args)
        _agree(forward, reverse, "jacfwd differs from jacrev", rtol, atol)


def _check_complex_step(f: Function, args: Any, ts: Any, moved: Any) -> None:
    h = 1e-200

    def stepped(x: Any, t: Any) -> Any:
        return np.asarray(x) + 1j * h * np.asarray(t) if _moves(x) else x

    up = [y for y in tree.leaves(f(*tree.map(stepped, args, ts))) if _moves(y)]
    wanted = [(np.imag(y) / h).astype(t.dtype)[()] for y, t in zip(up, moved, strict=True)]
    _agree(moved, wanted, "jvp differs from the complex step", None, None)


# ------------------------------------------------------------------------------ comparing


def _moves(x: Any) -> bool:
    return is_inexact(type_of(operand(x)).dtype)


def _inexact(x: Any) -> list[Any]:
    return [leaf for leaf in tree.leaves(x) if _moves(leaf)]


def _beside(args: Any, rng: np.random.Generator) -> Any:
    """A point near by, of the same types."""

    def moved(x: Any) -> Any:
        if not _moves(x):
            return x
        x = np.asarray(x)
        return (x * (1 + 0.01 * rng.uniform(-1, 1, x.shape))).astype(x.dtype)[()]

    return tree.map(moved, args)


def _batch(args: Any, rng: np.random.Generator) -> Any:
    """Three points near by, as arguments of a mapped function."""
    points = [_beside(args, rng) for _ in range(3)]
    return tree.map(lambda *xs: np.stack([np.asarray(x) for x in xs]), *points)


def _same(got: Any, want: Any, what: str) -> None:
    """Bit for bit, with shape and dtype."""
    pairs = zip(_with_paths(got), _with_paths(want), strict=True)
    for (path, x), (_, y) in pairs:
        x, y = np.asarray(x), np.asarray(y)
        if (x.shape, x.dtype, x.tobytes()) != (y.shape, y.dtype, y.tobytes()):
            raise AssertionError(f"{what}{path} is not that of the function: {x}, not {y}")


def _agree(got: Any, want: Any, what: str, rtol: float | None, atol: float | None) -> None:
    one, other = _with_paths(got), _with_paths(want)
    if [p for p, _ in one] != [p for p, _ in other]:
        raise AssertionError(f"{what}: the outputs {[*dict(one)]}, not {[*dict(other)]}")
    slack = 1e4 * eps_of([x for _, x in (*one, *other)])
    rtol, atol = slack if rtol is None else rtol, slack if atol is None else atol
    for (path, x), (_, y) in zip(one, other, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        if x.shape != y.shape or x.dtype != y.dtype:
            kinds = f"{x.dtype}{list(x.shape)}, not {y.dtype}{list(y.shape)}"
            raise AssertionError(f"{what}: output{path} is {kinds}")
        with np.errstate(all="ignore"):
            if not np.allclose(x, y, rtol, atol, equal_nan=True):
                miss = np.max(np.abs(x - y))
                raise AssertionError(f"{what} by {miss:.3g} in output{path}: {x}, not {y}")


def _with_paths(x: Any) -> list[tuple[str, Any]]:
    found, definition = tree.flatten(x)
    return list(zip(tree.paths(definition), found, strict=True))
