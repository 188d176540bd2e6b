"""Looking into functions that are transformed, and at what goes wrong in them.

`print` and `callback` tell the values behind traced ones, wherever they are. For a block or a
function, `nans` and `infs` find where NaN and infinities come from, `leaks` traced values that are
kept, `check_mutation` arrays that are written into while they are needed.

Examples
--------
>>> import numpy as np
>>> import funcgrad as fg
>>> with fg.debug.nans():
...     fg.grad(lambda x: np.sqrt(x - 2.0))(1.0)
Traceback (most recent call last):
    ...
FloatingPointError: invalid value encountered in ...
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import string
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from funcgrad.core.boundary import boundary, publish
from funcgrad.core.leaks import Leaks
from funcgrad.core.mutation import Locks
from funcgrad.core.tracer import running, uncompiled
from funcgrad.core.watching import LINES
from funcgrad.errors import located
from funcgrad.transforms.callback import DEBUG, act, effect

__all__ = ["callback", "check_mutation", "infs", "leaks", "nans", "print"]


@boundary
def print(
    fmt: str,
    *args: Any,
    ordered: bool = True,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> None:
    """Print values where they are computed: in any transform, compiled or not.

    A line is printed each time that the program comes by: under `jit` at every call, in loops at
    every step, under `vmap` for every example, in a derivative once. A line without arguments, or
    whose arguments are the same for all examples, is one line under `vmap`. See `callback`.

    Parameters
    ----------
    fmt : str
        As of `str.format`; not an f-string, which would show what the function is traced with.
    *args, **kwargs
        What it prints: arrays, numbers, or anything else.
    ordered, partitioned : bool, optional
        Accepted for JAX's sake: lines always come in the order of the program.
    skip_format_check : bool, optional
        Whether `fmt` may leave arguments out.

    Raises
    ------
    ValueError
        `fmt` names not all of the arguments.

    Examples
    --------
    >>> import funcgrad as fg
    >>> @fg.jit
    ... def f(x):
    ...     y = x * x
    ...     fg.debug.print("x = {}, y = {y:.2f}", x, y=y)
    ...     return y
    >>> fg.grad(f)(3.0)
    x = 3.0, y = 9.00
    np.float64(6.0)
    """
    if not skip_format_check:
        _Checker().format(fmt, *args, **kwargs)
    act(DEBUG, "debug.print", _printer(fmt), None, args, kwargs)


class _Checker(string.Formatter):
    """Raises where a format and its arguments do not fit; of traced values there is no text."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return value

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [str(k) for k in range(len(args)) if k not in used_args]
        unused += [k for k in kwargs if k not in used_args]
        if unused:
            raise ValueError(
                located(
                    f"debug.print: the format does not name the arguments {', '.join(unused)}; "
                    "give it as 'x = {}', or 'x = {x}' with x=x, and not as an f-string"
                )
            )


@functools.lru_cache(256)
def _printer(fmt: str) -> Callable[..., None]:
    """The same function for the same format, so that equal prints of a loop are told."""

    def show(*args: Any, **kwargs: Any) -> None:
        builtins.print(fmt.format(*args, **kwargs))

    show.__name__ = show.__qualname__ = repr(fmt)
    return show


@effect
@boundary
def callback(
    callback: Callable[..., Any],
    *args: Any,
    ordered: bool = True,
    partitioned: bool = False,
    **kwargs: Any,
) -> None:
    """Call a function with the values behind traced ones; what it returns is dropped.

    It is an effect: nothing else of a program depends on it, and yet it happens, under `jit` at
    every call, in loops at every step, under `vmap` once for every example that comes by, in the
    order of the program. Derivatives call it once, with the values; what `checkpoint` computes
    again does not call it again. To see a cotangent, call it in the rule of a `custom_vjp`.

    Parameters
    ----------
    callback : callable
        Gets arrays that it may keep and cannot write into. What it raises leaves the program.
    *args, **kwargs
        Its arguments: trees of arrays; what is no array is handed to it as it is.
    ordered, partitioned : bool, optional
        Accepted for JAX's sake: calls always come in the order of the program.

    See Also
    --------
    funcgrad.io_callback : for functions of which something is returned.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> seen = []
    >>> def step(x, row):
    ...     fg.debug.callback(seen.append, x)
    ...     return x + row, None
    >>> fg.jit(lambda rows: fg.scan(step, 0.0, rows)[0])(np.arange(4.0))
    np.float64(6.0)
    >>> [float(x) for x in seen]
    [0.0, 0.0, 1.0, 3.0]
    """
    act(DEBUG, "debug.callback", callback, None, args, kwargs)


def nans() -> contextlib.AbstractContextManager[None]:
    """A block, or a decorator, in which an operation that makes a NaN raises.

    Eagerly, NumPy's error comes at the line of the operation. Derivatives, in reverse and forward
    mode, name the operation whose rule made the NaN, and its line. Compiled functions run operation
    by operation and name the line, too.

    Raises
    ------
    FloatingPointError
        When an operation makes a NaN; also in the branch that a `where` does not take.

    Notes
    -----
    It holds for the thread, or the task of asyncio, in which it was entered. Everything is slower.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> with fg.debug.nans():
    ...     fg.grad(lambda x: np.sqrt(x) ** 2)(0.0)
    Traceback (most recent call last):
    FloatingPointError: the derivative of sqrt has made ...
    """
    return _watching("NaN", {"invalid": "raise"})


def infs() -> contextlib.AbstractContextManager[None]:
    """A block, or a decorator, in which an operation that makes an infinity raises; see `nans`.

    In compiled gradients that may be an element that a `where` has not taken, and which counts for
    nothing.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> with fg.debug.infs():
    ...     fg.jit(lambda x: np.log(x))(0.0)
    Traceback (most recent call last):
        ...
    FloatingPointError: divide by zero encountered in ...
    """
    return _watching("an infinity", {"divide": "raise", "over": "raise"})


@contextlib.contextmanager
def leaks() -> Iterator[None]:
    """A block, or a decorator, in which a traced value that outlives its transform raises.

    Such a value, kept in a list, an attribute or a global variable, is an error as soon as somebody
    computes with it; here it is one when the transform ends, with the line that made it and what
    holds it. Functions made by `jit` are traced anew.

    Raises
    ------
    LeakedTracerError

    Notes
    -----
    It holds for the thread in which it was entered. Each transform takes the time of a garbage
    collection.

    Examples
    --------
    >>> import types
    >>> import funcgrad as fg
    >>> model = types.SimpleNamespace()
    >>> def loss(x):
    ...     model.last = 2.0 * x
    ...     return model.last * x
    >>> with fg.debug.leaks():
    ...     fg.grad(loss)(1.0)
    Traceback (most recent call last):
        ...
    funcgrad.errors.LeakedTracerError: a value traced by a gradient ... is still held by an ...
    """
    before = running.leaks
    running.leaks = Leaks()
    try:
        with _watching(LINES, {}):
            yield
    finally:
        running.leaks = before


@contextlib.contextmanager
def check_mutation() -> Iterator[None]:
    """A block, or a decorator, in which writing into an array that is still needed raises.

    Needed are the arrays that a gradient was asked by, or that its function used, until its
    backward pass has been done, and those that a function made by `jit` reaches, while it is
    traced (it is, at every call). They are locked meanwhile, so the error comes at the line that
    writes. Without such a block small arrays are copied, and that a large one has changed is found
    when its gradient is asked for.

    Raises
    ------
    MutatedCaptureError
        With the line that writes, or, where that was done through a view that was there before, the
        line at which the array was used.

    Notes
    -----
    It holds for the thread in which it was entered. When it ends, all arrays can be written into
    again.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> work = np.ones(2)
    >>> def f(x):
    ...     y = np.sum(x * work)
    ...     work[0] = 5.0
    ...     return y
    >>> with fg.debug.check_mutation():
    ...     fg.grad(f)(np.ones(2))
    Traceback (most recent call last):
        ...
    funcgrad.errors.MutatedCaptureError: an array is written into ...
    """
    before = running.locks
    locks = running.locks = Locks()
    try:
        with _watching(LINES, {}):
            yield
    except ValueError as error:
        locks.explain(error)
        raise
    finally:
        locks.release()
        running.locks = before


@contextlib.contextmanager
def _watching(what: str, settings: Any) -> Iterator[None]:
    before = running.watching
    running.watching = (*before, what)
    uncompiled.append(None)
    try:
        with np.errstate(**settings):
            yield
    finally:
        uncompiled.pop()
        running.watching = before


publish(__name__)
