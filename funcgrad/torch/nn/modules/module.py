"""`Module`: the base class of everything with parameters.

It is put together from what it has (`members`), how it is called (`module_calls`) and how it is
saved (`state`); here is the rest: modes, conversion, clearing gradients, and the printed form.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Self

from funcgrad.errors import outside
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.device import check_device
from funcgrad.torch.modes import no_grad
from funcgrad.torch.nn.modules.global_hooks import (
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from funcgrad.torch.nn.modules.module_calls import Calls, new_tables
from funcgrad.torch.nn.modules.state import State

__all__ = [
    "Module",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

COMPLEX = (
    "Complex modules are a new feature under active development whose design may change, and some "
    "modules might not work as expected when using complex tensors as parameters or buffers. "
    "Please file an issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml "
    "if a complex module does not work as expected."
)


class Module(Calls, State):
    """The base class of models: parameters, buffers and child modules, and a `forward`.

    A subclass calls ``super().__init__()``, assigns its parts as attributes and defines `forward`;
    the module is then called as a function.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> class Scale(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = torch.nn.Parameter(torch.tensor(2.0))
    ...
    ...     def forward(self, x):
    ...         return self.factor * x
    >>> scale = Scale()
    >>> scale(torch.ones(3)).sum().backward()
    >>> scale.factor.grad
    tensor(3.)
    """

    dump_patches = False
    training: bool

    def __init__(self) -> None:
        own = self.__dict__
        own["training"] = True
        own["_parameters"], own["_buffers"], own["_modules"] = {}, {}, {}
        own["_non_persistent_buffers_set"] = set()
        own.update(new_tables())
        for name in ("state_dict_hooks", "state_dict_pre_hooks", "load_state_dict_pre_hooks",
                     "load_state_dict_post_hooks"):  # fmt: skip
            own[f"_{name}"] = OrderedDict()

    def forward(self, *input: Any) -> Any:
        """What the module computes; to be overridden."""
        raise NotImplementedError(
            f'Module [{self._get_name()}] is missing the required "forward" function'
        )

    # ------------------------------------------------------------------------------ modes

    def train(self, mode: bool = True) -> Self:
        """Switch this module and all below it to training (dropout drops) or back."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Switch all parameters to require grad, or no longer."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of the parameters, and of nothing else.

        Without `set_to_none` zeros are written into them.
        """
        for p in self.parameters():
            clear_grad(p, set_to_none)

    # ------------------------------------------------------------------------- converting

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Call `fn` with all modules below this one, then with this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the contents of all parameters, their gradients and all buffers."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        with no_grad():
            for p in self._parameters.values():
                if p is None:
                    continue
                g = p.grad
                p.data = fn(p)
                if g is not None:
                    g.data = fn(g)
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, device: Any = None, dtype: Any = None,
           non_blocking: bool = False, memory_format: Any = None) -> Self:  # fmt: skip
        """Convert floating point parameters and buffers to a dtype; the only device is the CPU.

        A `memory_format` is for parameters and buffers of its rank, four or five dimensions.
        """
        for x in args:
            if isinstance(x, dtypes.dtype):
                dtype = x
            elif isinstance(x, Tensor):
                dtype = x.dtype
            elif x is not None and not isinstance(x, bool):
                device = x
        check_device(device)
        if memory_format is not None:
            self._apply(lambda x: x.to(memory_format=memory_format) if x.dim() in (4, 5) else x)
        if dtype is None:
            return self
        if not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={dtype}"
            )
        if dtype.is_complex:
            warnings.warn(COMPLEX, stacklevel=outside())
        return self._convert(dtype, complex_too=True)

    def _convert(self, dtype: dtypes.dtype, complex_too: bool = False) -> Self:
        def converted(x: Tensor) -> Tensor:
            if x.is_floating_point() or (complex_too and x.is_complex()):
                made: Tensor = x.to(dtype)
                return made
            return x

        return self._apply(converted)

    def float(self) -> Self:
        """All floating point parameters and buffers to float32."""
        return self._convert(dtypes.float32)

    def double(self) -> Self:
        """All floating point parameters and buffers to float64."""
        return self._convert(dtypes.float64)

    def half(self) -> Self:
        """All floating point parameters and buffers to float16."""
        return self._convert(dtypes.float16)

    def bfloat16(self) -> Self:
        """All floating point parameters and buffers to bfloat16."""
        return self._convert(dtypes.bfloat16)

    def type(self, dst_type: Any) -> Self:
        """All parameters and buffers to a dtype."""
        return self._apply(lambda x: x.type(dst_type))

    def cpu(self) -> Self:
        """The module itself: all memory is the CPU's."""
        return self

    # --------------------------------------------------------------------------- printing

    def extra_repr(self) -> str:
        """What the printed form says beside the children; to be overridden."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) == 1 and not self._modules:
            return f"{self._get_name()}({lines[0]})"
        lines += [f"({name}): {indented(repr(m))}" for name, m in self._modules.items()]
        inside = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{self._get_name()}({inside})"


def indented(text: str) -> str:
    """All lines but the first moved to the right."""
    return text.replace("\n", "\n  ")


def clear_grad(p: Tensor, set_to_none: bool) -> None:
    """Forget a gradient, or write zeros into it."""
    g = p.grad
    if g is None:
        return
    if set_to_none:
        p.grad = None
        return
    if g.grad_fn is not None:
        g.detach_()
    else:
        g.requires_grad_(False)
    g.zero_()
