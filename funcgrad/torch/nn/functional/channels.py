"""Normalisation of channels: over a batch, a sample, groups of channels, or their neighbours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.boundary import hide_frames
from funcgrad.core.types import Array
from funcgrad.ops import channels as ops
from funcgrad.ops.arithmetic import add, cast, multiply, reciprocal, sqrt, subtract
from funcgrad.ops.shape import broadcast_as, reshape
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.composite import Composite
from funcgrad.torch.modes import modes, no_grad
from funcgrad.torch.narrow import is_half
from funcgrad.torch.nn.functional.distance import pad
from funcgrad.torch.operations.common import (
    SINGLE,
    boxed,
    boxed_all,
    computed,
    lacking,
    narrow_or,
    shape_of,
    told,
)
from funcgrad.torch.operations.promotion import content, dtype_of
from funcgrad.torch.operations.record import node
from funcgrad.torch.operations.recorded import refuse_kinds
from funcgrad.torch.operations.requirements import requirements, requires
from funcgrad.torch.operations.results import laid
from funcgrad.torch.remembered import remembered
from funcgrad.torch.saved import check_saved
from funcgrad.torch.saved_parameters import READ_MOMENTS, read_parameter

__all__ = ["batch_norm", "group_norm", "instance_norm", "local_response_norm"]

BATCH_NODE: Any = node(
    "NativeBatchNorm", "input weight",
    tells="training eps running_mean running_var result1 result2",
)  # fmt: skip
GROUP_NODE: Any = node("NativeGroupNorm", "input weight", tells="N C HxW group eps result1 result2")
GROUP_NORM = narrow_or("group_norm", ops.group_norm)


# --------------------------------------------------------------------------------- batch norm


def _in_single(x: Array, w: Array, b: Array, **params: Any) -> tuple[Array, Array, Array]:
    y, *moments = ops.batch_norm(*(cast(z, SINGLE) for z in (x, w, b)), **params)
    return cast(y, dtype_of(x)), moments[0], moments[1]


def _by_known(
    x: Array, w: Array, b: Array, mean: Array, var: Array, *, eps: float, scaled: bool, moved: bool
) -> Array:
    """Evaluation: mean and variance are given."""
    kind = dtype_of(x)
    if is_half(kind):
        x, w, b, mean, var = (cast(z, SINGLE) for z in (x, w, b, mean, var))
    shape = (-1, *(1,) * (len(shape_of(x)) - 2))
    count = shape_of(mean)
    column: Any = lambda z: reshape(broadcast_as(z, count, dtype_of(x)), (*count, *shape[1:]))
    inverse = reciprocal(sqrt(add(var, eps)))
    factor = multiply(inverse, w) if scaled else inverse
    y = multiply(subtract(x, column(mean)), column(factor))
    y = add(y, column(b)) if moved else y
    return cast(y, kind)


HALF_BATCH_NORM = Composite("batch_norm", _in_single, multiple=True, keeps_dtype=True)
BY_KNOWN = Composite("batch_norm_by_known", _by_known, fixed=2)


_check_batch = requirements(
    "shape, training, eps, one",
    """
    not one: ValueError: Expected more than 1 value per channel when training, got
        input size torch.Size({[*shape]})
    not training or eps > 0.0: ValueError: batch_norm eps must be positive during training, but got
        {eps}
    eps >= 0.0: ValueError: batch_norm eps must be non-negative, but got {eps}
    """,
)
_check_part = requirements(
    "name, part, count, training",
    """
    part is None or part.numel() == count: {name} should contain {count} elements not {part.numel()}
    part is not None or training or not name.startswith("running"): {name} must be defined in
        evaluation mode
    """,
)
_check_both = requirements(
    "mean, var",
    """
    (mean is None) == (var is None): ValueError: running_mean and running_var must either both be
        None or neither be None
    """,
)
_refuse_gradient = requirements(
    "name, part, recorded",
    """
    part is None or not (recorded and part.requires_grad): The function 'native_batch_norm' is not
        differentiable with respect to argument '{name}'. This input cannot have requires_grad True.
    """,
)


def _check_dtypes(x: Array, *parts: Tensor | None) -> None:
    """Parameters are of the dtype of the operand; next to half precision also of single."""
    kind = dtypes.from_numpy_dtype(dtype_of(x))
    others = [part.dtype for part in parts if part is not None]
    if all(other is kind for other in others):
        return
    if any(other is not dtypes.float32 for other in others):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if not is_half(dtype_of(x)):
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float | Tensor = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Channels brought to mean 0 and variance 1 over all samples, then scaled and moved.

    Parameters
    ----------
    input : Tensor
        (samples, channels, …).
    running_mean, running_var : Tensor, optional
        Of each channel: in evaluation what the input is normalised by, in training what its own
        mean and (unbiased) variance are averaged into, in place; no gradient flows there.
    weight, bias : Tensor, optional
        Of each channel.
    training : bool, optional
        Whether mean and variance are those of the input.
    momentum : float or Tensor, optional
        What the new mean and variance count in the running ones.
    eps : float, optional
        Added to the variance.

    Raises
    ------
    ValueError
        One element a channel in training, or an `eps` that is no positive number.
    RuntimeError
        Sizes or dtypes that do not fit, or running statistics that are missing in evaluation.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    >>> torch.nn.functional.batch_norm(x, None, None, training=True)
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    """
    try:
        x = content(input, "batch_norm")
        parts = {"weight": weight, "bias": bias}
        running = {"running_mean": running_mean, "running_var": running_var}
        _check_moments(x, running, parts, training, eps)
        w, b, params = _scale(x, weight, bias, eps)
        shown = {"training": bool(training), **running}
        node = BATCH_NODE if weight is not None else lacking(BATCH_NODE, "weight")
        if not training:
            assert running_mean is not None
            assert running_var is not None
            given = (x, w, b, running_mean.content(), running_var.content())
            known = boxed(computed(BY_KNOWN, *given, **params), node)
            return told(laid(known, "images", input), **shown)
        core = HALF_BATCH_NORM if is_half(dtype_of(x)) else ops.batch_norm
        y, mean, var = boxed_all(computed(core, x, w, b, **params), node)
        if running_mean is not None and running_var is not None and input.numel():
            _average(
                running_mean, running_var, mean, var, momentum, input.numel() // input.shape[1]
            )
        return told(y, **shown)
    except Exception as error:
        hide_frames(error)
        raise


def _check_moments(x: Array, running: Any, parts: Any, training: bool, eps: float) -> None:
    """PyTorch's errors, in its order."""
    shape = shape_of(x)
    _check_batch(shape, training, eps, training and math.prod((shape[0], *shape[2:])) == 1)
    for name, part in {**running, **parts}.items():
        _check_part(name, part, shape[1] if len(shape) > 1 else 0, training)
    _check_both(*running.values())
    refuse_kinds("batch_norm", "biuc", x)
    _check_dtypes(x, *parts.values(), *running.values())
    for name, part in running.items():
        _refuse_gradient(name, part, modes.grad)


def _scale(x: Array, weight: Tensor | None, bias: Tensor | None, eps: float) -> Any:
    """The factor and the summand, 1 and 0 where there is none, and what says so."""
    one, zero = dtype_of(x).type(1), dtype_of(x).type(0)
    w = one if weight is None else weight.content()
    b = zero if bias is None else bias.content()
    return w, b, {"eps": eps, "scaled": weight is not None, "moved": bias is not None}


def _average(
    running_mean: Tensor, running_var: Tensor, mean: Tensor, var: Tensor, momentum: Any, n: int
) -> None:
    """Take the mean and variance of `n` elements into the running ones."""
    with no_grad():
        for running, now, part in (
            (running_mean, mean, momentum),
            (running_var, var, momentum * n / (n - 1)),
        ):
            running.mul_(1 - momentum).add_(now.detach().to(running.dtype) * part)


# ------------------------------------------------------------------------------ instance norm


def _repeated(z: Tensor | None, samples: int) -> Tensor | None:
    """What belongs to channels, for those of every sample."""
    return None if z is None else z.repeat(samples)


@requires("""
    not use_input_stats or math.prod(shape(tensor(input, "instance_norm"))[2:]) != 1: ValueError:
        Expected more than 1 spatial element when training, got input size
        torch.Size({sizes(input)})
    use_input_stats or not (running_mean is None or running_var is None): Expected running_mean and
        running_var to be defined when use_input_stats is false
""")
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float | Tensor = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of each sample brought to mean 0 and variance 1, then scaled and moved.

    Parameters
    ----------
    input : Tensor
        (samples, channels, …).
    running_mean, running_var, weight, bias, momentum, eps
        As in `batch_norm`; what is averaged are the means over the samples.
    use_input_stats : bool, optional
        Whether mean and variance are those of the input.

    Raises
    ------
    ValueError
        One element a channel, or one of the running statistics without the other.
    RuntimeError
        Sizes or dtypes that do not fit, or running statistics that are missing.
    """
    x = content(input, "instance_norm")
    shape = shape_of(x)
    samples, channels, *rest = shape
    mean, var = _repeated(running_mean, samples), _repeated(running_var, samples)
    found = batch_norm(
        input.contiguous().view(1, samples * channels, *rest),
        mean,
        var,
        _repeated(weight, samples),
        _repeated(bias, samples),
        use_input_stats,
        momentum,
        eps,
    )
    if use_input_stats:
        for old, new in ((running_mean, mean), (running_var, var)):
            if old is not None and new is not None:
                with no_grad():
                    old.copy_(new.view(samples, channels).mean(0))
    out: Tensor = found.view(shape)
    return out


# --------------------------------------------------------------------------------- group norm


@remembered
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Groups of channels of a sample brought to mean 0 and variance 1, then scaled and moved.

    Parameters
    ----------
    input : Tensor
        (samples, channels, …).
    num_groups : int
        How many groups the channels are divided into.
    weight, bias : Tensor, optional
        Of each channel.
    eps : float, optional
        Added to the variance.

    Raises
    ------
    RuntimeError
        Sizes or dtypes that do not fit.
    ValueError
        One element a group.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.functional.group_norm(torch.tensor([[1.0, 3.0, 2.0, 6.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    shape = shape_of(content(input, "group_norm"))
    if len(shape) < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {len(shape)}"
        )
    sizes = [shape[0] * shape[1] // num_groups, num_groups, *shape[2:]]
    if math.prod((sizes[0], *sizes[2:])) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {sizes}"
        )
    _check_groups(shape, num_groups, weight=weight, bias=bias)
    x = content(input.contiguous(), "group_norm")
    refuse_kinds("GroupNormKernelImpl", "biuc", x)
    _check_dtypes(x, weight, bias)
    w, b, params = _scale(x, weight, bias, eps)
    out = computed(GROUP_NORM, x, w, b, groups=num_groups, **params)
    shown = {"N": shape[0], "C": shape[1], "HxW": math.prod(shape[2:]), "group": num_groups}
    node = GROUP_NODE if weight is not None else lacking(GROUP_NODE, "weight")
    return told(boxed(out, node), **shown)


def _check_groups(shape: tuple[int, ...], groups: int, **parts: Tensor | None) -> None:
    if groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {groups}")
    if shape[1] % groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(shape)} and num_groups={groups}"
        )
    first = parts["weight"]
    for name, part in parts.items():
        if part is not None and tuple(part.shape) != shape[1:2]:
            said = [0] if first is None else list(first.shape)  # of the weight, whatever is wrong
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, "
                f"but got {name} of shape {said} and input of shape {list(shape)}"
            )


# --------------------------------------------------------------------- what nodes show of it


def _moments(node: Any, which: int) -> Tensor:
    """The mean, or what the distances from it were multiplied by, of all that was normalised."""
    check_saved(node)
    kind = type(node).__name__
    x = np.asarray(node.saved[1])
    if kind == "NativeBatchNormBackward0":
        if not read_parameter("training", node):
            return box(np.zeros(0, x.dtype))
        shape, axes = x.shape[1:2], (0, *range(2, x.ndim))
    elif kind == "NativeGroupNormBackward0":
        shape, axes = (len(x), node.params["groups"]), (2,)
        x = x.reshape(*shape, -1)
    else:
        axes = node.params["axes"]
        shape = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    found = x.mean(axes) if which == 0 else 1 / np.sqrt(x.var(axes) + node.params["eps"])
    return box(found.astype(x.dtype).reshape(shape))


READ_MOMENTS.append(_moments)


# --------------------------------------------------------------------- local response norm


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """`input` over a power of the mean square of `size` neighbouring channels.

    Parameters
    ----------
    input : Tensor
        (samples, channels, …), of at least three dimensions.
    size : int
        How many channels are neighbours.
    alpha, beta, k : float, optional
        The input is divided by ``(k + alpha * mean) ** beta``.

    Raises
    ------
    ValueError
        Fewer than three dimensions.
    RuntimeError
        A `size` below 1.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.tensor([[[1.0], [2.0], [3.0]]])
    >>> torch.nn.functional.local_response_norm(x, 3, alpha=3.0, beta=1.0).flatten()
    tensor([0.1667, 0.1333, 0.2143])
    """
    shape = shape_of(content(input, "local_response_norm"))
    if len(shape) < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality{' ' * 26}input (got {len(shape)} dimensions)"
        )
    if not math.prod(shape):
        return input
    if size < 1:
        raise RuntimeError(f"kernel size should be greater than zero, but got kH: {size} kW: 1")
    around = (0, 0) * (len(shape) - 2) + (size // 2, (size - 1) // 2)
    squares = pad(input.mul(input), around).unfold(1, size, 1).mean(-1)
    out: Tensor = input / squares.mul(alpha).add(k).pow(beta)
    return out
