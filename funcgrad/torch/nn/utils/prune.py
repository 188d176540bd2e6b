"""Pruning: parameters of which parts are zero, as a parameter times a mask.

A module whose parameter ``weight`` is pruned has the parameter ``weight_orig`` and the buffer
``weight_mask``; ``weight`` itself is their product, which a hook computes before each call.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.absent import absent
from funcgrad.torch.nn.utils import parameters_to_vector
from funcgrad.torch.operations.creation import ones_like, zeros_like
from funcgrad.torch.operations.sampling import rand, rand_like

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured",
    "PruningContainer", "RandomStructured", "RandomUnstructured", "custom_from_mask",
    "global_unstructured", "identity", "is_pruned", "l1_unstructured", "ln_structured",
    "random_structured", "random_unstructured", "remove",
]  # fmt: skip


class BasePruningMethod(ABC):
    """How a mask is computed; as the hook of a module, what applies it before each call.

    A class of one's own says its `PRUNING_TYPE`, which is "unstructured", "structured" (with an
    attribute `dim`) or "global", and has the method `compute_mask`.
    """

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of a tensor of importances, 0 also where `default_mask` is."""

    def apply_mask(self, module: Any) -> Tensor:
        """The product of the parameter and the mask that the module has."""
        mask = getattr(module, f"{self._tensor_name}_mask")
        whole = getattr(module, f"{self._tensor_name}_orig")
        out: Tensor = mask.to(dtype=whole.dtype) * whole
        return out

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> BasePruningMethod:  # fmt: skip
        """Prune the parameter `name`, on top of what is pruned of it; a failure changes nothing."""
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        key, before = _hook_of(module, name)
        whole: Tensor = getattr(module, name)
        _check_scores(importance_scores, whole, f"parameter {name} of {module}")
        scores = whole if importance_scores is None else importance_scores
        if before is None:
            mask = method.compute_mask(scores, default_mask=ones_like(whole))
        else:
            method = _combined(before, method)
            present = getattr(module, f"{name}_mask").detach().clone()
            mask = method.compute_mask(scores, default_mask=present)
        if before is None:
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", whole)
        else:
            del module._forward_pre_hooks[key]
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """A tensor times its mask."""
        _check_scores(importance_scores, t, "tensor t")
        scores = t if importance_scores is None else importance_scores
        mask = ones_like(t) if default_mask is None else default_mask
        out: Tensor = t * self.compute_mask(scores, default_mask=mask)
        return out

    def remove(self, module: Any) -> None:
        """Make the product the parameter, for good."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        whole = module._parameters.pop(f"{name}_orig")
        whole.data = weight.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, whole)


def _check_scores(scores: Tensor | None, t: Tensor, what: str) -> None:
    if scores is not None and scores.shape != t.shape:
        raise AssertionError(
            f"importance_scores should have the same shape as {what}, got {scores.shape} vs "
            f"{t.shape}"
        )


def _hook_of(module: Any, name: str) -> tuple[Any, BasePruningMethod | None]:
    """The hook that prunes a parameter, and its key."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None, None


class PruningContainer(BasePruningMethod):
    """Methods that have been applied one after the other; the last one is computed."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method for the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask`, with the last method's mask of what it leaves."""
        method = self._pruning_methods[-1]
        part = _left(method, t, default_mask)
        out: Tensor = default_mask.to(dtype=t.dtype).clone()
        mask = method.compute_mask(t[part], default_mask=default_mask[part])
        out[part] = mask.to(dtype=out.dtype)
        return out


def _combined(before: BasePruningMethod, method: BasePruningMethod) -> PruningContainer:
    """A new container, so that one that fails leaves the old one as it is."""
    methods = before if isinstance(before, PruningContainer) else (before,)
    made = PruningContainer()
    made._tensor_name = method._tensor_name
    for each in (*methods, method):
        made.add_pruning_method(each)
    return made


def _left(method: BasePruningMethod, t: Tensor, mask: Tensor) -> Any:
    """The index of the part of a tensor of which something is left, for a method of its type."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    whole: list[Any] = [slice(None)] * t.dim()
    if method.PRUNING_TYPE == "global":
        return tuple(whole)
    if method.PRUNING_TYPE != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    if not hasattr(method, "dim"):
        raise AttributeError(
            'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
        )
    dim = method.dim + t.dim() if method.dim < 0 else method.dim
    if dim < 0:
        raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
    whole[dim] = mask.sum(dim=[k for k in range(t.dim()) if k != dim]) != 0
    return tuple(whole)


# -------------------------------------------------------------------------------------- amounts


def _check_amount(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if float(amount) < 0 or (not isinstance(amount, numbers.Integral) and float(amount) > 1):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def _count(amount: Any, size: int) -> int:
    """How many of `size` are pruned."""
    if not isinstance(amount, numbers.Integral):
        return round(float(amount) * size)
    if int(amount) > size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to prune={size}"
        )
    return int(amount)


def _check_channels(t: Tensor, dim: int) -> None:
    if t.dim() < 2:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
            f"shape {t.shape} with {t.dim()} dims"
        )
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


# -------------------------------------------------------------------------------------- methods


class Identity(BasePruningMethod):
    """Nothing is pruned: the mask is of ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask`."""
        return default_mask


class _Unstructured(BasePruningMethod):
    """Elements: a number of them, or a part."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _check_amount(amount)
        self.amount = amount

    def least(self, t: Tensor, count: int) -> Tensor:
        """The positions of the elements to prune in the flattened tensor."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask`, and 0 at some elements."""
        count = _count(self.amount, t.numel())
        mask: Tensor = default_mask.clone().contiguous()
        if count:
            mask.view(-1)[self.least(t, count)] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Elements drawn at random: PyTorch's for the same seed."""

    def least(self, t: Tensor, count: int) -> Tensor:
        """Where the largest random numbers are."""
        found: Tensor = rand_like(t).view(-1).topk(count).indices
        return found


class L1Unstructured(_Unstructured):
    """The elements of least absolute value."""

    def least(self, t: Tensor, count: int) -> Tensor:
        """Where they are."""
        found: Tensor = t.abs().reshape(-1).topk(count, largest=False).indices
        return found


class _Structured(BasePruningMethod):
    """Channels along a dimension: a number of them, or a part."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def kept(self, t: Tensor, size: int, count: int) -> Tensor:
        """The channels to keep, as an index, where `count` of `size` are pruned."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask`, and 0 in some channels."""
        _check_channels(t, self.dim)
        size = t.shape[self.dim]
        count = _count(self.amount, size)
        if not count:
            return default_mask
        mask: Tensor = zeros_like(t)
        index: list[Any] = [slice(None)] * t.dim()
        index[self.dim] = self.kept(t, size, count)
        mask[tuple(index)] = 1
        mask *= default_mask.to(dtype=mask.dtype)
        return mask


class RandomStructured(_Structured):
    """Channels drawn at random: PyTorch's for the same seed."""

    def kept(self, t: Tensor, size: int, count: int) -> Tensor:
        """Where a random number is above the `count`-th."""
        drawn: Tensor = rand(size)
        found: Tensor = drawn > drawn.kthvalue(count).values
        return found


class LnStructured(_Structured):
    """The channels of least norm."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def kept(self, t: Tensor, size: int, count: int) -> Tensor:
        """Where the norms are largest."""
        dims = list(range(t.dim()))
        del dims[self.dim]
        found: Tensor = t.norm(p=self.n, dim=dims).topk(size - count).indices
        return found


class CustomFromMask(BasePruningMethod):
    """A mask of one's own."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The product of both masks."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}"
            )
        out: Tensor = default_mask * self.mask.to(dtype=default_mask.dtype)
        return out


# ------------------------------------------------------------------------------------ functions


def identity(module: Any, name: str) -> Any:
    """Give a parameter a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prune elements drawn at random: `amount` of them, or that part."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Any, name: str, amount: float, importance_scores: Tensor | None = None
) -> Any:
    """Prune the elements of least absolute value: `amount` of them, or that part.

    Parameters
    ----------
    module : Module
    name : str
        Of the parameter.
    amount : int or float
        How many, or which part of all in [0, 1].
    importance_scores : Tensor, optional
        What counts instead of the parameter itself.

    Returns
    -------
    Module
        `module`, which is changed.

    Raises
    ------
    ValueError, TypeError, AssertionError
        An amount that is negative, too large or no number; scores of another shape. Nothing is
        changed then.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> layer = torch.nn.utils.prune.l1_unstructured(torch.nn.Linear(2, 3), "weight", 0.5)
    >>> list(layer.state_dict()), int(layer.weight_mask.sum())
    (['bias', 'weight_orig', 'weight_mask'], 3)
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prune channels along `dim` drawn at random: `amount` of them, or that part."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Any, name: str, amount: float, n: Any, dim: int,
    importance_scores: Tensor | None = None,
) -> Any:  # fmt: skip
    """Prune the channels along `dim` of least norm of order `n`: `amount` of them, or that part."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prune a parameter where a mask is 0."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]], pruning_method: Any,
    importance_scores: dict[Any, Tensor] | None = None, **kwargs: Any,
) -> None:  # fmt: skip
    """Prune elements of several parameters as if they were one.

    `parameters` are pairs of a module and a name, and keys of `importance_scores`;
    `pruning_method` is a class for single elements, called with the other arguments.

    Raises
    ------
    TypeError
        Parameters that are no iterable, scores that are no dict, a method for channels.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = list(parameters)
    tensors = [getattr(module, name) for module, name in pairs]
    flat = parameters_to_vector(
        [scores.get(pair, t) for pair, t in zip(pairs, tensors, strict=True)]
    )
    before = parameters_to_vector(
        [getattr(m, f"{name}_mask", ones_like(t))
         for (m, name), t in zip(pairs, tensors, strict=True)]
    )  # fmt: skip
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    mask = PruningContainer(method).compute_mask(flat, before)
    start = 0
    for (module, name), t in zip(pairs, tensors, strict=True):
        custom_from_mask(module, name, mask=mask[start : start + t.numel()].view_as(t))
        start += t.numel()


def remove(module: Any, name: str) -> Any:
    """Make a pruned parameter an ordinary one, with its zeros.

    Raises
    ------
    ValueError
        The parameter is not pruned.
    """
    key, hook = _hook_of(module, name)
    if hook is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module: Any) -> bool:
    """Whether a parameter of the module, or of one within it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for _, part in module.named_modules()
        for hook in part._forward_pre_hooks.values()
    )


absent(__name__)
