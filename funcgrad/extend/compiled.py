"""`from_numba`: functions of `numba.njit` as operations that every transform knows."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.compile.scalars import Resolved, by_loop
from funcgrad.core.forms import elementwise, explicit
from funcgrad.core.forms.elementwise import Pointwise
from funcgrad.core.primitive import PRIMITIVES, Samples
from funcgrad.errors import NotDifferentiableError, located
from funcgrad.extend.body import DECLARED, body_of, is_dispatcher, traced
from funcgrad.transforms.jvp import jvp as push

__all__ = ["from_numba"]

Function = Callable[..., Any]


def from_numba(
    function: Any,
    derivatives: Sequence[Any] | None = None,
    *,
    elementwise: bool | None = None,
    vjp: Any = None,
    jvp: Function | None = None,
    signature: str | None = None,
    type_rule: Function | None = None,
    multiple: bool = False,
    name: str | None = None,
    sample: Samples | None = None,
) -> Any:
    """A function of `numba.njit` as an operation: differentiated, mapped and staged like any other.

    Parameters
    ----------
    function : dispatcher
        A function decorated with `numba.njit`: of numbers, or of whole arrays.
    derivatives : sequence of float or callable, optional
        Of a function of numbers: for each argument the partial derivative, a number or a function
        of the arguments. That may be compiled too, have declared derivatives of its own by
        `from_numba`, or be written with operations (``np.cos(x) * y``). Second derivatives are the
        derivatives of these.
    elementwise : bool, optional
        The function takes numbers and is applied to each element of arrays that broadcast. This is
        so where `derivatives` are given; without them the partial derivatives are those of the
        Python body, which has to be free of branches on its arguments unless these are numbers.
    vjp, jvp, signature, type_rule, multiple
        Of a function of whole arrays: its rules, as `explicit` takes them. Rules may be compiled
        functions. With a signature `function` gets arrays without the leading axes.
    name : str, optional
        Its name in graphs, for people alone; by default made of that of the function.
    sample : callable, optional
        The samples that tests are made from; see `Sample`.

    Returns
    -------
    callable
        The operation. Its attribute `njit` is `function`. With neither `derivatives` nor rules nor
        `elementwise` it calls the compiled code, and on traced values the Python body, in which
        `math`, NumPy and other compiled functions stand for what can be traced; one that was
        declared here stands for its operation.

    Raises
    ------
    TypeError
        `function` is no dispatcher, or the number of derivatives, or that of the arguments of one
        of them, is not that of its arguments.

    Notes
    -----
    In compiled graphs the code of a function of numbers is inlined into the kernels, so that they
    stay fused. Exceptions that it raises come out of `jit` as they come out of NumPy.

    Examples
    --------
    >>> import numba
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.extend import from_numba
    >>> @numba.njit
    ... def bump(x, width):
    ...     return np.exp(-((x / width) ** 2)) if abs(x) < 5 * width else 0.0
    >>> @numba.njit
    ... def slope(x, width):
    ...     return -2.0 * x / width**2 * bump(x, width)
    >>> f = from_numba(bump, [slope, lambda x, w: 2.0 * x**2 / w**3 * f(x, w)])
    >>> fg.grad(lambda x: np.sum(f(x, 2.0)))(np.array([0.0, 1.0, 20.0]))
    array([-0.        , -0.38940039, -0.        ])
    >>> fg.jit(fg.grad(fg.grad(f)))(0.0, 2.0)
    np.float64(-0.5)
    """
    if not is_dispatcher(function):
        raise TypeError(
            located(f"from_numba takes a function decorated with numba.njit, not {function!r}")
        )
    inner = function.py_func
    title = name or _free_name(f"numba.{inner.__module__}.{inner.__qualname__}")
    rules = {"vjp": vjp, "jvp": jvp, "signature": signature, "type_rule": type_rule}
    if derivatives is not None or elementwise:
        if any(r is not None for r in rules.values()):
            raise TypeError(located(f"{title}: rules of whole arrays exclude derivatives"))
        made = _pointwise(function, derivatives, title, sample)
    elif vjp is not None or jvp is not None:
        made = _whole(function, title, sample, multiple, rules)
    else:
        made = _followed(function)
    made.njit = function
    if derivatives is not None or vjp is not None or jvp is not None:
        DECLARED[function] = made
    return made


def _free_name(wanted: str) -> str:
    """A name that no primitive has."""
    names = itertools.chain([wanted], (f"{wanted}.{k}" for k in itertools.count(2)))
    return next(n for n in names if n not in PRIMITIVES)


# -------------------------------------------------------------------------- elementwise


class CompiledPointwise(Pointwise):
    """A compiled function of numbers, in the place of a ufunc."""

    def __init__(self, function: Any, nin: int, title: str) -> None:
        super().__init__(function, nin)
        self.__name__ = title
        self.ufuncs: dict[tuple[Any, ...], np.ufunc] = {}

    def __call__(self, *xs: Any) -> Any:
        dtypes = self.chosen([type(x) if type(x) in (int, float, complex) else _dtype(x)
                              for x in xs])  # fmt: skip
        ufunc = self.ufuncs.get(dtypes)
        if ufunc is None:
            from funcgrad.compile.numba.scalars import ufunc_of

            ufunc = self.ufuncs[dtypes] = ufunc_of(self.function, dtypes)
        return ufunc(*(np.asarray(x, d) for x, d in zip(xs, dtypes, strict=True)))

    def chosen(self, given: Sequence[Any]) -> tuple[np.dtype[Any], ...]:
        """The dtypes in which it computes; Python's numbers follow the others."""
        strong = [d for d in given if not isinstance(d, type)]
        common = np.result_type(*strong) if strong else None
        return tuple(
            (np.dtype(d) if common is None else np.result_type(d(0), common))
            if isinstance(d, type)
            else d
            for d in given
        )

    def resolve_dtypes(self, dtypes: Sequence[Any]) -> tuple[Any, ...]:
        from funcgrad.compile.numba.scalars import compiled

        chosen = self.chosen(tuple(dtypes[: self.nin]))
        return (*chosen, compiled(self.function, chosen).result)

    def in_kernels(self, loop: tuple[str, ...], _: frozenset[str]) -> Resolved | None:
        """How compiled graphs call the code for operands of these dtypes."""
        from funcgrad.compile.numba.scalars import compiled

        foreign = compiled(self.function, tuple(map(np.dtype, loop))).foreign
        if foreign is None:
            return None
        call = lambda w, *xs: w(foreign.symbol, *xs, dtype=foreign.result)
        return Resolved(foreign.operands, call)


def _dtype(x: Any) -> np.dtype[Any]:
    return x.dtype if isinstance(x, np.ndarray | np.generic) else np.asarray(x).dtype


def _pointwise(
    function: Any, derivatives: Sequence[Any] | None, title: str, sample: Samples | None
) -> Any:
    count = function.py_func.__code__.co_argcount
    if derivatives is None:
        derivatives = [_followed_partial(function, k) for k in range(count)]
    elif len(derivatives) != count:
        raise TypeError(
            located(
                f"{title} has {count} arguments and {len(derivatives)} derivatives were declared; "
                "declare one for each, 0 where nothing passes"
            )
        )
    names = (_free_name(f"{title}.d{k}") for k in range(count))
    partials = [_partial(d, count, n, sample) for d, n in zip(derivatives, names, strict=True)]
    ufunc = CompiledPointwise(function, count, title)
    made = elementwise(ufunc, *partials, name=title, sample=sample)
    by_loop(made.primitive, ufunc.in_kernels)  # type: ignore[attr-defined]
    return made


def _partial(d: Any, count: int, title: str, sample: Samples | None) -> Any:
    """A declared derivative as a rule: of the output, which it does not ask for, and the operands.

    A compiled one becomes an operation itself, whose derivatives are those of its body.
    """
    if not callable(d):
        return float(d)
    _check_count(d, count, title)
    if is_dispatcher(d):
        d = from_numba(d, elementwise=True, name=title, sample=sample)
    names = ", ".join(f"x{k}" for k in range(count))
    known = {"d": d}
    exec(f"def partial(_, {names}):\n    return d({names})\n", known)  # rules are read by name
    return known["partial"]


def _check_count(rule: Any, count: int, title: str) -> None:
    """Raise if a derivative cannot be called with as many arguments."""
    try:
        signature = inspect.signature(getattr(rule, "py_func", rule))
    except (TypeError, ValueError):  # of a builtin
        return
    try:
        signature.bind(*range(count))
    except TypeError:
        raise TypeError(
            located(
                f"{title}: a derivative takes {signature}, but the function has {count} "
                f"argument{'s' * (count != 1)}; a derivative takes the same ones"
            )
        ) from None


def _followed_partial(function: Any, k: int) -> Function:
    """The partial derivative of a body: its tangent, because elements do not meet."""

    def partial(*xs: Any) -> Any:
        def of_one(x: Any) -> Any:
            return body_of(function)(*xs[:k], x, *xs[k + 1 :])

        try:
            return push(of_one, (xs[k],), (np.ones(np.shape(xs[k]), _tangent_dtype(xs[k])),))[1]
        except ValueError as error:
            if "truth value" not in str(error):
                raise
            raise NotDifferentiableError(
                located(
                    f"{function.py_func.__name__} branches on its arguments, so its body cannot be "
                    "followed for arrays; declare its derivatives: from_numba(f, [df_dx, …])"
                )
            ) from error

    return partial


def _tangent_dtype(x: Any) -> Any:
    return np.result_type(getattr(x, "dtype", type(x)), np.float32 if _narrow(x) else np.float64)


def _narrow(x: Any) -> bool:
    return getattr(x, "dtype", None) == np.float32


# ------------------------------------------------------------------------- whole arrays


def _followed(function: Any) -> Any:
    """The compiled function, and its body where something is traced."""

    @functools.wraps(function.py_func)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(map(traced, args)) or any(map(traced, kwargs.values())):
            return body_of(function)(*args, **kwargs)
        return function(*args, **kwargs)

    return call


def _whole(
    function: Any, title: str, sample: Samples | None, multiple: bool, rules: dict[str, Any]
) -> Any:
    vjp, jvp = rules["vjp"], rules["jvp"]
    count = function.py_func.__code__.co_argcount
    for rule in vjp if vjp is not None and not callable(vjp) else ():
        if rule is not None:
            _check_vjp(rule, count, title)
    if vjp is not None:
        vjp = _rule(vjp) if callable(vjp) else [None if r is None else _rule(r) for r in vjp]
    signature = rules["signature"]
    impl = function if signature is None else _lanes(function, signature, multiple)
    return explicit(
        title,
        impl,
        type_rule=rules["type_rule"],
        signature=signature,
        vjp=vjp,
        jvp=None if jvp is None else _rule(jvp),
        multiple=multiple,
        sample=sample,
    )


def _check_vjp(rule: Any, count: int, title: str) -> None:
    """Raise if a rule of whole arrays cannot be called with (g, y, *operands)."""
    plain = getattr(rule, "py_func", rule)
    try:
        signature = inspect.signature(plain)
    except (TypeError, ValueError):
        return
    free = [p for p in signature.parameters.values() if p.kind is not p.KEYWORD_ONLY]
    if any(p.kind is p.VAR_POSITIONAL for p in free):
        return
    needed = [p for p in free if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    if not len(needed) <= count + 2 <= len(free):
        raise TypeError(
            located(
                f"{title}: a rule of vjp takes {signature}, but is called with the cotangent, the "
                f"output and {count} operand{'s' * (count != 1)}"
            )
        )


def _rule(rule: Any) -> Any:
    return _followed(rule) if is_dispatcher(rule) else rule


def _lanes(function: Any, signature: str, multiple: bool) -> Function:
    """The function over the leading axes that a signature leaves open."""
    inner = [core.count(",") + 1 if core.strip(" ()") else 0
             for core in signature.split("->")[0].replace("),", ")|").split("|")]  # fmt: skip

    def impl(*xs: Any) -> Any:
        xs = tuple(map(np.asarray, xs))
        leads = [x.shape[: x.ndim - n] for x, n in zip(xs, inner, strict=True)]
        lead = np.broadcast_shapes(*leads)
        if not lead:
            return function(*xs)
        wide = [np.broadcast_to(x, lead + x.shape[x.ndim - n :])
                for x, n in zip(xs, inner, strict=True)]  # fmt: skip
        found = [function(*(x[i] for x in wide)) for i in np.ndindex(*lead)]
        if not multiple:
            return np.stack(found).reshape(lead + np.shape(found[0]))
        return tuple(
            np.stack(each).reshape(lead + np.shape(each[0])) for each in zip(*found, strict=True)
        )

    return impl
