"""What programs written for JAX say of devices: there is one, and results are there at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from funcgrad.errors import located

__all__ = [
    "block_until_ready",
    "device_get",
    "device_put",
    "effects_barrier",
    "platform_dependent",
]

R = TypeVar("R")
T = TypeVar("T")


def device_put(
    x: T, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None
) -> T:
    """`x`: arrays lie in the memory of the one device.

    Parameters
    ----------
    x : tree of arrays
    device, src, donate, may_alias
        Accepted for JAX's sake.

    Returns
    -------
    tree of arrays
        The very same one: no copy is made. It is differentiated as it is.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: fg.device_put(x) ** 2)(3.0)
    np.float64(6.0)
    """
    return x


def device_get(x: T) -> T:
    """`x`, a tree of arrays: they are NumPy's wherever they come from.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.device_get({"loss": fg.jit(lambda x: x * x)(3.0)})
    {'loss': 9.0}
    """
    return x


def block_until_ready(x: T) -> T:
    """`x`, a tree of arrays: what a call returns is computed when it returns.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.block_until_ready(fg.jit(lambda x: x * x)(3.0))
    9.0
    """
    return x


def effects_barrier() -> None:
    """Nothing: effects have happened when the call that has them returns.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.jit(lambda x: fg.debug.print("{}", x))(3.0)
    3.0
    >>> fg.effects_barrier()
    """


def platform_dependent(
    *args: Any, default: Callable[..., R] | None = None, **per_platform: Callable[..., R]
) -> R:
    """``cpu(*args)``, of the functions that are given for each platform, or ``default(*args)``.

    Raises
    ------
    NotImplementedError
        There is neither.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.platform_dependent(0.0, cpu=np.cos, default=np.sin)
    np.float64(1.0)
    """
    chosen = per_platform.get("cpu", default)
    if chosen is None:
        raise NotImplementedError(
            located(
                "platform_dependent: there is a CPU only; give cpu=, or a default= beside "
                f"{', '.join(sorted(per_platform)) or 'nothing'}"
            )
        )
    return chosen(*args)
