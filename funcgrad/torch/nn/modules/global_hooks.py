"""Hooks of all modules: run at each call or registration of any module, before its own."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from funcgrad.torch.hooks import RemovableHandle, add_hook

__all__ = [
    "add",
    "everywhere",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

Table = OrderedDict[int, Any]


class Everywhere:
    """The tables of these hooks."""

    def __init__(self) -> None:
        self.forward_pre: Table = OrderedDict()
        self.forward: Table = OrderedDict()
        self.with_kwargs: Table = OrderedDict()
        self.always: Table = OrderedDict()
        self.backward_pre: Table = OrderedDict()
        self.backward: Table = OrderedDict()
        self.registration: dict[str, Table] = {
            "parameter": OrderedDict(),
            "buffer": OrderedDict(),
            "module": OrderedDict(),
        }

    def registered(self, what: str, module: Any, name: str, value: Any) -> Any:
        """`value` after the hooks of its registration, each of which may replace it."""
        for hook in list(self.registration[what].values()):
            result = hook(module, name, value)
            if result is not None:
                value = result
        return value


everywhere = Everywhere()


def add(
    table: Table, hook: Any, prepend: bool = False, marks: Sequence[Table] = ()
) -> RemovableHandle:
    """Register a hook in an ordered table, marked in other tables."""
    handle = add_hook(table, hook)
    if prepend:
        table.move_to_end(handle.id, last=False)
    for mark in marks:
        mark[handle.id] = True
    handle.tables = (table, *marks)
    return handle


def register_module_forward_pre_hook(hook: Any) -> RemovableHandle:
    """Call ``hook(module, args)`` before each ``forward`` of any module."""
    return add(everywhere.forward_pre, hook)


def register_module_forward_hook(
    hook: Any, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after each ``forward`` of any module."""
    marks = [everywhere.with_kwargs] if with_kwargs else []
    if always_call:
        marks.append(everywhere.always)
    return add(everywhere.forward, hook, False, marks)


def register_module_full_backward_pre_hook(hook: Any) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the backward pass of any module."""
    return add(everywhere.backward_pre, hook)


def register_module_full_backward_hook(hook: Any) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` after the backward pass of any module."""
    return add(everywhere.backward, hook)


def register_module_parameter_registration_hook(hook: Any) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` when any module gets a parameter."""
    return add(everywhere.registration["parameter"], hook)


def register_module_buffer_registration_hook(hook: Any) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when any module gets a buffer."""
    return add(everywhere.registration["buffer"], hook)


def register_module_module_registration_hook(hook: Any) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` when any module gets a child."""
    return add(everywhere.registration["module"], hook)
