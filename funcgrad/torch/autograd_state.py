"""What a tensor tells of its place in the graph: does it require grad, its node, its gradient."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

from funcgrad.core.boundary import hide_frames
from funcgrad.core.tracer import Operand
from funcgrad.errors import outside
from funcgrad.torch import dtypes
from funcgrad.torch.dimensions import check_requires_grad
from funcgrad.torch.modes import modes
from funcgrad.torch.nodes import AccumulateGrad, edge_of
from funcgrad.torch.root import RootTracer, leaf_tracer
from funcgrad.transforms.node import TapeTracer

if TYPE_CHECKING:
    from funcgrad.torch._tensor import Link, Tensor

__all__ = ["AutogradState", "check_differentiable"]

NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
    "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
    "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you "
    "access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead. See "
    "github.com/pytorch/pytorch/pull/30531 for more information."
)
ONLY_LEAVES = "you can only change requires_grad flags of leaf variables."
IN_TRANSFORM = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using "
    "torch.autograd.functional.* APIs) inside of a function being transformed by a functorch "
    "transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, "
    "vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being "
    "transformed instead."
)
DETACH_INSTEAD = (
    "If you want to use a computed variable in a subgraph that doesn't require differentiation use "
    "var_no_grad = var.detach()."
)


class AutogradState(Operand):
    """The autograd state of a tensor, which `Tensor` inherits."""

    __slots__ = ("__dict__", "__weakref__", "_grad", "_link", "_root", "_t")
    _t: Any
    _grad: Tensor | None
    _link: Link | None
    _root: Any  # see `storage`: the array in whose memory it lies, where that is not its own

    if TYPE_CHECKING:  # what `Tensor` has

        def _renewed(self) -> Any: ...
        @property
        def dtype(self) -> Any: ...
        @property
        def shape(self) -> Any: ...

    @property
    def requires_grad(self) -> bool:
        t, link = self._t, self._link
        if type(t) is not RootTracer:
            return isinstance(self._renewed(), TapeTracer)
        return t.node is not None or (link is not None and link.base._t.node is not None)

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        if not isinstance(flag, bool):
            raise RuntimeError("requires_grad must be a bool")
        if not self.is_leaf:
            raise RuntimeError(ONLY_LEAVES if flag else f"{ONLY_LEAVES} {DETACH_INSTEAD}")
        if flag and not (self.dtype.is_floating_point or self.dtype.is_complex):
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        self.requires_grad_(flag)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Make a leaf require grad, or no longer."""
        try:
            check_requires_grad(requires_grad, "requires_grad_", " (position 1)")
            t = self._t
            if type(t) is not RootTracer:
                raise RuntimeError(IN_TRANSFORM)
            if requires_grad == self.requires_grad:
                return self
            if not self.is_leaf:
                raise RuntimeError(f"{ONLY_LEAVES} {DETACH_INSTEAD}")
            if not requires_grad:
                if t.node.extra is not None:
                    t.hooks = t.node.extra.of_tensor()
                self._grad, t.node = t.node.grad, None
                return self
            check_differentiable(self.dtype, "only")
            if t.version.inference and not modes.inference:
                raise RuntimeError("Setting requires_grad=True on inference tensor outside "
                                   "InferenceMode is not allowed.")  # fmt: skip
            leaf_tracer(self, t)
            t.node.grad, self._grad = self._grad, None
            t.node.extra = getattr(t, "hooks", None)
            return self
        except Exception as error:
            hide_frames(error)
            raise

    @property
    def is_leaf(self) -> bool:
        t = self._renewed()
        if type(t) is not RootTracer:
            return False
        return t.node is None or type(t.node) is AccumulateGrad

    @property
    def grad_fn(self) -> Any:
        """The node that made the tensor, None for a leaf."""
        t = self._renewed()
        if type(t) is not RootTracer or type(t.node) is AccumulateGrad:
            return None
        return None if t.node is None else edge_of(t.node)[0]

    @property
    def output_nr(self) -> int:
        """Which output of its node the tensor is."""
        node = self._t.node
        return 0 if node is None else edge_of(node)[1]

    @property
    def grad(self) -> Tensor | None:
        """What backward passes have added up for a leaf, or after `retain_grad`."""
        t = self._t
        if type(t) is RootTracer and type(t.node) is AccumulateGrad:
            held: Tensor | None = t.node.grad
            return held
        if self._grad is None and not self.is_leaf and not self.retains_grad:
            warnings.warn(NON_LEAF_GRAD, UserWarning, stacklevel=outside())
        return self._grad

    @grad.setter
    def grad(self, new_grad: Tensor | None) -> None:
        if new_grad is not None:
            self._check_grad(new_grad)
        t = self._t
        if type(t) is RootTracer and type(t.node) is AccumulateGrad:
            t.node.grad = new_grad
        else:
            self._grad = new_grad

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def _check_grad(self, g: Any) -> None:
        if not isinstance(g, AutogradState):
            raise TypeError(
                f"assigned grad expected to be a Tensor or None but got grad of type "
                f"'{type(g).__name__}'"
            )
        if g is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if g.dtype is not self.dtype:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{dtypes.c_name(g.dtype)}' to a "
                f"tensor with grad_dtype '{dtypes.scalar_name(self.dtype)}'. The gradient must "
                "match the tensor's grad_dtype (defaults to the tensor's dtype); convert it with "
                "`.to`"
            )
        if g.shape != self.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(g.shape)}' to a tensor of size "
                f"'{list(self.shape)}'. Please ensure that the gradient and the tensor are the "
                "same size"
            )

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` holds for this tensor (never for a leaf)."""
        t = self._t
        if type(t) is not RootTracer or t.node is None or type(t.node) is AccumulateGrad:
            return False
        node, k = edge_of(t.node)
        return node.extra is not None and k in node.extra.retained

    @property
    def _version(self) -> int:
        if self._t.version.inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        count: int = self._t.version.count
        return count

    @property
    def _base(self) -> Tensor | None:
        return None if self._link is None else self._link.base

    def _is_view(self) -> bool:
        return self._link is not None

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode."""
        return type(self._t) is RootTracer and self._t.version.inference


def check_differentiable(kind: dtypes.dtype, first: str = "Only") -> None:
    """Raise for a type that cannot require grad."""
    if not kind.is_floating_point and not kind.is_complex:
        more = "and complex dtype" if first == "Only" else "dtype"
        raise RuntimeError(f"{first} Tensors of floating point {more} can require gradients")
