"""Modules that hold others: in a row, in a list, in a dictionary."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Self

from funcgrad.torch.nn.modules.module import Module, indented

__all__ = ["ModuleDict", "ModuleList", "Sequential", "pairs_of"]


class Row(Module):
    """What `Sequential` and `ModuleList` share: children that are numbered."""

    def _key(self, idx: Any) -> str:
        """The name of the child at a place; an IndexError if there is none."""
        size, place = len(self), operator.index(idx)
        if not -size <= place < size:
            raise IndexError(f"index {place} is out of range")
        return next(islice(self._modules, place % size, None))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __setitem__(self, idx: int, module: Any) -> None:
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx: Any) -> None:
        keys = list(self._modules)[idx] if isinstance(idx, slice) else [self._key(idx)]
        for key in keys:
            delattr(self, key)
        self._number(list(self._modules.values()))

    def _number(self, modules: list[Any]) -> None:
        self._modules = {str(k): m for k, m in enumerate(modules)}

    def append(self, module: Any) -> Self:
        """Put a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Any) -> Any:
        """Put a module before the one at `index`."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._number(modules)

    def extend(self, modules: Iterable[Any]) -> Self:
        """Put modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def pop(self, key: Any) -> Any:
        """Take a module out."""
        found = self[key]  # type: ignore[index]
        del self[key]
        return found


class Sequential(Row):
    """Modules called one after the other, each with what the one before returned.

    Parameters
    ----------
    *args : Module
        Or one `OrderedDict` of modules by name.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        one = len(args) == 1 and isinstance(args[0], OrderedDict)
        named = args[0].items() if one else ((str(k), m) for k, m in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        """What the last module returns."""
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._key(idx)]

    def insert(self, index: int, module: Any) -> Self:
        """Put a module before the one at `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        super().insert(index, module)
        return self

    def _check_sequential(self, other: Any) -> None:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but "
                f"{type(other)} is given."
            )

    def __add__(self, other: Any) -> Sequential:
        self._check_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        self._check_sequential(other)
        return self.extend(list(other))

    def _check_factor(self, other: Any) -> None:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return Sequential(*list(self) * other)

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))


class ModuleList(Row):
    """A list of modules whose parameters are known to the module that has it.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> layers = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(3))
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[self._key(idx)]

    def __iadd__(self, modules: Iterable[Any]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Any]) -> ModuleList:
        return type(self)([*self, *other])

    def extend(self, modules: Iterable[Any]) -> Self:
        """Put modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                + type(modules).__name__
            )
        return super().extend(modules)

    def __repr__(self) -> str:
        """Modules that look alike in a row are shown once, with their count."""
        shown = [repr(m) for m in self]
        if not shown:
            return f"{self._get_name()}()"
        lines, start = [], 0
        for k in range(1, len(shown) + 1):
            if k < len(shown) and shown[k] == shown[start]:
                continue
            many = k - start > 1
            label = f"({start}-{k - 1}): {k - start} x " if many else f"({start}): "
            lines.append(indented(label + shown[start]))
            start = k
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dictionary of modules whose parameters are known to the module that has it.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> d = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 1)})
    >>> [name for name, _ in d.named_parameters()]
    ['a.weight', 'a.bias']
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take all modules out."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Take a module out."""
        return self._modules.pop(key)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The names with their modules."""
        return self._modules.items()

    def values(self) -> Iterable[Any]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules from a mapping or from pairs."""
        for key, module in pairs_of("ModuleDict", modules):
            self[key] = module


def pairs_of(name: str, given: Any) -> list[tuple[str, Any]]:
    """The pairs (key, value) that a dictionary is updated with."""
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{name}.update should be called with an iterable of key/value pairs, but got "
            + type(given).__name__
        )
    if isinstance(given, Mapping) or hasattr(given, "items"):
        return list(given.items())
    pairs = []
    for k, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{name} update sequence element #{k} should be Iterable; is {type(pair).__name__}"
            )
        found = tuple(pair)
        if len(found) != 2:
            raise ValueError(
                f"{name} update sequence element #{k} has length {len(found)}; 2 is required"
            )
        pairs.append((found[0], found[1]))
    return pairs
