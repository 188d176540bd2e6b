"""Making a batch of samples: tensors are stacked, dictionaries and sequences go part by part."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

import funcgrad.torch as torch
from funcgrad.core.boundary import hide_frames
from funcgrad.torch._tensor import Tensor

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

Rules = Mapping[Any, Callable[..., Any]]
NOT_A_BATCH = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)
NO_NUMBERS = "SUO"  # NumPy's kinds of text and objects


def _rebuild_mapping(like: Mapping[Any, Any], made: dict[Any, Any]) -> Any:
    """A mapping of the class of `like` if that can be, with what else that one carries."""
    try:
        if not isinstance(like, MutableMapping):
            return type(like)(made)  # type: ignore[call-arg]
        clone = copy.copy(like)
        clone.update(made)
        return clone
    except TypeError:
        return made


def _rebuild_sequence(like: Sequence[Any], made: list[Any]) -> Any:
    try:
        if not isinstance(like, MutableSequence):
            return type(like)(made)  # type: ignore[call-arg]
        clone = copy.copy(like)
        for i, x in enumerate(made):
            clone[i] = x
        return clone
    except TypeError:
        return made


def _rebuild(like: Any, parts: Any) -> Any:
    """`parts` in the container of `like`; a plain tuple becomes a list, as in PyTorch."""
    if isinstance(like, Mapping):
        return _rebuild_mapping(like, parts)
    if isinstance(like, tuple):
        return type(like)(*parts) if hasattr(like, "_fields") else list(parts)
    return _rebuild_sequence(like, list(parts))


def default_convert(data: Any) -> Any:
    """NumPy's arrays and numbers as tensors, within containers too; the rest as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.torch.utils.data import default_convert
    >>> default_convert({"x": np.array([0, 1]), "name": "a"})
    {'x': tensor([0, 1]), 'name': 'a'}
    """
    try:
        if isinstance(data, Tensor | str | bytes | np.str_):
            return data
        if isinstance(data, np.ndarray | np.generic):
            return data if data.dtype.kind in NO_NUMBERS else torch.as_tensor(data)
        if isinstance(data, Mapping):
            return _rebuild(data, {key: default_convert(data[key]) for key in data})
        if isinstance(data, Sequence):
            return _rebuild(data, [default_convert(x) for x in data])
        return data
    except Exception as error:
        hide_frames(error)
        raise


def _rule(example: Any, rules: Rules) -> Callable[..., Any] | None:
    """What collates the class of a sample: its own rule, or that of the first base in order."""
    found = rules.get(type(example))
    if found is not None:
        return found
    return next((rule for kind, rule in rules.items() if isinstance(example, kind)), None)


def collate(batch: Any, *, collate_fn_map: Rules | None = None) -> Any:
    """One batch of samples by the rules of a table: class -> function of (batch, table)."""
    example = batch[0]
    rule = _rule(example, collate_fn_map or {})
    if rule is not None:
        return rule(batch, collate_fn_map=collate_fn_map)

    def together(samples: Sequence[Any]) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(example, Mapping):
        return _rebuild(example, {key: together([x[key] for x in batch]) for key in example})
    if isinstance(example, Sequence):
        named = isinstance(example, tuple) and hasattr(example, "_fields")
        if not named and any(len(x) != len(example) for x in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return _rebuild(example, [together(x) for x in zip(*batch, strict=False)])
    raise TypeError(NOT_A_BATCH.format(type(example)))


def _stack(batch: Sequence[Tensor], *, collate_fn_map: Rules | None = None) -> Tensor:
    found: Tensor = torch.stack(list(batch), 0)
    return found


def _stack_arrays(batch: Sequence[Any], *, collate_fn_map: Rules | None = None) -> Any:
    if batch[0].dtype.kind in NO_NUMBERS:
        raise TypeError(NOT_A_BATCH.format(batch[0].dtype))
    return collate([torch.as_tensor(x) for x in batch], collate_fn_map=collate_fn_map)


def _join_scalars(batch: Sequence[Any], *, collate_fn_map: Rules | None = None) -> Tensor:
    return torch.as_tensor(np.array(batch))


def _join_floats(batch: Sequence[float], *, collate_fn_map: Rules | None = None) -> Tensor:
    return torch.tensor(list(batch), dtype=torch.float64)


def _join_integers(batch: Sequence[int], *, collate_fn_map: Rules | None = None) -> Tensor:
    return torch.tensor(list(batch))


def _leave(batch: Any, *, collate_fn_map: Rules | None = None) -> Any:
    return batch


default_collate_fn_map: dict[Any, Callable[..., Any]] = {
    Tensor: _stack,
    np.ndarray: _stack_arrays,
    (np.bool_, np.number, np.object_): _join_scalars,
    float: _join_floats,
    int: _join_integers,
    str: _leave,
    bytes: _leave,
}


def default_collate(batch: Any) -> Any:
    """Samples put together along a new first dimension, part by part.

    Tensors and NumPy's arrays are stacked, numbers become a tensor (Python's floats one of
    float64), text stays a list.

    Examples
    --------
    >>> from funcgrad.torch.utils.data import default_collate
    >>> default_collate([{"a": 0, "b": "x"}, {"a": 100, "b": "y"}])
    {'a': tensor([  0, 100]), 'b': ['x', 'y']}

    Raises
    ------
    TypeError
        Samples of a class that has no rule.
    RuntimeError
        Sequences of different lengths, tensors of different shapes.
    """
    try:
        return collate(batch, collate_fn_map=default_collate_fn_map)
    except Exception as error:
        hide_frames(error)
        raise
