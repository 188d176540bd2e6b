"""Modules that hold parameters: in a list, in a dictionary."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn.modules.container import pairs_of
from funcgrad.torch.nn.modules.members import typename
from funcgrad.torch.nn.modules.module import Module
from funcgrad.torch.nn.parameter import Parameter

__all__ = ["ParameterDict", "ParameterList"]


def _as_parameter(value: Any) -> Any:
    """Tensors become parameters; other things are kept as they are."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _description(x: Any, kind: str) -> str:
    if isinstance(x, Tensor):
        size = "x".join(map(str, x.size()))
        what = "Parameter" if isinstance(x, Parameter) else "Tensor"
        return f"{what} containing: [{kind} of size {size}]"
    return f"Object of type: {type(x).__name__}"


def _dtype_of(x: Any) -> str:
    return str(x.dtype) if isinstance(x, Tensor) else ""


class ParameterList(Module):
    """A list of parameters that are known to the module that has it.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.ParameterList([torch.zeros(2), torch.zeros(3, 1)])
    ParameterList(
        (0): Parameter containing: [torch.float32 of size 2]
        (1): Parameter containing: [torch.float32 of size 3x1]
    )
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _key(self, idx: Any) -> str:
        place = operator.index(idx)
        if not -len(self) <= place < len(self):
            raise IndexError(f"index {place} is out of range")
        return str(place % len(self))

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            made = type(self)()
            for k in range(*idx.indices(len(self))):
                made.append(self[k])
            return made
        return getattr(self, self._key(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, self._key(idx), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Put a parameter at the end; a tensor becomes one."""
        place = len(self)
        self._size += 1
        self[place] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Put parameters at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                + type(values).__name__
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """A line for each element."""
        return "\n".join(f"  ({k}): {_description(p, _dtype_of(p))}" for k, p in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters that are known to the module that has it.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> d = torch.nn.ParameterDict({"w": torch.zeros(2)})
    >>> [name for name, _ in d.named_parameters()]
    ['w']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _attribute(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}'). Open an issue on github if you need "
                "non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._attribute(key))

    def __setitem__(self, key: str, value: Any) -> None:
        name = self._attribute(key)
        self._keys[name] = None
        setattr(self, name, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        name = self._attribute(key)
        del self._keys[name]
        delattr(self, name)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The names with their parameters."""
        return ((name, self[name]) for name in self._keys)

    def values(self) -> Iterable[Any]:
        """The parameters."""
        return (self[name] for name in self._keys)

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter of this name, or `default`."""
        return self[key] if key in self._keys else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The parameter of this name, which is `default` if there was none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take all parameters out."""
        for name in list(self._keys):
            del self[name]

    def pop(self, key: str) -> Any:
        """Take a parameter out."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Take the last parameter out, with its name."""
        name = next(reversed(self._keys))
        return name, self.pop(name)

    def copy(self) -> ParameterDict:
        """Another dictionary of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def update(self, parameters: Any) -> None:
        """Add parameters from pairs or a mapping; those of a `dict` in order of their names."""
        pairs = pairs_of("ParametersDict", parameters)
        ordered = isinstance(parameters, (OrderedDict, ParameterDict))
        if isinstance(parameters, Mapping) and not ordered:
            pairs.sort()
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        """A line for each entry."""
        return "\n".join(f"  ({name}): {_description(p, typename(p))}" for name, p in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")
