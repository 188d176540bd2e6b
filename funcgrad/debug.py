"""Where NaN and infinities come from: `nans` and `infs`, for a block or a function.

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

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from funcgrad.core.tracer import running, uncompiled

__all__ = ["infs", "nans"]


def nans() -> contextlib.AbstractContextManager[None]:
    """A block, or a decorator, in which an operation that makes a NaN raises.

    Eagerly, NumPy's error comes at the line of the operation. A backward pass names the operation
    whose derivative made the NaN, and its line. Compiled functions run operation by operation and
    name the line, too.

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
