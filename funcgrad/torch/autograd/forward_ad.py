"""``torch.autograd.forward_ad``: forward mode, with tensors that carry their tangents."""

from __future__ import annotations

import itertools
from typing import NamedTuple, Self

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.duals import forget_tangents, set_tangent, without_tangents
from funcgrad.torch.modes import Mode, modes
from funcgrad.torch.root import RootTracer, tangent_of
from funcgrad.torch.views import ALIAS, rename, view_like

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

serial = itertools.count()


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Begin a level of forward mode; there can be one at a time."""
    if modes.dual is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    modes.dual, modes.dual_nodes = next(serial), []
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level of forward mode: tensors lose their tangents."""
    current = -1 if modes.dual is None else 0
    if level is not None and level != current:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This "
            "is not supported."
        )
    if modes.dual is None:
        raise RuntimeError("Dual level must be a positive number.")
    modes.dual = None
    forget_tangents()


class dual_level(Mode):
    """A context, or decorator, of forward mode.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> from funcgrad.torch.autograd import forward_ad
    >>> x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0])
    >>> with forward_ad.dual_level():
    ...     y = forward_ad.make_dual(x, v) ** 3
    ...     print(forward_ad.unpack_dual(y).tangent)
    tensor([3., 0.])
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *_: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor of the same memory that carries a tangent.

    Parameters
    ----------
    tensor, tangent : Tensor
        Of the same shape; floating point or complex. Operations in place on the result change both.
    level : int, optional
        What `enter_dual_level` returned.

    Raises
    ------
    RuntimeError
        Outside a level, where the shapes differ, and where `tensor` has a tangent already.
    ValueError
        For integers.

    Notes
    -----
    Reverse mode differentiates through it, and through the tangents: what `backward` or `grad` give
    inside the level are dual tensors again, whose tangents are Hessian products.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> from funcgrad.torch.autograd import forward_ad, grad
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with forward_ad.dual_level():
    ...     d = forward_ad.make_dual(x, torch.ones(2))
    ...     (g,) = grad((d**3).sum(), d)
    ...     print(forward_ad.unpack_dual(g).tangent)
    tensor([ 6., 12.])
    """
    if modes.dual is None or (level is not None and level < 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    for what, x in (("primal", tensor), ("tangent", tangent)):
        if not (x.is_floating_point() or x.is_complex()):
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {x.dtype}")
    if tangent_of(tensor._t) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            "same level 0 is not supported."
        )
    if tangent_of(tangent._t) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not "
            "supported."
        )
    made: Tensor = tensor.view_as(tensor)
    set_tangent(made, tangent)
    return made


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a dual tensor, as a view without tangent, and the tangent (None for zero)."""
    if modes.dual is None or (level is not None and level < 0):
        return UnpackedDualTensor(tensor, None)
    tangent = tangent_of(tensor._t) if modes.forward_grad else None
    with without_tangents():
        primal = view_like(tensor, lambda v: v.view())
        t = tensor.content()
        if isinstance(t, RootTracer) and t.node is not None:
            primal._t.node = rename(ALIAS(t), "Identity").node
    return UnpackedDualTensor(primal, tangent)


def _is_fwd_grad_enabled() -> bool:
    return modes.forward_grad


class _set_fwd_grad_enabled(Mode):
    """Switches tangents on or off, at once as a function, or until the end of a ``with`` block."""

    def __init__(self, mode: bool) -> None:
        self.mode, self.before = mode, modes.forward_grad
        modes.forward_grad = mode

    def clone(self) -> Self:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        modes.forward_grad = self.mode

    def __exit__(self, *_: object) -> None:
        modes.forward_grad = self.before
