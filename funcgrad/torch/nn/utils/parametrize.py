"""Parameters that are functions of others: `register_parametrization` and what goes with it.

A tensor of a module is replaced by a property that computes it from its originals, which are held
in a `ParametrizationList` under ``module.parametrizations``. The class of the module is replaced by
one of its own, which has the property.
"""

from __future__ import annotations

import copyreg
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.modes import no_grad
from funcgrad.torch.nn.modules.container import ModuleDict, ModuleList
from funcgrad.torch.nn.modules.module import Module
from funcgrad.torch.nn.parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization",
    "remove_parametrizations", "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]  # fmt: skip

NOT_SAVED = (
    "Serialization of parametrized modules is only supported through state_dict(). See:\n"
    "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
    "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
)


class _Cache(threading.local):
    """What has been computed within `cached`, of each thread."""

    depth = 0

    def __init__(self) -> None:
        self.values: dict[Any, Tensor] = {}


_cache = _Cache()


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once only while the context lasts.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> from funcgrad.torch.nn.utils import parametrize
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> with parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    _cache.depth += 1
    try:
        yield
    finally:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.values = {}


def _hold(module: Any, name: str, x: Any) -> None:
    if isinstance(x, Parameter):
        module.register_parameter(name, x)
    else:
        module.register_buffer(name, x)


def _inverted(modules: Sequence[Any], value: Any) -> Any:
    """What the originals have to be; a parametrization without `right_inverse` changes nothing."""
    with no_grad():
        for module in reversed(modules):
            if hasattr(module, "right_inverse"):
                try:
                    value = module.right_inverse(value)
                except NotImplementedError:
                    continue
    return value


class ParametrizationList(ModuleList):
    """The parametrizations of a tensor, one after the other, and what they begin with.

    This is ``original``, or ``original0``, ``original1`` … where the `right_inverse` of the first
    parametrization gives a sequence of tensors.

    Parameters
    ----------
    modules : sequence of Module
    original : Tensor
        The parameter or buffer whose place they take.
    unsafe : bool, optional
        Whether shape and dtype may change; nothing is checked then.

    Raises
    ------
    ValueError
        Parametrizations that change shape or dtype, or do not give tensors.
    """

    def __init__(self, modules: Sequence[Any], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new = _inverted(list(self), original)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            self._begin_with(original, new)
        else:
            for i, x in enumerate(new):
                self._begin_with_one_of(original, i, x)
        if not unsafe:
            check_kept(
                self(), shape, dtype, "unless `unsafe` flag is enabled", "unparametrized",
                "parametrized",
            )  # fmt: skip

    def _begin_with(self, original: Tensor, new: Any) -> None:
        if original.dtype is not new.dtype:
            raise ValueError(
                "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
            )
        with no_grad():
            original.data = new.detach()
        _hold(self, "original", original)

    def _begin_with_one_of(self, original: Tensor, i: int, x: Any) -> None:
        if not isinstance(x, Tensor):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got element {i} of the sequence with type {type(x).__name__}."
            )
        if isinstance(original, Parameter):
            x = Parameter(x, original.requires_grad)
        x.requires_grad_(original.requires_grad)
        _hold(self, f"original{i}", x)

    def _originals(self) -> list[Any]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def forward(self) -> Any:
        """The tensor."""
        first, *others = list(self)
        x = first(*self._originals())
        for module in others:
            x = module(x)
        return x

    def right_inverse(self, value: Any) -> None:
        """Change the originals so that the tensor becomes `value`."""
        _cache.values.pop(self, None)
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
            for original, new in zip(self._originals(), self._checked(value), strict=True):
                original.data = new.detach()

    def _checked(self, value: Any) -> list[Tensor]:
        """New originals, all of which fit."""
        if self.is_tensor:
            if not isinstance(value, Tensor):
                raise ValueError(
                    f"`right_inverse` should return a tensor. Got {type(value).__name__}"
                )
            if value.dtype is not self.original.dtype:
                raise ValueError(
                    f"The tensor returned by `right_inverse` has dtype {value.dtype} while "
                    f"`original` has dtype {self.original.dtype}"
                )
            return [value]
        if not isinstance(value, Sequence):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}."
            )
        if len(value) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(value)}."
            )
        for i, (x, original) in enumerate(zip(value, self._originals(), strict=True)):
            if not isinstance(x, Tensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors. Got element "
                    f"{i} of type {type(x).__name__}."
                )
            if x.dtype is not original.dtype:
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has dtype {x.dtype} while "
                    f"`original{i}` has dtype {original.dtype}"
                )
        return list(value)


def check_kept(x: Any, shape: Any, dtype: Any, unless: str, before: str, after: str) -> None:
    """Raise where a parametrization gives another shape or dtype."""
    if not isinstance(x, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(x).__name__}.")
    for what, old, new in (("dtype", dtype, x.dtype), ("shape", shape, x.shape)):
        if old != new:
            gap = "" if before.endswith(".") or after.endswith(".") else " "
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, {unless}."
                f"\n{before}{gap}{what}: {old}\n{after}{gap}{what}: {new}"
            )


# --------------------------------------------------------------------------------- registering


def _deepcopied(self: Any, memo: dict[int, Any]) -> Any:
    found = memo.get(id(self))
    if found is not None:
        return found
    made = self.__new__(type(self))
    memo[id(self)] = made
    made.__dict__ = deepcopy(self.__dict__, memo)
    for slot in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
        if hasattr(self, slot):
            setattr(made, slot, deepcopy(getattr(self, slot), memo))
    return made


def _refuse_to_pickle(self: Any) -> Any:
    raise RuntimeError(NOT_SAVED)


def _give_class(module: Any) -> None:
    """Replace the class of a module by one that may have properties of its own."""
    cls = type(module)
    members: dict[str, Any] = {"__getstate__": _refuse_to_pickle}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopied
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _give_property(module: Any, name: str) -> None:
    def get(self: Any) -> Any:
        found = self.parametrizations[name]
        if not _cache.depth:
            return found()
        if found not in _cache.values:
            _cache.values[found] = found()
        return _cache.values[found]

    def put(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, put))


def register_parametrization(
    module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False
) -> Any:
    """Let a parameter or buffer of a module be what `parametrization` makes of it.

    Parameters
    ----------
    module : Module
    tensor_name : str
    parametrization : Module
        Called with the original tensor. Its `right_inverse`, if there is one, says which original
        gives a tensor: so the module begins with the values that it had, and ``module.weight = x``
        works. Where it returns a sequence, there are as many originals.
    unsafe : bool, optional
        Whether shape and dtype may change.

    Returns
    -------
    Module
        `module` itself.

    Raises
    ------
    ValueError
        There is no such tensor; the parametrization changes shape or dtype, or gives no tensor.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).mT
    >>> layer = torch.nn.Linear(3, 3)
    >>> layer = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> torch.equal(layer.weight, layer.weight.T)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_next(module, tensor_name, parametrization)
        found = module.parametrizations[tensor_name]
        found.append(parametrization)
        found.unsafe |= unsafe
        _cache.values.pop(found, None)
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _give_class(module)
        module.parametrizations = ModuleDict()
    _give_property(module, tensor_name)
    module.parametrizations[tensor_name] = made
    return module


def _check_next(module: Any, name: str, parametrization: Any) -> None:
    """Raise where one more parametrization does not keep shape and dtype."""
    y = getattr(module, name)
    x = parametrization(y)
    unless = "unless the `unsafe` flag is enabled"
    check_kept(x, y.shape, y.dtype, unless, f"module.{name}.", f"parametrization(module.{name}).")
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        z = parametrization.right_inverse(x)
    except NotImplementedError:
        return
    if not isinstance(z, Tensor):
        raise ValueError(
            f"parametrization.right_inverse must return a tensor. Got: {type(z).__name__}"
        )
    for what, old, new in (("dtype", y.dtype, z.dtype), ("shape", y.shape, z.shape)):
        if old != new:
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} "
                f"as module.{name}, {unless}.\nmodule.{name}.{what}: {old}\nreturned {what}: {new}"
            )


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether a module has a parametrization, or one of the tensor `tensor_name`."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Make a tensor of a module a parameter or buffer again.

    Parameters
    ----------
    module : Module
    tensor_name : str
    leave_parametrized : bool, optional
        Whether it has the values that it has now, not those of its original.

    Returns
    -------
    Module
        `module` itself.

    Raises
    ------
    ValueError
        The tensor is not parametrized, or would be left with several originals.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    found = module.parametrizations[tensor_name]
    if found.is_tensor:
        original = found.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        t = getattr(module, tensor_name)
        original = Parameter(t) if t.requires_grad else t
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    _cache.values.pop(found, None)
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _hold(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Any) -> type:
    """The class of a module without parametrizations."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Any, to_module: Any, tensor_name: str | None = None
) -> Module:
    """Give another module the parametrizations of a module, with the same originals."""
    if not is_parametrized(from_module):
        found: Module = to_module
        return found
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        source = from_module.parametrizations[name]
        for module in source:
            register_parametrization(to_module, name, module)
        target = to_module.parametrizations[name]
        held = (
            ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]
        )
        for original in held:
            setattr(target, original, getattr(source, original))
    moved: Module = to_module
    return moved
