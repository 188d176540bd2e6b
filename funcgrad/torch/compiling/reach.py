"""What a step can reach: the tensors it may use, and everything that its meaning depends on.

The walk starts at the function and its arguments and goes through closures, defaults, globals that
the code names, containers, modules, optimizers and all other objects of the program. Tensors become
inputs of the compiled program; numbers and texts belong to the key under which it is kept; each
container is remembered with what it held, so that a later call can see whether all is as it was,
and a trace can be undone. What cannot be watched (an iterator, a file, the clock, another source of
random numbers) is a reason not to compile.
"""

from __future__ import annotations

import dis
import functools
import io
import types
from typing import Any

import numpy as np

from funcgrad.core.types import type_of_raw
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.compiling.reached import Reached
from funcgrad.torch.compiling.schedules import RATE, is_schedule, runs_in_python
from funcgrad.torch.dtypes import dtype
from funcgrad.torch.nodes import AccumulateGrad
from funcgrad.torch.operations.generator import Generator
from funcgrad.torch.root import RootTracer
from funcgrad.transforms.captures import content
from funcgrad.transforms.walk import in_library

__all__ = ["reach"]

PLAIN = (int, float, complex, bool, str, bytes, type(None), dtype, np.dtype, range, slice)
CALLED_BUILT_IN = (types.BuiltinFunctionType, types.MethodDescriptorType, np.ufunc)
SOURCES = (np.random.Generator, np.random.RandomState, np.random.BitGenerator)
MODULES = frozenset(("random", "time", "datetime", "secrets", "uuid", "logging", "os", "sys"))
EFFECTS = frozenset(("print", "input", "open", "exec", "eval", "next", "globals", "locals", "id"))
MANY = 50_000  # things to look at


def reach(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Reached:
    """Walk over all that a call can reach."""
    found = Reached(function)
    found.key.append((len(args), tuple(kwargs)))
    for k in reversed(kwargs):
        found.more(kwargs[k], f"the argument {k}", ("argument", k))
    for i in reversed(range(len(args))):
        found.more(args[i], f"argument {i}", ("argument", i))
    found.more(function, name_of(function))
    _walk(found)
    if not all(runs_in_python(inner, found) for _, inner in found.schedules):
        found.reasons.append("a schedule of learning rates looks at what the call changes")
    return found


def _walk(found: Reached) -> None:
    while found.todo:
        _visit(*found.todo.pop(), found)
        if len(found.held) > MANY:
            found.reasons.append(f"more than {MANY} objects can be reached")
            break


def name_of(function: Any) -> str:
    """How reports call a function."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__qualname__", None)
    return str(name or type(function).__name__).removeprefix("<locals>.")


def _visit(x: Any, name: str, origin: Any, found: Reached) -> None:
    if isinstance(x, PLAIN):
        exact = repr(x) if isinstance(x, (float, complex, slice)) else x
        found.key.append((type(x), exact))
        return
    if id(x) in found.places:
        found.key.append(("again", found.places[id(x)]))
        return
    found.places[id(x)] = len(found.places)
    found.held.append(x)
    kind: Any = type(x)
    found.key.append(kind)
    if isinstance(x, Tensor):
        _visit_tensor(x, name, origin, found)
    elif isinstance(x, np.generic):
        found.key.append((x.dtype, x.tobytes()))
    elif isinstance(x, np.ndarray):
        _visit_array(x, name, found)
    elif isinstance(x, dict):
        _visit_dict(x, name, found)
    elif isinstance(x, (list, tuple, set, frozenset)):
        _visit_items(x, name, found)
    elif isinstance(x, functools.partial):
        for part in (x.keywords, x.args, x.func):
            found.more(part, name)
    elif isinstance(x, types.MethodType):
        found.more(x.__self__, name)
        found.more(x.__func__, name)
    elif isinstance(x, types.FunctionType):
        _visit_function(x, found)
    elif isinstance(x, (types.ModuleType, Generator, *CALLED_BUILT_IN)):
        found.key.append(id(x))  # which `held` keeps
    elif isinstance(x, type):
        found.key.append(id(x))
        _visit_class(x, name, found)
    else:
        _visit_object(x, name, found)


def _visit_tensor(x: Tensor, name: str, origin: Any, found: Reached) -> None:
    t = x._t
    if type(t) is not RootTracer:
        found.reasons.append(f"{name} is a Tensor inside a transform")
        return
    place = len(found.tensors)
    found.tensors.append(x)
    found.names.append(name)
    found.origins.append(origin or ("same", x))
    node = t.node
    found.key += [kind_of(x), t.version.inference]
    extra = getattr(node, "extra", None)
    if extra is not None and type(node) is AccumulateGrad:
        for hooks in (extra.tensor_hooks, extra.pre_hooks, extra.node_hooks, extra.post_hooks):
            found.more(hooks, f"the hooks of {name}")
    if x.__dict__:
        found.more(x.__dict__, name)
    found.more(gradient_of(x), f"{name}.grad", ("gradient", place))


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


def _visit_array(x: np.ndarray[Any, Any], name: str, found: Reached) -> None:
    if x.dtype.kind == "O":
        found.reasons.append(f"{name} is an array of objects")
        return
    known = content(x)
    found.arrays.append((x, known))
    found.key += [type_of_raw(x), known]


def _visit_items(x: Any, name: str, found: Reached) -> None:
    found.key.append(len(x))
    if not isinstance(x, (tuple, frozenset)):
        found.mutable.append((x, name))
        found.containers.append((x, tuple(x)))
    for k, v in reversed(list(enumerate(x))):
        found.more(v, f"{name}[{k}]")


def _visit_dict(x: dict[Any, Any], name: str, found: Reached) -> None:
    found.key.append(len(x))
    found.mutable.append((x, name))
    group = "params" in x and type(x.get(RATE)) in (float, int)
    if group:
        found.rates.append(x)
        found.look(type(x).__len__, x, len(x))
        for k, v in x.items():
            if k != RATE:
                found.look(functools.partial(type(x).get, x), k, v)
    else:
        found.containers.append((x, tuple(x.values())))
    for k, v in reversed(list(x.items())):
        if not (group and k == RATE):
            found.more(v, f"{name}.{k}" if isinstance(k, str) else f"{name}[{k!r}]"
                       if isinstance(k, PLAIN) else f"{name}[...]")  # fmt: skip
        found.more(k, name)


# --------------------------------------------------------------------------------- functions


@functools.lru_cache(4096)
def _names(code: types.CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """The globals that some code names, and the attributes."""
    globals_, attributes = set(), set()
    for i in dis.get_instructions(code):
        if i.opname in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL"):
            globals_.add(i.argval)
        elif "ATTR" in i.opname or "METHOD" in i.opname:
            attributes.add(i.argval)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            more = _names(inner)
            globals_ |= more[0]
            attributes |= more[1]
    return frozenset(globals_), frozenset(attributes)


def _visit_function(f: types.FunctionType, found: Reached) -> None:
    found.key.append(f.__code__)
    library = in_library(f.__globals__.get("__name__"), found.home)
    if not library:
        found.look(functools.partial(getattr, f), "__code__", f.__code__)
        found.look(functools.partial(getattr, f), "__defaults__", f.__defaults__)
        _visit_globals(f, found)
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        try:
            inner = cell.cell_contents
        except ValueError:  # a cell that is not filled yet
            found.reasons.append(f"{name_of(f)} closes over {name}, which is not set yet")
            continue
        put = functools.partial(_set_cell, cell)
        found.look(functools.partial(_cell, cell), name, inner, put)
        found.more(inner, name)
    for default in (f.__defaults__, f.__kwdefaults__):
        if default:
            found.more(default, f"the defaults of {name_of(f)}")


def _cell(cell: types.CellType, _: str) -> Any:
    return cell.cell_contents


def _set_cell(cell: types.CellType, _: str, value: Any) -> None:
    cell.cell_contents = value


def _visit_globals(f: types.FunctionType, found: Reached) -> None:
    names, attributes = _names(f.__code__)
    for name in sorted(names):
        held = f.__globals__.get(name, found)
        if held is found:
            if name in EFFECTS:
                found.reasons.append(f"{name_of(f)} calls {name}()")
            continue
        found.look(f.__globals__.get, name, held, f.__globals__.__setitem__)
        if isinstance(held, types.ModuleType):
            _visit_module(held, name, attributes, f, found)
        else:
            found.more(held, name)


def _visit_module(
    m: types.ModuleType, name: str, attributes: frozenset[str], f: Any, found: Reached
) -> None:
    if m.__name__ in MODULES or (m.__name__ == "numpy" and "random" in attributes):
        what = "numpy.random" if m.__name__ == "numpy" else m.__name__
        found.reasons.append(f"{name_of(f)} uses the module {what}")
    if in_library(m.__name__, found.home):
        return
    for attribute in sorted(attributes & vars(m).keys()):
        held = vars(m)[attribute]
        found.look(vars(m).get, attribute, held)
        found.more(held, f"{name}.{attribute}")


def _visit_class(cls: type, name: str, found: Reached) -> None:
    """The attributes of a class of the program and of its bases; not those of libraries."""
    for base in cls.__mro__:
        if in_library(base.__module__, found.home):
            continue
        for k, v in vars(base).items():
            inner = _run_by(v)
            if k.startswith("__") and not isinstance(inner, types.FunctionType):
                continue
            found.look(vars(base).get, k, v)
            if not isinstance(inner, (types.MemberDescriptorType, types.GetSetDescriptorType)):
                found.more(inner, f"{base.__name__}.{k}")


def _run_by(held: Any) -> Any:
    """The function behind a method or a property, or what else a class holds."""
    if isinstance(held, (staticmethod, classmethod)):
        return held.__func__
    if isinstance(held, property):
        return held.fget
    return held.func if isinstance(held, functools.cached_property) else held


def _visit_object(x: Any, name: str, found: Reached) -> None:
    kind = type(x)
    if hasattr(kind, "__next__") or isinstance(x, io.IOBase):
        found.reasons.append(f"{name} is {kind.__name__}, which a trace would use up")
        return
    if isinstance(x, SOURCES):
        found.reasons.append(f"{name} is another source of random numbers")
        return
    found.look(functools.partial(getattr, x), "__class__", kind)
    if is_schedule(x):
        _visit_schedule(x, name, found)
        return
    _visit_class(kind, name, found)
    own = getattr(x, "__dict__", None)
    slots = [s for base in kind.__mro__ for s in _listed(vars(base).get("__slots__", ()))]
    if own is None and not slots:
        found.key.append(id(x))
        return
    for slot in slots:
        if slot not in ("__dict__", "__weakref__") and hasattr(x, slot):
            put = functools.partial(setattr, x)
            found.look(functools.partial(getattr, x), slot, getattr(x, slot), put)
            found.more(getattr(x, slot), f"{name}.{slot}")
    if own is not None:
        found.more(own, name)


def _visit_schedule(x: Any, name: str, found: Reached) -> None:
    """A scheduler, whose epoch is none of the things on which a program depends."""
    found.look(functools.partial(getattr, x), "optimizer", x.optimizer)
    found.more(x.optimizer, f"{name}.optimizer")
    inner = Reached(None)
    inner.home = found.home
    inner.more(type(x), name)
    for k, v in x.__dict__.items():
        if k != "optimizer":
            inner.more(v, f"{name}.{k}")
    _walk(inner)
    found.schedules.append((x, inner))


def _listed(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)
