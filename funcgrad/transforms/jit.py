"""`jit`: a function traced once for each kind of arguments, and run from its graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, overload

from funcgrad.errors import located
from funcgrad.transforms.arguments import positions
from funcgrad.transforms.jitted import Jitted
from funcgrad.transforms.signatures import Compiled, Compiler, P, R
from funcgrad.transforms.static import Donated, Static

__all__ = ["jit"]

Function = Callable[..., Any]


@overload
def jit(
    f: Callable[P, R],
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    donate_argnames: str | Sequence[str] = (),
    keep_unused: bool = False,
    inline: bool = False,
) -> Compiled[P, R]: ...
@overload
def jit(
    f: None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    donate_argnames: str | Sequence[str] = (),
    keep_unused: bool = False,
    inline: bool = False,
) -> Compiler: ...
def jit(
    f: Function | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    donate_argnames: str | Sequence[str] = (),
    keep_unused: bool = False,
    inline: bool = False,
) -> Any:
    """`f` traced to a graph for each kind of arguments, and run from the graph.

    Parameters
    ----------
    f : callable
        A pure function of trees of arrays. It is called once for each combination of tree,
        shapes, dtypes and static values, on abstract arrays.
    static_argnums, static_argnames : optional
        Arguments that are hashable constants: another value traces anew.
    donate_argnums, donate_argnames : optional
        Arguments whose memory may be used for results of the same shape and dtype: their arrays
        are then written into and returned, and a loop ``state = step(state)`` needs no second
        state. What they held before is lost, also if the call is interrupted. A donated array
        that shares memory with another argument is left as it is.
    keep_unused, inline : bool, optional
        Accepted for JAX's sake: unused arguments cost nothing, and what is jitted within a jitted
        function is compiled together with it.

    Returns
    -------
    callable
        With the methods ``lower(*args)``, which traces ahead of the first call, ``show(*args)``,
        which returns the graph and all that was made of it as text, ``explain(*args)``, which says
        what runs together and what does not, and ``report()``, which says why it was traced each
        time. Arrays that `f` takes from its closure, globals or object are looked at on every call,
        never baked in.

    Raises
    ------
    AbstractValueError
        `f` branches on a traced value; the message names the line.

    Notes
    -----
    Side effects of `f` happen while it is traced, not on every call. Where it draws random numbers,
    it is traced anew at every call, with a warning: draw outside. A mask may select another
    number of elements on another call: `f` is then traced anew, once for each number. A result
    without axes is a NumPy scalar, also where `f` itself gives an array. Of a method, and of static
    arguments, the objects are looked at as captures are. There are no floating point warnings.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.jit(fg.grad(lambda x: np.sum(x**2)))(np.array([1.0, 2.0]))
    array([2., 4.])
    >>> step = fg.jit(lambda w, g: w - 0.5 * g, donate_argnums=0)
    >>> w = np.array([1.0, 2.0])
    >>> step(w, np.array([1.0, 1.0])) is w
    True
    """
    static = positions(static_argnums, "jit: static_argnums"), _names("static", static_argnames)
    donated = positions(donate_argnums, "jit: donate_argnums"), _names("donate", donate_argnames)

    def make(g: Any) -> Jitted:
        if not callable(g) and not isinstance(g, staticmethod):
            raise TypeError(located(f"jit: {g!r} is no function"))
        return Jitted(g, Static(g, *static), Donated(g, *donated))

    return make if f is None else make(f)


def _names(what: str, given: str | Sequence[str]) -> tuple[str, ...]:
    names = given if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(located(f"jit: {what}_argnames must be names, not {name!r}"))
    return tuple(names)
