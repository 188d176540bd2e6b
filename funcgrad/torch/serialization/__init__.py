"""`save` and `load`: files that PyTorch reads, and PyTorch's files; no code runs on loading.

A file is a ZIP archive with the structure as a pickle and the memory of each storage
as raw bytes, as PyTorch has it since version 1.6.
"""

from __future__ import annotations

import errno
import os
import pickle
import struct
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from funcgrad.core.bfloat16 import BFLOAT16, bits_of, from_bits
from funcgrad.torch.device import check_device
from funcgrad.torch.dtypes import bfloat16
from funcgrad.torch.serialization.names import StorageType
from funcgrad.torch.serialization.reader import Reader
from funcgrad.torch.serialization.writer import Writer
from funcgrad.torch.storage import UntypedStorage

__all__ = ["load", "save"]

File = str | os.PathLike[str] | BinaryIO


def save(
    obj: Any,
    f: File,
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write tensors, parameters, numbers and strings in plain containers to a file.

    Tensors that share memory do so after loading. PyTorch can load the file, too.

    Parameters
    ----------
    obj : object
        Of None, bool, int, float, complex, str, Tensor, Parameter, Size, dtype, device, and NumPy's
        arrays and numbers, in list, tuple, set, dict, OrderedDict, defaultdict and Counter;
        usually a `state_dict`.
    f : str, path or binary file
    pickle_module, pickle_protocol, _use_new_zipfile_serialization
        PyTorch's; without effect.

    Raises
    ------
    TypeError
        For anything else; the message says where it stands in `obj`.

    Examples
    --------
    >>> import io
    >>> import funcgrad.torch as torch
    >>> buffer = io.BytesIO()
    >>> torch.save({"w": torch.ones(2), "epoch": 3}, buffer)
    >>> _ = buffer.seek(0)
    >>> torch.load(buffer)
    {'w': tensor([1., 1.]), 'epoch': 3}
    """
    writer = Writer()
    data = writer.written(obj)
    root = Path(f).stem if isinstance(f, (str, os.PathLike)) else "archive"
    with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(f"{root}/data.pkl", data)
        archive.writestr(f"{root}/byteorder", sys.byteorder)
        for storage, (number, kind) in writer.storages.items():
            memory = storage.memory
            if kind is bfloat16:
                memory = bits_of(memory.view(BFLOAT16))
            archive.writestr(f"{root}/data/{number}", memory.tobytes())
        archive.writestr(f"{root}/version", "3\n")


def load(
    f: File,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read a file that `save`, or PyTorch's `save`, has written. No code runs.

    Parameters
    ----------
    f : str, path or binary file
    map_location : optional
        With ``"cpu"`` tensors that were on another device are loaded to the CPU.
    weights_only, pickle_module, mmap
        PyTorch's; without effect: a file is always read as with ``weights_only=True``.

    Returns
    -------
    object
        Tensors are leaves.

    Raises
    ------
    pickle.UnpicklingError
        What is no plain data (the name that is not allowed is told), or is damaged, or would take
        far more memory than the file.
    RuntimeError
        A file of another format, or tensors of another device without `map_location`.
    OSError
        There is no such file, or it cannot be read.
    """
    if map_location is not None and not callable(map_location):
        check_device(map_location if not isinstance(map_location, dict) else None)
    try:
        archive = zipfile.ZipFile(f)
    except DAMAGE as error:
        raise RuntimeError(
            "torch.load: the file is no ZIP archive; files that PyTorch wrote before version 1.6 "
            "cannot be read: load and save it with a newer PyTorch"
        ) from error
    with archive:
        return _Archive(archive, map_location is not None).read()


# What `zipfile` raises for an archive that somebody, or something, has changed.
DAMAGE = (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, EOFError, KeyError,
          RuntimeError, struct.error, zlib.error)  # fmt: skip
RATIO = 64  # times its size, to which a file may unpack; PyTorch's files are not compressed
SMALL = 64 << 20  # bytes to which any file may unpack


class _Archive:
    """An open archive and the storages that have been read from it."""

    def __init__(self, archive: zipfile.ZipFile, mapped: bool) -> None:
        self.archive, self.mapped = archive, mapped
        names = [n for n in archive.namelist() if n.endswith("/data.pkl")]
        if len(names) != 1:
            raise RuntimeError("torch.load: the archive has no data.pkl: it holds no tensors")
        self.root = names[0].removesuffix("data.pkl")
        self.storages: dict[str, tuple[UntypedStorage, Any]] = {}
        # What is left to be unpacked: parts of an archive may be compressed, or lie on each other.
        packed = sum(part.compress_size for part in archive.infolist())
        self.left = max(SMALL, RATIO * min(packed, _size(archive)))
        self.order = self.part("byteorder", 16).decode("ascii", "replace") or "little"
        if self.order not in ("little", "big"):
            raise pickle.UnpicklingError(f"the file is damaged: its byte order is {self.order!r}")

    def read(self) -> Any:
        return Reader(self.part("data.pkl"), self.storage).read()

    def part(self, name: str, size: int | None = None) -> bytes:
        """The content of a file of the archive; `size` is the most that it may have, or has."""
        name = f"{self.root}{name}"
        try:
            found = self.archive.getinfo(name)
        except KeyError:
            if name.endswith("byteorder"):  # PyTorch has it since 2.1
                return b""
            raise pickle.UnpicklingError(f"the file is damaged: {name} is missing") from None
        if size is not None and found.file_size > size:
            raise pickle.UnpicklingError(
                f"the file is damaged: {name} has {found.file_size} bytes instead of {size}"
            )
        if found.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise pickle.UnpicklingError(f"{name} is compressed in a way that is not supported")
        self.left -= found.file_size
        if self.left < 0:
            raise pickle.UnpicklingError(
                f"torch.load: {name} would unpack to {found.file_size} bytes, and the file to more "
                f"than {RATIO} times its size. torch.save does not compress: if you trust the "
                "file, unzip it and zip it again without compression (zip -0)"
            )
        try:
            return self.archive.read(found)
        except (*DAMAGE, OSError) as error:
            if (
                isinstance(error, OSError) and error.errno != errno.EINVAL
            ):  # a place before it begins
                raise
            raise pickle.UnpicklingError(f"the file is damaged: {name}: {error}") from error

    def storage(self, kind: StorageType, number: str, location: str, size: int) -> Any:
        """The storage of a number, with the dtype of its elements."""
        if location != "cpu" and not self.mapped:
            raise RuntimeError(
                f"Attempting to deserialize object on device {location!r}, but funcgrad runs on "
                "the CPU only. Please use torch.load with map_location='cpu' to map your storages "
                "to the CPU."
            )
        if number not in self.storages:
            raw = self.part(f"data/{number}", size * kind.dtype.itemsize)
            if len(raw) != size * kind.dtype.itemsize:
                raise pickle.UnpicklingError(
                    f"storage {number} has {len(raw)} bytes instead of {size * kind.dtype.itemsize}"
                )
            memory: Any = np.frombuffer(bytearray(raw), np.uint8)
            if self.order != sys.byteorder and kind.dtype.itemsize > 1:
                part = kind.dtype.to_real().itemsize
                memory = memory.view(f"u{part}").byteswap().view(np.uint8)
            if kind.dtype is bfloat16:  # four bytes an element in memory
                memory = from_bits(memory.view(np.uint16)).view(np.uint8)
            self.storages[number] = UntypedStorage(memory), kind.dtype
        found = self.storages[number]
        if found[1] is not kind.dtype:
            raise pickle.UnpicklingError(f"storage {number} is used with two dtypes")
        return found


def _size(archive: zipfile.ZipFile) -> int:
    """The size of the file of an archive."""
    file: Any = archive.fp
    file.seek(0, os.SEEK_END)
    found: int = file.tell()
    return found
