"""Where an error leaves funcgrad for the program: our own frames are taken out of its traceback.

What is left are the lines of the program, so that a traceback is as long as that of the function
itself. The traceback is changed where the exception is handed on, so Python, IPython, pytest and
whatever prints it show the same. ``config.traceback = "full"`` leaves it as it is.

A transform has a `boundary` of its own; `publish` gives one to all functions of a namespace.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import types
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, ParamSpec, TypeGuard, TypeVar

from funcgrad.config import Config, config
from funcgrad.core.primitive import Primitive
from funcgrad.core.tracer import Operand, Trace, running, uncompiled
from funcgrad.errors import ARGUMENTS, FuncgradError, is_of_numpy, is_ours, nearest

__all__ = [
    "bound_class",
    "bound_names",
    "boundary",
    "bounded",
    "bounded_if_ours",
    "hide_frames",
    "look_for_leaks",
    "lookup",
    "publish",
    "suggest_names",
]

_HIDDEN = 'funcgrad\'s own frames are not shown; funcgrad.config.traceback = "full" shows them'
_EXTRAS = {  # packages that are needed by a part of ours
    "scipy": "SciPy is needed for this: pip install 'funcgrad[scipy]'",
    "hypothesis": "hypothesis is needed for this: pip install 'funcgrad[testing]'",
}
_IMPORTS = frozenset(  # where what is imported on use is looked for
    (importlib.__file__, "<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>")
)

P = ParamSpec("P")
R = TypeVar("R")


def boundary(function: Callable[P, R]) -> Callable[P, R]:
    """A public function whose errors show lines of the program only."""
    return functools.update_wrapper(bounded(function), function)


def bounded(function: Callable[P, R]) -> Callable[P, R]:
    """The same for a function without a name, which is made anew at each call of another one."""

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            if not uncompiled:
                return function(*args, **kwargs)
            before = last_ended()
            found = function(*args, **kwargs)
            if last_ended() is not before:
                look_for_leaks()
            return found
        except Exception as error:
            hide_frames(error)
            raise

    return call


def lookup(find: Callable[[str], Any]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module, whose errors say all that there is to say."""

    def __getattr__(name: str) -> Any:
        if name == "__path__":  # each `from … import` asks whether the module is a package
            raise AttributeError("only a package has a __path__", name=name)
        try:
            return find(name)
        except Exception as error:
            if type(error) is AttributeError:
                error.name = error.name or ""  # or Python would guess what was meant a second time
            hide_frames(error, told=True)
            raise

    return __getattr__


def publish(
    module: str, later: Sequence[str] = (), reason: Callable[[str], str] = lambda name: ""
) -> None:
    """Complete a public namespace: `suggest_names`, and a boundary about each of its functions.

    The module that defines a function holds the one with a boundary, too: it is pickled by its
    name there. What other modules of ours have imported before stays as it is, and costs nothing.
    """
    bound_names(module)
    suggest_names(module, later, reason)


def suggest_names(
    module: str, later: Sequence[str] = (), reason: Callable[[str], str] = lambda name: ""
) -> None:
    """Give a module a ``__getattr__`` that tells of a misspelt name which one was meant.

    Where it has ``__all__``, `dir` shows these names and no others. Both are put into the module
    as it runs, so that a type checker does not take them for a promise that there is every name.

    Parameters
    ----------
    later : sequence of str, optional
        Submodules that are imported when they are first asked for.
    reason : callable, optional
        Why there is no such name, or "".
    """
    space = sys.modules[module]

    @lookup
    def find(name: str) -> Any:
        if name in later:
            return importlib.import_module(f"{module}.{name}")
        text = f"module {module!r} has no attribute {name!r}"
        if not name.startswith("_"):
            text += reason(name) or nearest(name, [*dir(space), *later])
        raise AttributeError(text)

    vars(space)["__getattr__"] = find
    if hasattr(space, "__all__"):
        vars(space)["__dir__"] = lambda: sorted({*space.__all__, *later})


def bound_names(module: str, names: Iterable[str] | None = None) -> None:
    """Give each public function of a namespace, and the methods of its classes, a boundary."""
    space = vars(sys.modules[module])
    for name in space["__all__"] if names is None else names:
        found = space.get(name)
        if _needs_boundary(found):
            space[name] = _with_boundary(found)
        elif isinstance(found, type) and not issubclass(found, (Operand, Primitive, Trace)):
            bound_class(found, "funcgrad.")


def bounded_if_ours(function: Callable[P, R]) -> Callable[P, R]:
    """A function that ours has made for the program, with a boundary; one of the program as it is.

    That of the program may have to be pickled by its name.
    """
    return boundary(function) if _needs_boundary(function) else function


def bound_class(
    cls: type, package: str, names: Container[str] | None = None, quick: Container[str] = ()
) -> None:
    """Give the methods and properties of a class, and of its bases of this package, a boundary.

    All that are public, or those with these `names`; but what is `quick` and cannot fail is called
    and read as it is.
    """
    for base in cls.__mro__:
        if base.__module__.startswith(package):
            for name, value in list(vars(base).items()):
                public = not name.startswith("_") or name in _CALLED_BY_PYTHON
                if public if names is None else name in names:
                    bound = _bound_member(value, name in quick)
                    if bound is not value:
                        setattr(base, name, bound)


def _bound_member(value: Any, quick: bool) -> Any:
    if isinstance(value, (classmethod, staticmethod)):
        inner = value.__func__
        return type(value)(boundary(inner)) if _needs_boundary(inner) else value
    if type(value) is property:  # a class of its own may answer for more than values
        get, put = value.fget, value.fset
        get = boundary(get) if _needs_boundary(get) and not quick else get
        put = boundary(put) if _needs_boundary(put) else put
        if get is value.fget and put is value.fset:
            return value
        return property(get, put, value.fdel, value.__doc__)
    return boundary(value) if _needs_boundary(value) and not quick else value


# What Python calls for the program, of which the methods that cannot fail are left out.
_CALLED_BY_PYTHON = frozenset(
    f"__{name}__"
    for name in (
        *("new", "init", "call", "getitem", "setitem", "delitem", "contains", "len", "iter"),
        *("next", "enter", "exit", "setattr", "delattr", "getattr", "reduce_ex", "deepcopy"),
        *("add", "iadd", "sub", "mul", "imul", "truediv", "matmul", "pow", "array", "format"),
        *("radd", "rsub", "rmul", "rtruediv", "rmatmul", "array_ufunc", "array_function"),
    )
)


def _needs_boundary(value: object) -> TypeGuard[types.FunctionType]:
    """Whether it is a function of ours that has none.

    Where a call must cost nothing more, a function does itself what `bounded` does: what stands in
    ``try`` costs nothing until an error comes.
    """
    if type(value) is not types.FunctionType or not (value.__module__ or "").startswith(
        "funcgrad."
    ):
        return False
    code = value.__code__
    return "hide_frames" not in code.co_names and not code.co_flags & inspect.CO_GENERATOR


def _with_boundary(function: types.FunctionType) -> Callable[..., Any]:
    """The function with a boundary, the same one in each namespace."""
    defining, name = vars(sys.modules[function.__module__]), function.__name__
    if defining.get(name) is function:
        defining[name] = boundary(function)
    held: Any = defining.get(name)
    return held if getattr(held, "__wrapped__", None) is function else boundary(function)


def last_ended() -> object:
    """What has ended last, where `debug.leaks` asks for it.

    A function looks for the values of what has ended in it: where it is called by a transform of
    ours that has just ended, that still holds its own.
    """
    return running.leaks.ended[-1] if running.leaks is not None and running.leaks.ended else None


def look_for_leaks() -> None:
    """Raise if traced values have leaked, where `debug.leaks` asks for it."""
    if running.leaks is not None:
        from funcgrad.core.leaks import look  # needed by few programs

        look()


def hide_frames(error: BaseException, told: bool = False) -> None:
    """Take our frames out of the tracebacks of an error and of those behind it.

    The caller has caught it and hands it on by a bare ``raise``, which adds no entry of its own.
    A note tells of them, unless the error is `told` to say enough.
    """
    hidden = config.traceback != "full"
    if isinstance(error, ModuleNotFoundError) and error.name in _EXTRAS:
        _note(error, _EXTRAS[error.name])
    elif not told and not isinstance(error, FuncgradError) and _raised_by_us(error):
        _add_note(error, hidden)
    if not hidden:
        return
    seen: set[int] = set()
    behind: BaseException | None = error
    while behind is not None and id(behind) not in seen:
        seen.add(id(behind))
        behind.__traceback__ = _of_the_program(behind.__traceback__)
        cause = behind.__cause__
        if cause is not None and _says_nothing_more(cause, behind):
            cause = behind.__cause__ = cause.__cause__
        behind = cause or behind.__context__


def _add_note(error: BaseException, hidden: bool) -> None:
    """Tell of frames that are not shown, and of the section on errors in NumPy's words."""
    note = _HIDDEN if hidden else ""
    if isinstance(error, (TypeError, ValueError, IndexError)):
        note = f"{note}{ARGUMENTS}".removeprefix("\n")
    if note:
        _note(error, note)


def _note(error: BaseException, note: str) -> None:
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def _entries(trace: types.TracebackType | None) -> list[types.TracebackType]:
    found = []
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found


def _raised_by_us(error: BaseException) -> bool:
    """Whether a frame of ours raised it, or NumPy below one, in words that are not ours."""
    frames = (e.tb_frame for e in reversed(_entries(error.__traceback__)))
    last = next((f for f in frames if is_ours(f) or not is_of_numpy(f)), None)
    return last is not None and is_ours(last) and ARGUMENTS not in str(error)


def _says_nothing_more(cause: BaseException, error: BaseException) -> bool:
    """Whether no line of the program led to a cause, and its text stands in that of the error."""
    return _of_the_program(cause.__traceback__) is None and str(cause) in str(error)


def _of_the_program(trace: types.TracebackType | None) -> types.TracebackType | None:
    kept: types.TracebackType | None = None
    for each in reversed(_entries(trace)):
        if not is_ours(each.tb_frame) and each.tb_frame.f_code.co_filename not in _IMPORTS:
            kept = types.TracebackType(kept, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return kept


# A wrong setting is an error at the line that sets it; the settings lie below us.
Config.__setattr__ = boundary(Config.__setattr__)  # type: ignore[method-assign]

suggest_names("funcgrad.errors")
