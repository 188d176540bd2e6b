"""A branch where the choice is known: one function of several runs, and no other does.

The types of what it gave are compared with those of the others, which are staged on abstract
values: once for each set of functions, told by their code, and for operands of each set of types.
So a program that runs with numbers at hand is refused where it would be under `jit`. What cannot be
staged is no error: nobody has asked for it. Meanwhile captured arrays are locked, and random
numbers that are drawn have not been; but what else a function does outside of itself, as printing,
it does.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.mutation import Locks
from funcgrad.core.tracer import Tracer, operand, type_of
from funcgrad.core.types import Array, ArrayType, promote
from funcgrad.errors import TreeError, located
from funcgrad.graph.build import stage
from funcgrad.graph.ir import Graph
from funcgrad.transforms.arguments import computed, leaves_of, name_of
from funcgrad.transforms.captures import walked
from funcgrad.transforms.random_draws import undrawn
from funcgrad.transforms.results import own_copy

__all__ = ["common_type", "run_branch", "same_trees", "staged_function", "unless_again"]

Function = Callable[..., Any]
Typed = tuple[list[ArrayType], tree.TreeDef]  # the types of leaves, and their tree
MOST = 4096  # sets of functions and types that are remembered

_agreed: set[Hashable] = set()


class _Asked(threading.local):
    """The functions that are being compared in this thread, if any."""

    functions: Hashable = None


_asked = _Asked()


class _AgainError(Exception):
    """A function meets the branch that it belongs to, and would be staged forever."""


def run_branch(
    functions: Sequence[Function], place: int, operands: Sequence[Any], what: str
) -> Any:
    """What the function at `place` gives for operands that it may write into.

    Raises
    ------
    TypeError
        Another one would return another tree, or other types. Errors call the branch `what`.
    """
    leaves, definition = tree.flatten(operands)
    chosen = functions[place]
    found = computed(chosen(*tree.unflatten(definition, map(own_copy, leaves))), chosen)
    if _asked.functions is None:
        try:
            key = (*map(_code, functions), definition, *map(_kind, leaves))
            known = key in _agreed
        except TypeError:  # an operand without a hash
            return found
        if not known:
            _others_agree(functions, place, found, leaves, definition, what)
            if len(_agreed) >= MOST:
                _agreed.clear()
            _agreed.add(key)
    return found


def _others_agree(
    functions: Sequence[Function],
    place: int,
    found: Any,
    leaves: Sequence[Any],
    definition: tree.TreeDef,
    what: str,
) -> None:
    try:
        values, out = leaves_of(found, ("the output", functions[place]))
    except TreeError:  # no arrays: such a program has no other form
        return
    ours = list(map(type_of, values)), out
    for k, f in enumerate(functions):
        theirs = None if k == place else _types_of(functions, f, leaves, definition, what)
        if theirs is not None:
            first, second = sorted([(place, ours), (k, theirs)], key=lambda each: each[0])
            (one, tree_of_one), (other, tree_of_other) = first[1], second[1]
            pair = functions[first[0]], functions[second[0]]
            same_trees(pair, (tree_of_one, tree_of_other), what)
            for path, a, b in zip(tree.paths(out), one, other, strict=True):
                common_type(a, b, path, what)


def _types_of(
    functions: Sequence[Function],
    f: Function,
    leaves: Sequence[Any],
    definition: tree.TreeDef,
    what: str,
) -> Typed | None:
    """The types of what `f` would return; None if it cannot be staged."""
    _asked.functions = tuple(map(_code, functions))
    try:
        with _nothing_changed(f):
            given = list(map(operand, leaves))
            graph, _, out = staged_function(f, given, definition, what)
    except Exception:  # nobody has asked for what it raises
        return None
    finally:
        _asked.functions = None
    return [o.type for o in graph.outputs], out


def staged_function(
    f: Function, leaves: Sequence[Array], definition: tree.TreeDef, what: str
) -> tuple[Graph, list[Tracer], tree.TreeDef]:
    """The graph of a branch, the traced values that it adopted, and the tree of its result."""
    out: list[tree.TreeDef] = []

    def flat(*xs: Any) -> list[Any]:
        outputs, made = leaves_of(f(*tree.unflatten(definition, xs)), ("the output", f))
        out.append(made)
        return outputs

    traced = f"a function of {what}, which is traced whether it is taken or not,"
    graph, consts = stage(flat, [type_of(x) for x in leaves], leaves, body=traced)
    return graph, consts, out[0]


def unless_again(functions: Sequence[Function]) -> None:
    """Give up comparing functions that meet their own branch, as one that calls itself does."""
    if _asked.functions is not None and _asked.functions == tuple(map(_code, functions)):
        raise _AgainError


def same_trees(
    functions: Sequence[Function], trees: tuple[tree.TreeDef, tree.TreeDef], what: str
) -> None:
    """Raise unless two functions return one tree."""
    if trees[0] != trees[1]:
        told = ", ".join(f"{name_of(f)} {t}" for f, t in zip(functions, trees, strict=True))
        raise TypeError(located(f"the functions of {what} return different trees: {told}"))


def common_type(one: ArrayType, other: ArrayType, path: str, what: str) -> ArrayType:
    """The type of a result; a Python number takes the dtype of the other branch."""
    if one == other:
        return one
    if one.shape != other.shape or (one.dtype != other.dtype and not (one.weak or other.weak)):
        raise TypeError(
            located(f"the functions of {what} return {one} and {other} as the output{path}")
        )
    return ArrayType(one.shape, promote(one, other))


@contextlib.contextmanager
def _nothing_changed(f: Function) -> Iterator[None]:
    """Nobody writes into arrays that `f` can reach, draws for good, or is warned."""
    reached = walked(f)
    locks = Locks()
    with undrawn(reached.generators), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            for x in reached.arrays:
                locks.hold(None, x)
            yield
        finally:
            locks.release()


def _code(f: Any) -> Any:
    """What functions have in common that were made by one line of a program."""
    code = getattr(f, "__code__", None)
    if code is not None:
        return code
    if isinstance(f, functools.partial):
        return _code(f.func)
    if hasattr(f, "__wrapped__"):
        return type(f), _code(f.__wrapped__)
    return f if type(f).__module__ in ("builtins", "numpy") else type(f)


def _kind(x: Any) -> Any:
    kind = type(x)
    return (x.dtype, x.shape) if kind is np.ndarray else getattr(x, "type", kind)
