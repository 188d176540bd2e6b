"""What a record of an operation becomes: function, method, in-place form, ``out=``.

Every form has PyTorch's checks of its arguments before anything is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

from funcgrad.core.boundary import hide_frames
from funcgrad.ops.arithmetic import cast
from funcgrad.torch import recorders
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.common import into, into_each
from funcgrad.torch.operations.operators import give_operator
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.results import lying
from funcgrad.torch.operations.signature import Arguments, place_of_input
from funcgrad.torch.remembered import remembered
from funcgrad.torch.writing import check_overlap, check_writable, write

if TYPE_CHECKING:
    from funcgrad.torch.operations.record import Operation

__all__ = ["changing_function", "changing_method", "installed"]


def installed(record: Operation) -> Any:
    """Give `Tensor` the methods of an operation, and return its function."""
    name = record.name
    if record.lies:
        record.rule, record.lies = lying(record.rule, record.lies), ""  # aliases have it so
    if "method" in record.variants:
        method = _named(record, name, _fast(record, _method(record), "method"))
        setattr(Tensor, name, method)
        if "inplace" in record.variants:
            setattr(Tensor, f"{name}_", _changing(record, method))
    function = _named(record, name, _fast(record, _function(record), "function"))
    if record.operator is not None:
        give_operator(record.operator, function, "inplace" in record.variants)
    return function


def _fast(record: Operation, general: Callable[..., Any], form: str) -> Callable[..., Any]:
    """`general` behind the paths that repeat what it has done (see `recorders`, `recipes`)."""
    if record.hot and record.node is not None:
        fast: Callable[..., Any] = recorders.unary(
            record.core, record.node, general, record.recorders
        )
        return fast
    if record.quick is not None:
        return _tried(record.quick, general)
    if record.remembers:
        rule, signature = record.rule, record.signature
        name = f"{form} {rule.__module__}.{rule.__qualname__} {record.name}({signature})"
        return remembered(general, record.positions, name)  # each form refuses other calls
    return general


def _tried(quick: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            if not kwargs and (made := quick(*args)) is not None:
                return made
            return general(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    return function


def _named(record: Operation, name: str, function: Any) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__module__ = "funcgrad.torch"
    function.__doc__ = f"``{name}({record.signature})``\n\n{cleandoc(record.doc)}"
    function.operation = record
    return function


def _function(record: Operation) -> Callable[..., Any]:
    name, rule = record.name, record.rule
    arguments = Arguments(name, record.signature, "function")
    known = arguments.positional

    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            if not kwargs and (rest := known.get((*map(type, args),))) is not None:
                return rule(*args, *rest)
            *given, out = arguments(args, kwargs)
            if out is None:
                return rule(*given)
            result = rule(*given, out) if record.sees_out else rule(*given)
            return (into if isinstance(result, Tensor) else into_each)(out, result, name)
        except Exception as error:
            hide_frames(error)
            raise

    return function


def _method(record: Operation) -> Callable[..., Any]:
    rule, arguments = record.rule, Arguments(record.name, record.method_signature, "method")
    at, known = place_of_input(record.signature), arguments.positional

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        try:
            if at == 0 and not kwargs and (rest := known.get((*map(type, args),))) is not None:
                return rule(self, *args, *rest)
            given = arguments(args, kwargs)
            return rule(*given[:at], self, *given[at:-1])
        except Exception as error:
            hide_frames(error)
            raise

    return method


def _changing(record: Operation, method: Callable[..., Any]) -> Callable[..., Tensor]:
    """The in-place method: what the method gives is written into the tensor."""
    name = f"{record.name}_"
    arguments = Arguments(name, record.method_signature, "method in place")
    checked, entire = record.overlap != "any", record.overlap == "none"
    before, casts = record.before_change, record.casts
    at, direct = place_of_input(record.signature), not (record.hot or record.remembers)

    def changed(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        try:
            given = arguments(args, kwargs)
            check_writable(self)
            if before is not None:
                before(self, *given[:-1])
            if checked:
                for x in given:
                    if isinstance(x, Tensor):
                        check_overlap(self, x, entire)
            if direct:
                found = record.rule(*given[:at], self, *given[at:-1])._t
            else:
                found = method(self, *args, **kwargs)._t
            return write(self, cast(found, dtype_of(self._t)) if casts else found)
        except Exception as error:
            hide_frames(error)
            raise

    return _named(record, name, changed)  # type: ignore[no-any-return]


def changing_method(record: Operation, change: Callable[..., Tensor]) -> None:
    """Give `Tensor` an in-place method that does more than to write what the function gives."""
    name = f"{record.name}_"
    arguments = Arguments(name, record.signature, "method in place")

    def changed(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        try:
            given = arguments(args, kwargs)
            check_writable(self)
            return change(self, *given[:-1])
        except Exception as error:
            hide_frames(error)
            raise

    setattr(Tensor, name, _named(record, name, changed))


def changing_function(record: Operation) -> Callable[..., Tensor]:
    """``exp_(x)``, which is ``x.exp_()``."""
    name = f"{record.name}_"
    arguments = Arguments(name, record.signature, "function in place")
    method: Any = getattr(Tensor, name)

    def function(*args: Any, **kwargs: Any) -> Tensor:
        try:
            arguments(args, kwargs)
            if args:
                return method(*args, **kwargs)  # type: ignore[no-any-return]
            tensor = next(name for name in ("input", "self", "x", "a", "x1") if name in kwargs)
            return method(kwargs.pop(tensor), **kwargs)  # type: ignore[no-any-return]
        except Exception as error:
            hide_frames(error)
            raise

    return _named(record, name, function)  # type: ignore[no-any-return]
