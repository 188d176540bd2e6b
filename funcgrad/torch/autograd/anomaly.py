"""Anomaly mode: errors of a backward pass name the line of the forward pass."""

from __future__ import annotations

import pathlib
import traceback
import warnings
from typing import Any, NamedTuple, Self

import funcgrad
from funcgrad.errors import outside
from funcgrad.torch.graph_task import current_node
from funcgrad.torch.modes import Mode, modes
from funcgrad.torch.root import TRACEBACK

__all__ = [
    "detect_anomaly",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "set_anomaly_enabled",
    "set_detect_anomaly",
]

PACKAGE = str(pathlib.Path(funcgrad.__file__).parent)


class ForwardCall(NamedTuple):
    """Where the program was when a node was made, and the node whose backward pass made it."""

    stack: str
    parent: Any


def _forward_call() -> ForwardCall:
    frames = [f for f in traceback.extract_stack() if not f.filename.startswith(PACKAGE)]
    return ForwardCall("".join(traceback.format_list(frames)), current_node())


TRACEBACK.append(_forward_call)


class detect_anomaly(Mode):
    """While it holds, operations remember their line, and NaN in a backward pass is an error.

    Parameters
    ----------
    check_nan : bool
        Whether a gradient with a NaN raises.

    Notes
    -----
    A `UserWarning` shows the traceback of the call in the forward pass that made the node in which
    the error occurred; in a pass through a backward pass also that of the call before it.

    Examples
    --------
    >>> import funcgrad.torch as torch, warnings
    >>> x = torch.tensor(-1.0, requires_grad=True)
    >>> with warnings.catch_warnings(), torch.autograd.detect_anomaly():
    ...     warnings.simplefilter("ignore")
    ...     try:
    ...         torch.sqrt(x).backward()
    ...     except RuntimeError as error:
    ...         print(error)
    Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=outside(),
        )

    def clone(self) -> Self:
        made = object.__new__(type(self))
        made.check_nan = self.check_nan
        return made

    def __enter__(self) -> None:
        self.before = modes.anomaly, modes.check_nan
        modes.anomaly, modes.check_nan = True, self.check_nan

    def __exit__(self, *_: object) -> None:
        modes.anomaly, modes.check_nan = self.before


class set_detect_anomaly(Mode):
    """Switches anomaly mode: at once as a function, or until the end of a ``with`` block.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> with torch.autograd.set_detect_anomaly(True):
    ...     print(torch.is_anomaly_enabled())
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.mode, self.check_nan = mode, check_nan
        self.before = modes.anomaly, modes.check_nan
        modes.anomaly, modes.check_nan = mode, check_nan

    def clone(self) -> Self:
        return type(self)(self.mode, self.check_nan)

    def __enter__(self) -> None:
        modes.anomaly, modes.check_nan = self.mode, self.check_nan

    def __exit__(self, *_: object) -> None:
        modes.anomaly, modes.check_nan = self.before


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode holds in this thread."""
    return modes.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for NaN."""
    return modes.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly mode of this thread, as `set_detect_anomaly` does when it is called.

    Raises
    ------
    TypeError
        What is no bool.
    """
    for k, (what, given) in enumerate([("enabled", enabled), ("check_nan", check_nan)]):
        if type(given) is not bool:
            raise TypeError(
                f"set_anomaly_enabled(): argument '{what}' (position {k + 1}) must be bool, not "
                f"{type(given).__name__}"
            )
    modes.anomaly, modes.check_nan = enabled, check_nan
