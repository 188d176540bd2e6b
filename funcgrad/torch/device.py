"""Devices: there is the CPU, and an error for every other."""

from __future__ import annotations

from typing import Any

__all__ = [
    "channels_last", "channels_last_3d", "check_device", "contiguous_format", "device",
    "kind_of_device", "layout", "memory_format", "preserve_format", "strided",
]  # fmt: skip


class device:
    """Where a tensor lives.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.device("cpu")
    device(type='cpu')
    """

    __slots__ = ("index", "type")
    type: str
    index: int | None

    def __init__(self, type: Any, index: int | None = None) -> None:
        given: Any = type
        if isinstance(given, device):
            given, index = given.type, given.index
        if given == "":
            raise RuntimeError("Device string must not be empty")
        name, colon, number = str(given).partition(":")
        if (colon and not number.isdecimal()) or not name:
            raise RuntimeError(f"Invalid device string: {str(given)!r}")
        self.type = name
        self.index = int(number) if number else index

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


CPU = device("cpu")
KNOWN = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia",
    "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip


def kind_of_device(where: Any) -> str:
    """The kind of a device; PyTorch's error for a name that it does not know."""
    name = device(where).type
    if name not in KNOWN:
        raise RuntimeError(
            f"Expected one of {', '.join(KNOWN)} device type at start of device string: {name}"
        )
    return name


def check_device(where: Any) -> None:
    """Raise for any device but the CPU."""
    if where is None or where is CPU:
        return
    name = kind_of_device(where) if not isinstance(where, int) else "cuda"
    if name != "cpu":
        raise AssertionError(
            f"Torch not compiled with {name.upper()} enabled: funcgrad runs on the CPU only; "
            "leave the device out, or pass 'cpu'"
        )


class layout:
    """How the elements of a tensor lie in memory: there is ``strided``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class memory_format(layout):
    """The order of the dimensions in memory, where PyTorch lets one ask for it."""

    __slots__ = ()


strided = layout("strided")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
