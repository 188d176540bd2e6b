"""`const_graph`: a function that is traced once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from funcgrad.transforms.jit import jit

__all__ = ["const_graph"]


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """`fun` with its first arguments given, compiled by `funcgrad.jit`.

    Parameters
    ----------
    fun : callable
    *args, **kwargs
        Arguments that stay as they are.

    Examples
    --------
    >>> import funcgrad.compat.autograd.numpy as np
    >>> from funcgrad.compat.autograd.misc import const_graph
    >>> const_graph(lambda n, x: np.sin(x) * n, 2.0)(0.0)
    np.float64(0.0)
    """
    found: Callable[..., Any] = jit(functools.partial(fun, *args, **kwargs))
    return found
