"""Functions that remember what they did: the same call on tensors of the same kinds comes again.

What a function of this facade does depends on the dtypes and shapes of its tensors, on which of
them require grad, and on its other arguments; not on the numbers in the tensors, or it must not be
`remembered`. A call that comes often gets a recipe (see `recipes`), which all later ones follow.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np

from funcgrad.config import config
from funcgrad.core.boundary import hide_frames
from funcgrad.kernels.threads import PARALLEL
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.dtypes.kinds import Default
from funcgrad.torch.kept_code import key_of
from funcgrad.torch.modes import modes
from funcgrad.torch.recipe_parts import Recipe, kept_recipe
from funcgrad.torch.recipes import recipe
from funcgrad.torch.root import RootTracer
from funcgrad.transforms.node import IN_PLACE_FROM

__all__ = ["remembered"]

F = TypeVar("F", bound=Callable[..., Any])
OFTEN = 16  # calls of one kind before it is worth a millisecond to write a recipe
MOST_NUMBERS = 32  # of a list that is part of what tells a call
MANY = 1 << 10  # kinds of calls; then all are forgotten
PLAIN = frozenset((bool, int, str, type(None), type(Ellipsis)))
BOOL = np.dtype(bool)
FLOATS = frozenset((np.dtype(np.float32), np.dtype(np.float64)))
LARGEST = 1 << 22  # elements: a recipe is checked once with all of them
NAMES: set[str] = set()  # of what is remembered
INTEGERS = frozenset((np.dtype(np.int64), np.dtype(np.int32)))
ndarray = np.ndarray


def remembered(function: F, positions: str = "", name: str = "") -> F:
    """`function`, following a recipe where it has one; by its `name` the next process finds that.

    It takes tensors, sequences of them, and arguments that can be compared, and gives one tensor.
    What it does may depend on how the elements lie in memory. With `positions` it takes small
    tensors of integers as well, and refuses of them what NumPy refuses as an index, and if they are
    "unsigned" negative ones: such a call goes the general way, to its error.
    """
    kind_of = _choice if positions else _mask
    unsigned = positions == "unsigned"
    recipes: dict[Hashable, Any] = {}
    own = name or f"{function.__module__}.{function.__qualname__}"
    if own in NAMES:
        raise ValueError(f"there is a function that is remembered as {own!r}")
    NAMES.add(own)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        made: Any
        try:
            if modes.hot is None:
                return function(*args, **kwargs)
            tensors: list[Tensor] = []
            key: list[Hashable] = []
            for x in args:
                if not _add(x, key, tensors, kind_of):
                    return function(*args, **kwargs)
            if kwargs:
                for name, x in kwargs.items():
                    key.append(name)
                    if not _add(x, key, tensors, kind_of):
                        return function(*args, **kwargs)
            key.append(Default.kind)  # what Python's floats become
            known = tuple(key)
            found = recipes.get(known, 0)
            if found == 0 and not (unsigned and any(map(_negative, tensors))):
                kept = _kept(own, known, tensors)
                if kept is not None:
                    if len(recipes) >= MANY:
                        recipes.clear()
                    made, recipes[known] = kept
                    return made
            if type(found) is not int:
                if unsigned and any(map(_negative, tensors)):
                    return function(*args, **kwargs)
                try:
                    made = None if found is None else found(*tensors)
                except IndexError:
                    made = None
                return function(*args, **kwargs) if made is None else made
            if found < OFTEN:
                if len(recipes) >= MANY:
                    recipes.clear()
                recipes[known] = found + 1
                return function(*args, **kwargs)
            made, recipes[known] = _watched(function, args, kwargs, tensors, _key(own, known))
            return made
        except Exception as error:
            hide_frames(error)
            raise

    return call  # type: ignore[return-value]


def _add(x: Any, key: list[Hashable], tensors: list[Tensor], kind_of: Any) -> bool:
    """Add an argument to the key of a call, and its tensors; False where there is none."""
    if isinstance(x, Tensor):
        t, link = x._t, x._link
        if type(t) is not RootTracer or (link is not None and link.seen != t.held_version.so_far):
            return False
        kind = t.kind
        if kind is None:
            kind = kind_of(t.value) or _layout(t.value)
            if kind is None:
                return False
        tensors.append(x)
        key.append(kind)
        key.append(t.node is None)
        return True
    found: Any = type(x)
    key.append(found)
    if found in PLAIN:
        key.append(x)
    elif found is float:  # 0.0 and -0.0 are equal, NaN is not
        key.append(x if x else repr(x))
    elif found is tuple or found is list:
        key.append(len(x))
        if len(x) > MOST_NUMBERS and type(x[0]) is int:  # positions, which differ each time
            return False
        for item in x:
            if not _add(item, key, tensors, kind_of):
                return False
    elif found is slice:
        return all(_add(item, key, tensors, kind_of) for item in (x.start, x.stop, x.step))
    else:
        return False
    return True


def _layout(x: Any) -> Hashable:
    """The kind of a large array of floats, by which its views are known."""
    if type(x) is ndarray and PARALLEL <= x.size <= LARGEST and x.dtype in FLOATS:
        return x.dtype.num, x.shape, x.strides
    return None


def _mask(x: Any) -> Hashable:
    """The kind of an array of truth values that is not huge."""
    if type(x) is ndarray and x.dtype is BOOL and x.size < PARALLEL:
        return x.shape, x.strides
    return None


def _negative(x: Tensor) -> bool:
    """Whether a tensor of integers has a negative element."""
    array = x._t.value
    return array.dtype in INTEGERS and array.size > 0 and bool(array.min() < 0)


def _choice(x: Any) -> Hashable:
    """The kind of a small array of truth values or of integers."""
    if type(x) is ndarray and x.dtype in INTEGERS and x.size < IN_PLACE_FROM:
        return x.dtype.num, x.shape, x.strides
    return _mask(x)


def _key(name: str, known: Hashable) -> str | None:
    """Under what the recipe of a call is kept."""
    return key_of("recipe", name, known, config.kernels)


def _kept(name: str, known: Hashable, tensors: list[Tensor]) -> tuple[Tensor, Recipe] | None:
    """What an earlier process has written of such a call gives, and what it has written."""
    try:
        return kept_recipe(_key(name, known), tensors)
    except IndexError:
        return None


def _watched(
    function: Callable[..., Any], args: Any, kwargs: Any, tensors: list[Tensor], key: str | None
) -> tuple[Any, Recipe | None]:
    """What the function gives in the general way, and a recipe for it if it does not warn."""
    applied: list[Any] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = modes.watched(applied, function, *args, **kwargs)
        except Exception as error:
            made = error
    for w in caught:
        warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    if isinstance(made, Exception):
        raise made
    return made, None if caught else recipe(applied, tensors, made, key)
