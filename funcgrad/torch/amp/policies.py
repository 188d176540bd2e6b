"""What autocasting does to the operands of each operation on the CPU, by PyTorch's lists.

`cover` puts a function around each of them in the public namespaces and on `Tensor`; what the
package calls inside was imported by name and is not cast again. An operation that PyTorch makes of
others of the first list, as `tensordot` of `mm`, is in that list itself.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

from funcgrad.core.boundary import hide_frames
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.modes import modes
from funcgrad.torch.operations.converting import to_dtype
from funcgrad.torch.root import RootTracer
from funcgrad.torch.staged import staged

__all__ = ["cache", "cast_all", "cover"]

LOWER = """
    __matmul__ __rmatmul__ addbmm addmm baddbmm bmm chain_matmul conv1d conv2d conv3d conv_tbc
    conv_transpose1d conv_transpose2d conv_transpose3d cov einsum inner linear matmul matrix_power
    mm multi_dot multi_head_attention_forward prelu scaled_dot_product_attention tensordot vecdot
"""
SINGLE = """
    adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy
    binary_cross_entropy_with_logits cdist cholesky cholesky_ex cholesky_inverse cholesky_solve cond
    cosine_embedding_loss cross_entropy ctc_loss eig eigh eigvals eigvalsh fft fft2 fftn
    fractional_max_pool2d fractional_max_pool3d geqrf grid_sample hfft hfft2 hfftn
    hinge_embedding_loss householder_product huber_loss ifft ifft2 ifftn ihfft ihfft2 ihfftn inv
    inv_ex inverse irfft irfft2 irfftn kl_div l1_loss lstsq lu_solve margin_ranking_loss matrix_rank
    max_pool3d max_unpool2d max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss
    nanquantile nll_loss orgqr ormqr pinverse poisson_nll_loss polar prod qr quantile rfft rfft2
    rfftn smooth_l1_loss soft_margin_loss solve stft svd svdvals tensorinv tensorsolve trace
    triangular_solve triplet_margin_loss view_as_complex
"""
PROMOTE = "cat index_copy stack"
PADS = {"reflect": 4, "replicate": 6}  # the modes of `pad` that are in the second list, and numbers

Function = Callable[..., Any]
Change = Callable[[Any], Any]

# the weights that were cast within the outermost `autocast`, with the tensors whose ids are keys
cache: dict[tuple[int, dtypes.dtype], tuple[Tensor, Tensor]] = {}


def _suits(x: Any) -> bool:
    """Whether a value is a tensor that autocasting converts: double precision stays."""
    return isinstance(x, Tensor) and x.is_floating_point() and x.dtype is not dtypes.float64


def cast_all(x: Any, kind: dtypes.dtype) -> Any:
    """A value, or those in lists, tuples and dictionaries, in a dtype."""
    if isinstance(x, Tensor):
        return _cast(x, kind) if _suits(x) else x
    if isinstance(x, dict):
        return {cast_all(k, kind): cast_all(v, kind) for k, v in x.items()}
    return type(x)(cast_all(v, kind) for v in x) if type(x) in (list, tuple) else x


def _cast(x: Tensor, kind: dtypes.dtype) -> Tensor:
    """A tensor in a dtype; weights are cast once within an `autocast`."""
    weight = kind is not dtypes.float32 and x.dtype is dtypes.float32 and x.is_leaf
    kept = weight and x.requires_grad and modes.autocast_cache
    # what `compile` makes belongs to the compiled function, and would be a constant in it
    if not kept or type(x._t) is not RootTracer or staged(x._t.value):
        return to_dtype(x, kind)
    key = id(x), kind
    if key not in cache:
        cache[key] = x, to_dtype(x, kind)
    return cache[key][1]


def _tensors(x: Any) -> Iterator[Tensor]:
    if isinstance(x, Tensor):
        yield x
    elif isinstance(x, (list, tuple)):
        for item in x:
            yield from _tensors(item)


def _lower(args: Any) -> dtypes.dtype:
    kind: dtypes.dtype = modes.autocast
    return kind


def _single(args: Any) -> dtypes.dtype:
    return dtypes.float32


def _widest(args: Any) -> dtypes.dtype | None:
    """The dtype in which the tensors meet; None where they have one."""
    kinds = {x.dtype for x in _tensors(args) if _suits(x)}
    return functools.reduce(dtypes.promote_types, kinds) if len(kinds) > 1 else None


def _pad(args: Any) -> dtypes.dtype | None:
    given = dict(zip(("input", "pad", "mode"), args[0], strict=False)) | args[1]
    most = PADS.get(given.get("mode", "constant"), 0)
    return dtypes.float32 if len(given.get("pad", ())) <= most else None


def _none(args: Any) -> None:
    """Nothing is cast, also not within: of the products in `bilinear`."""


def _around(function: Function, policy: Callable[[Any], dtypes.dtype | None]) -> Function:
    @functools.wraps(function)
    def casting(*args: Any, **kwargs: Any) -> Any:
        try:
            if modes.autocast is None:
                return function(*args, **kwargs)
            kind = policy((args, kwargs))
            before = modes.autocast
            modes.autocast = None
            try:
                if kind is not None:
                    args, kwargs = cast_all(args, kind), cast_all(kwargs, kind)
                return function(*args, **kwargs)
            finally:
                modes.autocast = before
        except Exception as error:
            hide_frames(error)
            raise

    return casting


POLICIES: dict[str, Callable[[Any], dtypes.dtype | None]] = {
    **dict.fromkeys(LOWER.split(), _lower),
    **dict.fromkeys(SINGLE.split(), _single),
    **dict.fromkeys(PROMOTE.split(), _widest),
    "pad": _pad,
    "bilinear": _none,
}


def cover(*places: Any) -> None:
    """Put autocasting around the operations in namespaces and on classes."""
    for place in places:
        for name, policy in POLICIES.items():
            found = vars(place).get(name)
            if callable(found) and not isinstance(found, type):
                made = _around(found, policy)
                if isinstance(place, types.ModuleType):  # by which it is pickled
                    made.__module__, made.__qualname__ = place.__name__, name
                setattr(place, name, made)
