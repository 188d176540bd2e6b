"""What a module has: parameters, buffers and child modules, by name.

They are attributes: assigning one registers it, deleting takes it away. Iterating gives each
object once, with names that lead from the module to it (``"0.weight"``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from funcgrad.core.boundary import hide_frames
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn.modules.global_hooks import everywhere
from funcgrad.torch.nn.parameter import Buffer, Parameter

__all__ = ["Members", "typename"]


def typename(x: Any) -> str:
    """The name of a type as PyTorch's messages give it."""
    if isinstance(x, Tensor):
        shown: str = x.type()
        return shown
    found = x if hasattr(x, "__qualname__") else type(x)
    module = getattr(found, "__module__", "builtins")
    return found.__qualname__ if module == "builtins" else f"{module}.{found.__qualname__}"


class Members:
    """The part of `Module` that registers and finds."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Any]

    # ------------------------------------------------------------------------ registering

    def _check_name(self, what: str, name: Any, table: str) -> None:
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or the place for one (None), which is the attribute `name`."""
        self._check_name("parameter", name, "_parameters")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must "
                    f"be created explicitly. To express '{name}' as a function of another Tensor, "
                    "compute the value in the forward() method."
                )
            param = everywhere.registered("parameter", self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is state but no parameter; `state_dict` has it if `persistent`."""
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        self._buffers[name] = everywhere.registered("buffer", self, name, tensor)
        change = self._non_persistent_buffers_set
        (change.discard if persistent else change.add)(name)

    def add_module(self, name: str, module: Any) -> None:
        """Add a child module, or the place for one (None), which is the attribute `name`."""
        if not isinstance(module, Members) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {typename(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = everywhere.registered("module", self, name, module)

    def register_module(self, name: str, module: Any) -> None:
        """`add_module` by another name."""
        self.add_module(name, module)

    # ------------------------------------------------------------------------- attributes

    def __getattr__(self, name: str) -> Any:
        try:
            own = self.__dict__
            for table in ("_parameters", "_buffers", "_modules"):
                found = own.get(table)
                if found is not None and name in found:
                    return found[name]
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        except Exception as error:
            hide_frames(error, told=True)
            raise

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            own = self.__dict__
            if isinstance(value, Parameter):
                if "_parameters" not in own:
                    raise AttributeError("cannot assign parameters before Module.__init__() call")
                self._forget(name, "_buffers", "_modules")
                self.register_parameter(name, value)
            elif name in own.get("_parameters", ()):
                if value is not None:
                    raise TypeError(
                        f"cannot assign '{typename(value)}' as parameter '{name}' "
                        "(torch.nn.Parameter or None expected)"
                    )
                self.register_parameter(name, None)
            elif isinstance(value, Members):
                if "_modules" not in own:
                    raise AttributeError("cannot assign module before Module.__init__() call")
                self._forget(name, "_parameters", "_buffers")
                self._modules[name] = everywhere.registered("module", self, name, value)
            elif name in own.get("_modules", ()):
                if value is not None:
                    raise TypeError(
                        f"cannot assign '{typename(value)}' as child module '{name}' "
                        "(torch.nn.Module or None expected)"
                    )
                self._modules[name] = everywhere.registered("module", self, name, None)
            elif isinstance(value, Buffer) or name in own.get("_buffers", ()):
                self._set_buffer(name, value)
            else:
                object.__setattr__(self, name, value)
        except Exception as error:
            hide_frames(error)
            raise

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' "
                "(torch.nn.Buffer, torch.Tensor or None expected)"
            )
        known = name not in self._non_persistent_buffers_set
        self.register_buffer(name, value, getattr(value, "persistent", known))

    def _forget(self, name: str, *tables: str) -> None:
        self.__dict__.pop(name, None)
        for table in tables:
            self.__dict__[table].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__]
        for table in (self._parameters, self._modules, self._buffers):
            names += table
        return sorted(name for name in names if not name[0].isdigit())

    # -------------------------------------------------------------------------- iterating

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """This module and all below it, each with its name."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from child.named_modules(memo, path, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """This module and all below it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The modules directly below, each with its name."""
        seen = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator[Any]:
        """The modules directly below."""
        for _, child in self.named_children():
            yield child

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        own = [(prefix, self)]
        found: Any = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else own
        )
        memo = set()
        for path, module in found:
            for name, member in get_members_fn(module):
                if member is None or member in memo:
                    continue
                if remove_duplicate:
                    memo.add(member)
                yield f"{path}.{name}" if path else name, member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters, each with its name; of this module only without `recurse`."""
        yield from self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters; of this module only without `recurse`."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers, each with its name; of this module only without `recurse`."""
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers; of this module only without `recurse`."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # ---------------------------------------------------------------------------- finding

    def _get_name(self) -> str:
        return type(self).__name__

    def get_submodule(self, target: str) -> Any:
        """The module of this name, such as ``"encoder.0"``; an AttributeError if there is none."""
        module: Any = self
        for item in target.split(".") if target else ():
            if not hasattr(module, item):
                raise AttributeError(f"{module._get_name()} has no attribute `{item}`")
            module = getattr(module, item)
            if not isinstance(module, Members):
                raise AttributeError(f"`{item}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Put `module` in the place with this name; with `strict` there must be one already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Members):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Members):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target: str) -> tuple[Any, str, Any]:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return module, name, getattr(module, name)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with this name; an AttributeError if there is none."""
        _, name, found = self._get_member(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with this name; an AttributeError if there is none."""
        module, name, found = self._get_member(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        buffer: Tensor = found
        return buffer
