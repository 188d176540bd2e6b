"""What a step can reach: the tensors it may use, and everything that its meaning depends on.

It is the walk of `jit`'s captures (`transforms.walk`), over the arguments as well, and with all
attributes of objects. Tensors become inputs of the compiled program; all else belongs to the key
under which it is kept, and is looked at again on a later call; what a trace does to it can be
undone. What cannot be followed, or would be used up (an iterator, a file, the clock, another source
of random numbers) is a reason not to compile.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.compile.execute import guard_check
from funcgrad.compile.guards import Dict, Item, List, Look, Type
from funcgrad.compile.imports import interpreted
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.compiling.schedules import RATE, is_schedule, runs_in_python
from funcgrad.torch.dtypes import dtype
from funcgrad.torch.nodes import AccumulateGrad
from funcgrad.torch.operations.generator import Generator
from funcgrad.torch.optim.combined import family
from funcgrad.torch.root import RootTracer
from funcgrad.transforms import captured_kinds
from funcgrad.transforms.captures import Captures
from funcgrad.transforms.random_draws import GENERATORS
from funcgrad.transforms.walk import HIDDEN, Path, package_of

__all__ = ["PLAIN", "Reached", "gradient_of", "kind_of", "name_of", "reach"]

PLAIN = (int, float, complex, bool, str, bytes, type(None), dtype, np.dtype, range, slice)
MODULES = frozenset(("random", "time", "datetime", "secrets", "uuid", "logging", "os", "sys"))
EFFECTS = {
    "builtins": HIDDEN["builtins"] | {"print", "input", "open", "next", "locals", "id"},
    "numpy": HIDDEN["numpy"] | {"random"},
}


class Reached(Captures):
    """The result of a walk.

    Attributes
    ----------
    tensors : list of Tensor
        In the order of the walk, each once; `names` say where each was found, and `origins` how a
        later call finds it: it is the same, or the gradient of another, or an argument.
    rates : list of dict
        Groups of parameters whose learning rate is a number.
    schedules : list of pairs
        Schedulers that step in Python, and what is in each.
    reasons : dict
        Why nothing can be compiled; empty if it can.
    """

    whole = True
    hidden = HIDDEN | dict.fromkeys(MODULES, frozenset(("",))) | EFFECTS

    def __init__(self, home: str) -> None:
        super().__init__(home)
        self.tensors: list[Tensor] = []
        self.tensor_names: list[str] = []
        self.origins: list[Any] = []
        self.known_origins: dict[int, Any] = {}
        self.rates: list[dict[str, Any]] = []
        self.schedules: list[tuple[Any, Reached]] = []
        self.reasons = self.unseen
        self.holds: Callable[[], bool] | None = None

    @staticmethod
    def handler(cls: type) -> Callable[[Any, Any, Path], None]:
        return _handler(cls)

    def skips(self, cls: type) -> bool:
        return self.library(cls.__module__)

    def empty_cell(self, f: Any, name: str) -> None:
        self.cannot_see(f"{name_of(f)} closes over {name}, which is not set yet")

    def unchanged(self) -> bool:
        """Whether all places still hold what they held."""
        if not self.guarded:
            return False
        if self.holds is None:
            guards = self.guards()
            if interpreted():
                self.holds = lambda: all(g.holds() for g in guards)
            else:
                self.holds = guard_check(guards)
        return self.holds()

    def containers(self) -> set[int]:
        """What can change, by identity."""
        places = [place for place, _ in self.places.values()]
        found = {id(p[0]) for p in places if isinstance(p, (List, Dict))}
        return found | {id(p.argument) for p in places if isinstance(p, Look) and p.put is not None}

    def restore(self) -> list[str]:
        """Undo what a trace did to containers, globals and cells; the names of what it changed."""
        changed = []
        for place, path in self.places.values():
            undo = getattr(place, "put_back", None)
            if undo is not None and not place.holds() and undo():
                changed.append(".".join(path) or "what it reaches")
        return changed


def reach(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Reached:
    """Walk over all that a call can reach."""
    found = Reached(package_of(function))
    found.add((len(args), tuple(kwargs)), ())
    for place, x in [*enumerate(args), *kwargs.items()]:
        found.known_origins.setdefault(id(x), ("argument", place))
        found.more(x, (f"argument {place}" if isinstance(place, int) else f"the argument {place}",))
    found.more(function, (name_of(function),))
    found.run()
    found.read_arrays()
    if not all(runs_in_python(inner, found) for _, inner in found.schedules):
        found.cannot_see("a schedule of learning rates looks at what the call changes")
    return found


def name_of(function: Any) -> str:
    """How reports call a function."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__qualname__", None)
    return str(name or type(function).__name__).removeprefix("<locals>.")


def _visit_tensor(found: Reached, x: Tensor, path: Path) -> None:
    t, name = x._t, ".".join(path)
    if type(t) is not RootTracer:
        found.cannot_see(f"{name} is a Tensor inside a transform")
        return
    place = len(found.tensors)
    found.tensors.append(x)
    found.tensor_names.append(name)
    found.origins.append(found.known_origins.get(id(x), ("same", x)))
    node = t.node
    found.add((kind_of(x), t.version.inference), path)
    extra = getattr(node, "extra", None)
    if extra is not None and type(node) is AccumulateGrad:
        for hooks in (extra.tensor_hooks, extra.pre_hooks, extra.node_hooks, extra.post_hooks):
            found.more(hooks, (f"the hooks of {name}",))
    if x.__dict__:
        found.more(x.__dict__, path)
    g = gradient_of(x)
    found.known_origins.setdefault(id(g), ("gradient", place))
    found.more(g, (*path, "grad"))


def gradient_of(x: Tensor) -> Tensor | None:
    """The gradient that a tensor holds, without a warning."""
    node = x._t.node
    held: Tensor | None = node.grad if type(node) is AccumulateGrad else x._grad
    return held


def kind_of(x: Tensor) -> tuple[Any, ...]:
    """What has to be the same of a tensor in order that a program fits."""
    t = x._t
    node = t.node
    role = 0 if node is None else 1 if type(node) is AccumulateGrad else 2
    return type(x), t.value.dtype, t.value.shape, x._link is None, role


def _visit_dict(found: Reached, x: Any, path: Path) -> None:
    """A dictionary; the learning rate of a group of parameters goes in as a number."""
    if "params" not in x or type(x.get(RATE)) not in (float, int):
        captured_kinds.visit_dict(found, x, path)
        return
    found.add((type(x), *x), path)
    found.rates.append(x)
    found.saw(Look(len, x, len(x)), path)
    for k, v in x.items():
        if k != RATE:
            found.saw(Item(x, k, v), path)
            found.more(v, (*path, str(k)))


def _visit_source(found: Reached, x: Any, path: Path) -> None:
    found.cannot_see(f"{'.'.join(path)} is another source of random numbers")


def _visit_other(found: Reached, x: Any, path: Path) -> None:
    if hasattr(type(x), "__next__") or isinstance(x, io.IOBase):
        what = f"{'.'.join(path)} is {type(x).__name__}, which a trace would use up"
        found.cannot_see(what)
    elif is_schedule(x):
        _visit_schedule(found, x, path)
    else:
        captured_kinds.handler(object)(found, x, path)


def _visit_schedule(found: Reached, x: Any, path: Path) -> None:
    """A scheduler, whose epoch is none of the things on which a program depends."""
    found.add(type(x), path)
    found.saw(Type(x, type(x)), path)
    found.saw(Item(x.__dict__, "optimizer", x.optimizer), path)
    found.more(x.optimizer, (*path, "optimizer"))
    inner = Reached(found.home)
    for part in family(x):
        inner.more(type(part), path)
        for k, v in part.__dict__.items():
            if k not in ("optimizer", "_schedulers"):
                inner.more(v, (*path, k))
    inner.run()
    found.schedules.append((x, inner))


HANDLERS: tuple[tuple[Any, Callable[[Any, Any, Path], None]], ...] = (
    (Tensor, _visit_tensor),
    ((dtype, Generator), captured_kinds.of_parts(mark=lambda x: (type(x), x))),
    (dict, _visit_dict),
    (GENERATORS, _visit_source),
)


@functools.lru_cache(maxsize=1024)
def _handler(cls: type) -> Callable[[Any, Any, Path], None]:
    for classes, visit in HANDLERS:
        if issubclass(cls, classes):
            return visit
    usual = captured_kinds.handler(cls)
    return _visit_other if usual is captured_kinds.handler(object) else usual
