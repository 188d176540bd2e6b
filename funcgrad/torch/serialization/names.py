"""The storages and dtypes of PyTorch's files by their names."""

from __future__ import annotations

from funcgrad.torch import dtypes

__all__ = ["DTYPES", "FACTORIES", "OF_DTYPE", "STORAGES", "StorageType"]


class StorageType:
    """A class of storages by name; it is only ever compared."""

    def __init__(self, name: str, kind: dtypes.dtype) -> None:
        self.name, self.dtype = name, kind


STORAGES = {
    name: StorageType(name, kind)
    for name, kind in (
        ("DoubleStorage", dtypes.float64),
        ("FloatStorage", dtypes.float32),
        ("HalfStorage", dtypes.float16),
        ("BFloat16Storage", dtypes.bfloat16),
        ("LongStorage", dtypes.int64),
        ("IntStorage", dtypes.int32),
        ("ShortStorage", dtypes.int16),
        ("CharStorage", dtypes.int8),
        ("ByteStorage", dtypes.uint8),
        ("BoolStorage", dtypes.bool),
        ("ComplexDoubleStorage", dtypes.complex128),
        ("ComplexFloatStorage", dtypes.complex64),
    )
}
# what a defaultdict of a file may make
FACTORIES: tuple[type, ...] = (list, dict, set, tuple, int, float, str, bool)
OF_DTYPE = {found.dtype: name for name, found in STORAGES.items()}
DTYPES = {
    name: getattr(dtypes, name)
    for name in (
        "bfloat16", "float16", "float32", "float64", "complex64", "complex128",
        "uint8", "int8", "int16", "int32", "int64", "bool",
    )
}  # fmt: skip
