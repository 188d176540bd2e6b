"""The smaller checks of `gradcheck`: batched gradients, undefined gradients, zero cotangents."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.autograd import forward_ad
from funcgrad.torch.autograd.backward_and_grad import grad
from funcgrad.torch.autograd.function import Function as Operation
from funcgrad.torch.autograd.functional_checks import zeros_like
from funcgrad.torch.autograd.jacobians import (
    GradcheckError,
    as_tuple,
    floating,
    moving,
    values,
)
from funcgrad.torch.tensor_arrays import as_array
from funcgrad.transforms.vmap import vmap

__all__ = [
    "check_batched_backward",
    "check_batched_forward",
    "check_multiplied",
    "check_undefined_backward",
    "check_undefined_forward",
]

Function = Callable[..., Any]
BATCHED = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation.\nThe backward "
    "pass is mapped over; the most common cause is an operation in it that cannot be mapped. Pass "
    "`check_batched_grad=False` to leave this check out."
)
BATCHED_FORWARD = (
    "gradcheck failed while testing batched gradient computation with forward-mode AD.\nPass "
    "`check_batched_forward_grad=False` to leave this check out."
)


def _random_like(x: Tensor, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    kind = as_array(x).dtype
    made = rng.standard_normal((2, *x.shape))
    if kind.kind == "c":
        made = made + 1j * rng.standard_normal((2, *x.shape))
    return made.astype(kind)


def _compare(found: Sequence[Any], expected: Sequence[Any], name: str, text: str) -> None:
    for k, (res, exp) in enumerate(zip(found, expected, strict=True)):
        if not np.allclose(res, exp, 1e-5, 1e-8):
            raise GradcheckError(
                f"{name.format(k=k)}:\n\n{text}\n\nGot:\n{box(res)!r}\n\nExpected:\n{box(exp)!r}"
            )


def _batch(run: Callable[[Any], list[Any]], samples: Any, name: str, text: str) -> None:
    """`run` mapped over samples gives what it gives for one after the other."""
    each = [run(s) for s in samples]
    expected = [np.stack([np.asarray(_array(x)) for x in column]) for column in zip(*each)]
    try:
        found = vmap(run)(samples)
    except RuntimeError as error:
        raise GradcheckError(
            f"While computing batched gradients, got: {error}\n\n{text}"
        ) from error
    _compare([np.asarray(_array(x)) for x in found], expected, name, text)


def _array(x: Any) -> Any:
    return as_array(x.detach()) if isinstance(x, Tensor) else getattr(x, "value", x)


def check_batched_backward(inputs: Sequence[Any], output: Tensor, number: int) -> None:
    """A mapped backward pass gives what passes one by one give."""
    wanted = [inputs[k] for k in moving(inputs)]

    def pull(g: Any) -> list[Any]:
        found = grad(output, wanted, box(g), retain_graph=True, allow_unused=True)
        return [
            zeros_like(x).content() if c is None else c.content()
            for c, x in zip(found, wanted, strict=True)
        ]

    samples = _random_like(output, np.random.default_rng(0))
    _batch(pull, samples, f"For output {number} and input {{k}}", BATCHED)


def check_batched_forward(func: Function, inputs: Sequence[Any]) -> None:
    """A mapped forward pass gives what passes one by one give."""
    for place in moving(inputs):

        def push(t: Any, place: int = place) -> list[Any]:
            given = [x.detach() if isinstance(x, Tensor) else x for x in inputs]
            with forward_ad.dual_level():
                given[place] = forward_ad.make_dual(given[place], box(t))
                pairs = [forward_ad.unpack_dual(o) for o in as_tuple(func(*given))]
            return [zeros_like(p).content() if t is None else t.content() for p, t in pairs]

        samples = _random_like(inputs[place], np.random.default_rng(0))
        name = f"For output {{k}} and input {place}"
        _batch(push, samples, name, BATCHED_FORWARD)


def check_multiplied(outputs: Sequence[Tensor], inputs: Sequence[Any], masked: bool) -> None:
    """A zero cotangent gives a zero gradient of the right type and size."""
    wanted = [inputs[k] for k in moving(inputs)]
    if not wanted:
        raise GradcheckError("no Tensors requiring grad found in input")
    found = grad(outputs, wanted, [zeros_like(o) for o in outputs], allow_unused=True)
    for g, x in zip(found, wanted, strict=True):
        if g is None:
            continue
        c = values(g)
        if not (np.allclose(c, 0.0) if masked else (c == 0).all()):
            raise GradcheckError("backward not multiplied by grad_output")
        if g.dtype is not x.dtype:
            raise GradcheckError("grad is incorrect type")
        if g.shape != x.shape:
            raise GradcheckError("grad is incorrect size")


# ---------------------------------------------------------------------------- undefined gradients


class UndefinedGrad(Operation):
    """The identity, whose cotangent is undefined."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        return None


def check_undefined_backward(func: Function, inputs: Sequence[Any]) -> None:
    """Backward functions take undefined cotangents, one or all, as zeros."""

    def outputs() -> list[Tensor]:
        return [o for o in as_tuple(func(*inputs)) if o.requires_grad]

    wanted = [inputs[k] for k in moving(inputs)]
    if not wanted:
        raise GradcheckError("no Tensors requiring grad found in input")
    _check_undefined([UndefinedGrad.apply(o) for o in outputs()], wanted)
    count = len(outputs())
    for k in range(count if count > 1 else 0):
        _check_undefined(
            [UndefinedGrad.apply(o) if i == k else o for i, o in enumerate(outputs())], wanted
        )


def _warn_new() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by "
        "default, but it may break existing callers of this function. If this is true for you, you "
        'can call this function with "check_undefined_grad=False" to disable the feature',
        stacklevel=outside(),
    )


NOTES = (
    'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
)


def _check_undefined(outputs: Sequence[Tensor], wanted: Sequence[Tensor]) -> None:
    try:
        found = grad(outputs, wanted, [zeros_like(o) for o in outputs], allow_unused=True)
    except RuntimeError as error:
        _warn_new()
        raise GradcheckError(
            f"Expected backward function to handle undefined output grads. {NOTES}"
        ) from error
    if any(g is not None and (values(g) != 0).any() for g in found):
        _warn_new()
        raise GradcheckError(
            "Expected all input grads to be undefined or zero when all output grads are undefined "
            f"or zero. {NOTES}"
        )


def check_undefined_forward(func: Function, inputs: Sequence[Any]) -> None:
    """An input without a tangent counts as one whose tangent is zero."""
    places = moving(inputs)
    rng = np.random.default_rng(0)
    directions = {k: rng.random(inputs[k].shape) for k in places}

    def push(without: int, zero: bool) -> list[Any]:
        given = list(inputs)
        with forward_ad.dual_level():
            for k in places:
                x = inputs[k].detach()
                u = np.zeros(x.shape) if k == without else directions[k]
                if k != without or zero:
                    x = forward_ad.make_dual(x, box(u.astype(as_array(x).dtype)))
                given[k] = x
            outs = [o for o in as_tuple(func(*given)) if floating(o)]
            found = [forward_ad.unpack_dual(o).tangent for o in outs]
        return [None if t is None else values(t) for t in found]

    for place in places:
        pairs = zip(push(place, True), push(place, False), strict=True)
        for k, (one, two) in enumerate(pairs):
            if one is not None and two is not None and not np.allclose(one, two, 1e-5, 1e-8):
                raise GradcheckError(
                    "Mismatch in tangent values for output with index: ", k, " when input: ",
                    inputs[place], " has an undefined tangent value. ", " Got: ", box(one),
                    " but expected: ", box(two),
                )  # fmt: skip
