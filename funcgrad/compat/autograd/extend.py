"""autograd's interface for rules: `primitive`, `defvjp`, `defjvp` and their kin.

The function of a primitive sees plain values only; its rule for reverse mode becomes that of a
`custom_vjp`, its rule for forward mode that of a `custom_jvp`, and a mode without a rule is derived
from the other.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from funcgrad import tree
from funcgrad.compat.autograd.tracer import Box, notrace_primitive
from funcgrad.compat.autograd.vspace import VSpace, vspace
from funcgrad.core.tracer import Operand
from funcgrad.errors import CustomRuleError, NotDifferentiableError, UnsupportedCallError, located
from funcgrad.transforms.custom import custom_jvp, custom_vjp

__all__ = [
    "Box",
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "notrace_primitive",
    "primitive",
    "vspace",
]

Function = Callable[..., Any]


class _Rules:
    """What was stated of a primitive: makers as `defvjp_argnums` and `defjvp_argnums` take them."""

    vjp: Function | None = None
    jvp: Function | None = None


def primitive(f_raw: Function) -> Function:
    """A function whose derivatives are stated by `defvjp` or `defjvp`.

    Parameters
    ----------
    f_raw : callable
        It is called with plain arrays and numbers, never with traced ones, so it may be anything.

    Returns
    -------
    callable
        Positional arguments may be traced. Named ones are constants of the rules.

    Raises
    ------
    NotDifferentiableError
        A traced argument, and no rule for it.
    CustomRuleError
        A named argument is traced.

    Examples
    --------
    >>> import funcgrad.compat.autograd.numpy as np
    >>> from funcgrad.compat.autograd import grad
    >>> from funcgrad.compat.autograd.extend import defvjp, primitive
    >>> @primitive
    ... def logsumexp(x):
    ...     return np.max(x) + np.log(np.sum(np.exp(x - np.max(x))))
    >>> defvjp(logsumexp, lambda ans, x: lambda g: g * np.exp(x - ans))
    >>> grad(logsumexp)(np.zeros(4))
    array([0.25, 0.25, 0.25, 0.25])
    """
    rules = _Rules()

    @functools.wraps(f_raw)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        places = tuple(k for k, a in enumerate(args) if _traced(a))
        if named := [name for name, a in kwargs.items() if _traced(a)]:
            raise CustomRuleError(
                located(
                    f"{_name(wrapped)}: the rules of a primitive are for positional arguments, and "
                    f"{named[0]!r} is traced; give it by position"
                )
            )
        if not places:
            return f_raw(*args, **kwargs)
        return _differentiated(wrapped, rules, args, kwargs, places)

    wrapped.fun = f_raw  # type: ignore[attr-defined]
    wrapped.rules = rules  # type: ignore[attr-defined]
    return wrapped


def _traced(x: Any) -> bool:
    if isinstance(x, (list, tuple, dict)):
        return any(isinstance(leaf, Operand) for leaf in tree.leaves(x))
    return isinstance(x, Operand)


def _name(f: Function) -> str:
    return str(getattr(f, "__name__", f))


def _differentiated(
    wrapped: Function, rules: _Rules, args: Sequence[Any], kwargs: Any, places: tuple[int, ...]
) -> Any:
    """A call with traced arguments at `places`, as an operation with the rules stated."""
    if rules.vjp is None and rules.jvp is None:
        raise NotDifferentiableError(
            located(f"{_name(wrapped)} has no derivative: state it with defvjp or defjvp")
        )

    def whole(chosen: Sequence[Any]) -> list[Any]:
        given = list(args)
        for k, x in zip(places, chosen, strict=True):
            given[k] = x
        return given

    def value(*chosen: Any) -> Any:
        return wrapped(*whole(chosen), **kwargs)

    def saving(*chosen: Any) -> tuple[Any, Any]:
        ans = value(*chosen)
        return ans, (ans, chosen)

    def pull(saved: Any, g: Any) -> tuple[Any, ...]:
        assert rules.vjp is not None
        ans, chosen = saved
        return tuple(rules.vjp(places, ans, whole(chosen), kwargs)(g))

    def push(chosen: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        assert rules.jvp is not None
        ans = value(*chosen)
        return ans, rules.jvp(places, tangents, ans, whole(chosen), kwargs)

    def lowest(*chosen: Any) -> Any:
        if any(map(_traced, chosen)):
            raise UnsupportedCallError(
                located(
                    f"the function of the primitive {_name(wrapped)} is called with plain values, "
                    "and there are none while jit records a program; write it as an operation of "
                    "funcgrad.extend"
                )
            )
        return value(*chosen)

    lowest.__qualname__ = _name(wrapped)
    operation: Any = custom_jvp(lowest) if rules.vjp is None else custom_vjp(lowest)
    operation.single = True
    if rules.vjp is None:
        operation.defjvp(push)
    else:
        operation.defvjp(saving, pull, push if rules.jvp else None)
    return operation(*[args[k] for k in places])


def _rules_of(fun: Function) -> _Rules:
    rules = getattr(fun, "rules", None)
    if not isinstance(rules, _Rules):
        raise CustomRuleError(
            located(
                f"{_name(fun)} is no primitive of the user's, and has derivatives of its own; "
                "wrap it with primitive to state others"
            )
        )
    return rules


def _undefined(fun: Function, what: str, argnum: int) -> NotDifferentiableError:
    return NotDifferentiableError(
        located(f"the {what} of {_name(fun)} with respect to argument {argnum} is not defined")
    )


# ------------------------------------------------------------------------------ reverse mode


def defvjp_argnums(fun: Function, vjpmaker: Function) -> None:
    """``vjpmaker(argnums, ans, args, kwargs)`` returns a function of the cotangent of `ans`, that
    gives one cotangent for each of `argnums`."""
    _rules_of(fun).vjp = vjpmaker


def defvjp_argnum(fun: Function, vjpmaker: Function) -> None:
    """``vjpmaker(argnum, ans, args, kwargs)`` returns a function of the cotangent of `ans`."""

    def make(argnums: Sequence[int], *given: Any) -> Function:
        vjps = [vjpmaker(k, *given) for k in argnums]
        return lambda g: tuple(vjp(g) for vjp in vjps)

    defvjp_argnums(fun, make)


def defvjp(
    fun: Function, *vjpmakers: Function | None, argnums: Iterable[int] | None = None
) -> None:
    """State the rule of a primitive for reverse mode.

    Parameters
    ----------
    fun : callable
        Made by `primitive`.
    *vjpmakers : callable or None
        One for each argument: ``vjpmaker(ans, *args, **kwargs)`` returns a function of the
        cotangent of `ans`. None says that the derivative is zero.
    argnums : iterable of int, optional
        The arguments they are for; all from the first on if it is left out.
    """
    makers = dict(zip(argnums or itertools.count(), vjpmakers, strict=False))

    def one(argnum: int, ans: Any, args: Any, kwargs: Any) -> Function:
        if argnum not in makers:
            raise _undefined(fun, "VJP", argnum)
        maker = makers[argnum]
        found: Function = (lambda g: None) if maker is None else maker(ans, *args, **kwargs)
        return found

    defvjp_argnum(fun, one)


# ------------------------------------------------------------------------------ forward mode


def defjvp_argnums(fun: Function, jvpmaker: Function) -> None:
    """``jvpmaker(argnums, tangents, ans, args, kwargs)`` returns the tangent of `ans`."""
    _rules_of(fun).jvp = jvpmaker


def defjvp_argnum(fun: Function, jvpmaker: Function) -> None:
    """``jvpmaker(argnum, tangent, ans, args, kwargs)`` returns what one argument adds."""

    def make(argnums: Sequence[int], tangents: Sequence[Any], ans: Any, *given: Any) -> Any:
        moved = [jvpmaker(k, t, ans, *given) for k, t in zip(argnums, tangents, strict=True)]
        space = vspace(ans)
        there = [t for t in moved if t is not None]
        return functools.reduce(space.add, there) if there else space.zeros()

    defjvp_argnums(fun, make)


def defjvp(
    fun: Function, *jvpfuns: Function | str | None, argnums: Iterable[int] | None = None
) -> None:
    """State the rule of a primitive for forward mode.

    Parameters
    ----------
    fun : callable
        Made by `primitive`.
    *jvpfuns : callable, "same" or None
        One for each argument: ``jvpfun(tangent, ans, *args, **kwargs)`` returns what it adds to the
        tangent of `ans`. "same" says that `fun` is linear in it, None that the derivative is zero.
    argnums : iterable of int, optional
        The arguments they are for; all from the first on if it is left out.
    """
    stated = dict(zip(argnums or itertools.count(), jvpfuns, strict=False))

    def one(argnum: int, t: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        if argnum not in stated:
            raise _undefined(fun, "JVP", argnum)
        rule = stated[argnum]
        if rule is None:
            return None
        if callable(rule):
            return rule(t, ans, *args, **kwargs)
        if rule != "same":
            raise CustomRuleError(located(f"the JVP of {_name(fun)} is {rule!r}, which is no rule"))
        return fun(*[t if k == argnum else a for k, a in enumerate(args)], **kwargs)

    defjvp_argnum(fun, one)


def def_linear(fun: Function) -> None:
    """State that a primitive is linear in each of its arguments."""

    def same(argnum: int, t: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        return fun(*[t if k == argnum else a for k, a in enumerate(args)], **kwargs)

    defjvp_argnum(fun, same)
