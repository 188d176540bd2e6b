"""Jacobians and Hessians, by mapping one pass over a basis."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import Operand, operand, running, type_of
from funcgrad.core.types import ArrayType, is_inexact, zeros
from funcgrad.errors import NotDifferentiableError, located
from funcgrad.ops.arithmetic import not_equal
from funcgrad.ops.shape import concatenate, moveaxis, reshape
from funcgrad.transforms.abstract import eval_shape
from funcgrad.transforms.arguments import (
    check_complex,
    check_inexact,
    float0,
    integer,
    leaves_of,
    name_of,
    of_chosen,
    select,
)
from funcgrad.transforms.jvp import moved_along
from funcgrad.transforms.optimism import optimistic
from funcgrad.transforms.presence import Presence
from funcgrad.transforms.results import handed_back
from funcgrad.transforms.signatures import P
from funcgrad.transforms.transformed import transformed
from funcgrad.transforms.vjp import vjp
from funcgrad.transforms.vmap import over_rows

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]

Function = Callable[..., Any]


def _basis(aval: ArrayType) -> Any:
    return np.eye(aval.size, dtype=aval.dtype).reshape(aval.size, *aval.shape)


def _over_basis(one: Function, aval: ArrayType, chunk: int | None) -> Any:
    """``one(element)`` for the elements of the basis of `aval`, along axis 0; a number has one.

    With a `chunk` no more than so many are mapped at a time.
    """
    if not aval.shape:
        return one(aval.dtype.type(1))
    rows = _basis(aval)
    if chunk is None or chunk >= len(rows):
        return over_rows(one, rows)
    parts = [over_rows(one, rows[k : k + chunk]) for k in range(0, len(rows), chunk)]
    return tree.map(lambda *each: concatenate([operand(e) for e in each], 0), *parts)


def _chunk(given: int | None, transform: str) -> int | None:
    if given is not None and integer(given, f"{transform}: chunk_size must be an integer") < 1:
        raise ValueError(located(f"{transform}: chunk_size={given} is not positive"))
    return given


def _alone(seeds: Presence | None, t: Any, types: Sequence[ArrayType], i: int) -> list[Any]:
    """`t` of the basis of leaf `i`: only one element of all leaves is there."""
    t = operand(t)
    if seeds is None or sum(k.size for k in types) == 1:
        return [t if j == i else zeros(k) for j, k in enumerate(types)]
    return [
        seeds.part(t, not_equal(t, 0)) if j == i else seeds.nothing(k) for j, k in enumerate(types)
    ]


def jacrev(
    f: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    chunk_size: int | None = None,
) -> Callable[P, Any]:
    """The Jacobian of `f` in reverse mode: one mapped backward pass for each output.

    Parameters
    ----------
    f : callable
        A function of arrays; trees are allowed on both sides.
    argnums : int or sequence of int, optional
        The argument(s) to differentiate.
    has_aux : bool, optional
        `f` returns ``(output, aux)``; the result is ``(Jacobian, aux)``.
    holomorphic : bool, optional
        `f` is a holomorphic function of complex arguments: the entries are complex derivatives.
        That it is one is not checked.
    allow_int : bool, optional
        As of `grad` (`jacrev` alone).
    chunk_size : int, optional
        How many rows are computed at a time: less memory for more time. All of them by default.

    Returns
    -------
    callable
        Its result has the tree of the output, and in each leaf the tree of the argument (a tuple
        of them if `argnums` is a sequence), with arrays of shape
        ``output.shape + argument.shape``.

    Raises
    ------
    InputTypeError
        An argument to be differentiated holds integers or bools; with `holomorphic`, anything but
        complex numbers.
    NotDifferentiableError
        Complex outputs depend on complex arguments, and `f` is not said to be holomorphic: two
        matrices would be needed. Or an output holds integers or bools.

    Notes
    -----
    Of a real output by a complex argument the entries are ∂f/∂x − i ∂f/∂y, of a complex output by a
    real argument the derivatives of both parts: in this mode as in that of `jacfwd`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.jacrev(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """

    chunk = _chunk(chunk_size, "jacrev")

    @transformed(jacrev, f, argnums, has_aux, holomorphic, allow_int, chunk_size=chunk_size)
    @boundary
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        wanted = select(argnums, args, f, "jacrev")
        chosen = [args[k] for k in wanted]
        for k, x in zip(wanted, chosen, strict=True):
            _leaves(x, (k, f), "jacrev", holomorphic, allow_int)
        out, pull, *aux = vjp(of_chosen(f, args, wanted, kwargs), *chosen, has_aux=has_aux)
        check_inexact(out, f)
        outputs, definition = tree.flatten(out)
        types = [type_of(o) for o in outputs]
        named = None if holomorphic else f
        rows = []
        for i in range(len(types)):
            rows.append(_rows(pull, definition, outputs, types, i, named, chunk))
        picked = rows if isinstance(argnums, (tuple, list)) else [r[0] for r in rows]
        found = _whole(tree.unflatten(definition, picked))
        return (found, *aux) if has_aux else found

    return wrapped


def _whole(jacobian: Any) -> Any:
    found, definition = tree.flatten(jacobian)
    return handed_back(definition, found)


def _leaves(x: Any, what: Any, mode: str, holomorphic: bool, allow_int: bool = False) -> list[Any]:
    """The leaves of an argument to be differentiated."""
    leaves = leaves_of(x, what, differentiable=not allow_int)[0]
    if holomorphic:
        check_complex(leaves, mode, what[1])
    return leaves


def _is_complex(x: Any) -> bool:
    return type_of(operand(x)).dtype.kind == "c"


def _joined(first: Any, second: Callable[[], Any], complex_: bool, unit: complex, f: Any) -> Any:
    """Derivatives of, or by, a complex number, from those along 1 and along the imaginary unit.

    Parameters
    ----------
    first, second
        The trees of derivatives; the second one is asked for where it is needed.
    complex_ : bool
        Whether the number is complex.
    unit : complex
        What the second derivatives are multiplied with, to be added to the first.
    f : callable or None
        The function to be named where one derivative would not be enough; None if it is known to
        be holomorphic, so that one is.
    """
    if not complex_ or (f is None and all(map(_is_complex, tree.leaves(first)))):
        return first
    if f is not None and any(map(_is_complex, tree.leaves(first))):
        raise NotDifferentiableError(
            located(
                f"the Jacobian of {name_of(f)}: complex outputs depend on complex arguments, and "
                "one matrix describes that only where the function is holomorphic; say "
                "holomorphic=True if it is, or use jvp or vjp, or take the real and the imaginary "
                "part as arguments"
            )
        )
    return tree.map(lambda a, b: a if _is_complex(a) else a + unit * b, first, second())


def _rows(
    pull: Function,
    definition: Any,
    outputs: Sequence[Any],
    types: Sequence[ArrayType],
    i: int,
    f: Any,
    chunk: int | None,
) -> Any:
    """The Jacobian of output `i` of `f`, which is None if it is holomorphic."""
    aval = types[i]

    def pulled(marked: bool, ct: Any) -> Any:
        seeds = Presence()
        found = pull(tree.unflatten(definition, _alone(seeds if marked else None, ct, types, i)))
        return tree.map(seeds.dense, found)

    def one(marked: bool, ct: Any) -> Any:
        # a real argument receives the real part of what arrives: Re J, and of -i J it is Im J
        turned = lambda: pulled(marked, -1j * ct)
        return _joined(pulled(marked, ct), turned, aval.dtype.kind == "c", 1j, f)

    def mapped(marked: bool) -> tuple[Any, list[Any]]:
        found = _over_basis(functools.partial(one, marked), aval, chunk)
        return found, [c for c in tree.leaves(found) if is_inexact(type_of(operand(c)).dtype)]

    def rows(c: Any) -> Any:
        c = operand(c)
        return reshape(c, aval.shape + type_of(c).shape[1:])

    found = optimistic(mapped, outputs)
    return tree.map(rows, found) if aval.shape else found


def jacfwd(
    f: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    chunk_size: int | None = None,
) -> Callable[P, Any]:
    """The Jacobian of `f` in forward mode: one mapped pass for each input.

    Parameters, result and errors are those of `jacrev`, but that integers and bools which `f`
    returns do not move, so their entries are 0. Of a chunk the columns are computed at a time, and
    `f` is called for each. It pays where the argument has fewer elements than the output.
    `f` is called a second time where the Jacobian has a NaN, to follow which elements a `where` or
    an index did not take.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.jacfwd(lambda x: np.stack([x, x**2, x**3]))(2.0)
    array([ 1.,  4., 12.])
    """

    chunk = _chunk(chunk_size, "jacfwd")

    @transformed(jacfwd, f, argnums, has_aux, holomorphic, chunk_size=chunk_size)
    @boundary
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        wanted = select(argnums, args, f, "jacfwd")
        chosen = tuple(args[k] for k in wanted)
        types = [
            type_of(leaf)
            for k, x in zip(wanted, chosen, strict=True)
            for leaf in _leaves(x, (k, f), "jacfwd", holomorphic)
        ]
        definition = tree.structure(chosen)
        g = of_chosen(f, args, wanted, kwargs)
        named = None if holomorphic else f
        aux: list[Any] = []

        def mapped(marked: bool) -> tuple[list[Any], list[Any]]:
            columns = []
            for i, aval in enumerate(types):
                fixed = (g, chosen, definition, types, i, named, marked, aux if has_aux else None)
                column = functools.partial(_column, *fixed)
                columns.append(_over_basis(column, aval, chunk))
            return columns, tree.leaves(columns)

        columns = optimistic(mapped, tree.leaves(chosen))
        flat = [tree.flatten(c) for c in columns]
        out_definition = flat[0][1]
        rows = []
        for j in range(len(flat[0][0])):
            entries = [_as_rows(c[0][j], aval) for c, aval in zip(flat, types, strict=True)]
            row = tree.unflatten(definition, entries)
            rows.append(row if isinstance(argnums, (tuple, list)) else row[0])
        jacobian = _whole(tree.unflatten(out_definition, rows))
        return (jacobian, tree.map(_unboxed, aux[0])) if has_aux else jacobian

    return wrapped


def _column(
    g: Function,
    chosen: Any,
    definition: Any,
    types: Sequence[ArrayType],
    i: int,
    f: Any,
    marked: bool,
    aux: list[Any] | None,
    t: Any,
) -> Any:
    """A column of the Jacobian; what `f` returns besides goes to `aux`, unless that is None."""

    def moved(t: Any) -> Any:
        seeds = Presence()
        ts = tree.unflatten(definition, _alone(seeds if marked else None, t, types, i))
        found = moved_along(g, chosen, ts, marked, aux is not None)
        if aux is not None:
            found, aux[:] = found[0], [found[1]]  # it depends on the primals alone
        return tree.map(lambda x: _entries(seeds.dense(x), types[i].dtype), found)

    return _joined(moved(t), lambda: moved(1j * t), types[i].dtype.kind == "c", -1j, f)


def _entries(x: Any, dtype: Any) -> Any:
    """A tangent as entries: integers and truth values do not move, which is zero in a matrix."""
    return np.zeros(x.shape, dtype) if getattr(x, "dtype", None) == float0 else x


def _unboxed(x: Any) -> Any:
    """What was made within a transform that has ended, as a caller outside of any sees it."""
    return x.content() if isinstance(x, Operand) and not running.count else x


def _as_rows(columns: Any, aval: ArrayType) -> Any:
    """Columns along axis 0 made the trailing axes of the argument."""
    if not aval.shape:
        return columns
    columns = operand(columns)
    last = moveaxis(columns, 0, type_of(columns).ndim - 1)
    return reshape(last, type_of(last).shape[:-1] + aval.shape)


def jacobian(
    f: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    chunk_size: int | None = None,
) -> Callable[P, Any]:
    """The Jacobian of `f`, in the mode that needs fewer passes.

    Parameters, result and errors are those of `jacrev`. The mode is decided from the sizes of the
    arguments and of the output, which `eval_shape` finds without computing; with `allow_int` it
    is reverse mode.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.jacobian(np.sin)(np.zeros(2))
    array([[1., 0.],
           [0., 1.]])
    """

    _chunk(chunk_size, "jacobian")
    given = (f, argnums, has_aux, holomorphic)

    @transformed(jacobian, *given, allow_int, chunk_size=chunk_size)
    @boundary
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if allow_int:
            return jacrev(*given, allow_int, chunk_size=chunk_size)(*args, **kwargs)
        mode = _mode(f, argnums, has_aux, args, kwargs, "jacobian")
        return mode(*given, chunk_size=chunk_size)(*args, **kwargs)

    return wrapped


def _mode(
    f: Function, argnums: Any, has_aux: bool, args: Sequence[Any], kwargs: Any, what: str
) -> Any:
    """`jacfwd` or `jacrev`, whichever needs fewer passes."""
    wanted = select(argnums, args, f, what)
    types = [type_of(x) for k in wanted for x in leaves_of(args[k], (k, f))[0]]
    try:
        out = eval_shape(lambda *xs: _alone_of(f(*xs, **kwargs), has_aux), *args)
    except Exception:  # a Python branch on a value: reverse mode works all the same
        return jacrev
    outputs = [ArrayType(s.shape, s.dtype) for s in tree.leaves(out)]
    if not all(is_inexact(t.dtype) for t in outputs):
        return jacrev  # which tells
    return jacfwd if sum(t.size for t in types) <= sum(t.size for t in outputs) else jacrev


def _alone_of(out: Any, has_aux: bool) -> Any:
    return out[0] if has_aux else out


def hessian(
    f: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    chunk_size: int | None = None,
) -> Callable[P, Any]:
    """The Hessian of a scalar function, forward over reverse.

    Of a function with as many outputs as elements to differentiate, or more, it is forward over
    forward: there as in `jacobian` the sizes decide.

    Parameters
    ----------
    f : callable
        Returns a scalar; of a function that returns arrays it is the Hessian of each element.
    argnums : int or sequence of int, optional
        The argument(s) to differentiate.
    has_aux, holomorphic, chunk_size : optional
        As of `jacrev`; of a chunk the columns are computed at a time.

    Returns
    -------
    callable
        Its result has the tree of the argument, and in each leaf that tree again, with arrays of
        shape ``argument.shape + argument.shape`` (behind the shape of the output).

    Raises
    ------
    InputTypeError
        An argument to be differentiated holds integers or bools.

    See Also
    --------
    hvp : the product with one vector, without the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.hessian(lambda x: x[0] * x[1] ** 2)(np.array([1.0, 2.0]))
    array([[0., 4.],
           [4., 2.]])
    """
    _chunk(chunk_size, "hessian")
    given = (argnums, has_aux, holomorphic)

    @transformed(hessian, f, *given, chunk_size=chunk_size)
    @boundary
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        first = _mode(f, argnums, has_aux, args, kwargs, "hessian")(f, *given)
        return jacfwd(first, *given, chunk_size=chunk_size)(*args, **kwargs)

    return wrapped
