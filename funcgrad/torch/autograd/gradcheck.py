"""`gradcheck` and `gradgradcheck`: derivatives compared with finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.errors import outside
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.autograd.backward_and_grad import grad
from funcgrad.torch.autograd.gradcheck_compare import (
    Options,
    check_backward,
    check_forward,
    differentiable,
)
from funcgrad.torch.autograd.gradcheck_modes import (
    check_batched_backward,
    check_batched_forward,
    check_multiplied,
    check_undefined_backward,
)
from funcgrad.torch.autograd.jacobians import GradcheckError, as_tuple, moving
from funcgrad.torch.tensor_arrays import as_array

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

Function = Callable[..., Any]


def gradcheck(
    func: Function,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the derivatives of `func` with finite differences.

    Parameters
    ----------
    func : callable
        Takes the inputs, returns a tensor or a tuple of tensors.
    inputs : Tensor or tuple
        Those that require grad should be float64 or complex128.
    eps : float
        The step of the central differences.
    atol, rtol : float
        The tolerance: ``|analytical - numerical| <= atol + rtol * |numerical|``.
    raise_exception : bool
        Whether a difference raises, instead of giving False.
    nondet_tol : float
        How much two backward passes may differ.
    check_undefined_grad : bool
        Whether undefined cotangents and tangents have to count as zero.
    check_grad_dtypes : bool
        Whether the gradients must have the dtypes of the inputs.
    check_batched_grad, check_batched_forward_grad : bool
        Whether passes under `vmap` are compared with passes one by one.
    check_forward_ad, check_backward_ad : bool
        Which modes are checked.
    fast_mode : bool
        Compare products with random vectors instead of whole Jacobians.
    masked : bool, optional
        Whether a gradient of a zero cotangent may be nearly zero.

    Returns
    -------
    bool

    Raises
    ------
    GradcheckError
        With `raise_exception`: names the output and the input, and shows both Jacobians.
    ValueError
        Where no input requires grad.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda x: x.sin() * x, x, check_forward_ad=True)
    True
    """
    _check_modes(
        (
            "check_forward_ad",
            check_forward_ad,
            {"check_batched_forward_grad": check_batched_forward_grad},
        ),
        ("check_backward_ad", check_backward_ad, {"check_batched_grad": check_batched_grad}),
    )
    options = Options(eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode)
    given = as_tuple(inputs)
    try:
        _check_inputs(given)
        outputs = differentiable(func(*given))
        if check_backward_ad:
            check_backward(func, given, options)
        if check_forward_ad:
            check_forward(func, given, options, check_undefined_grad)
        if check_batched_forward_grad:
            check_batched_forward(func, given)
        if check_backward_ad:
            for k, o in enumerate(outputs if check_batched_grad else ()):
                check_batched_backward(given, o, k)
            check_multiplied(outputs, given, bool(masked))
            if check_undefined_grad:
                check_undefined_backward(func, given)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_modes(*modes: tuple[str, bool, dict[str, bool]]) -> None:
    """One mode at least, and no further check of a mode that is left out."""
    names = " or ".join(name for name, _, _ in modes)
    if not any(wanted for _, wanted, _ in modes):
        raise AssertionError(f"Expected at least one of {names} to be True")
    for name, wanted, further in reversed(modes):
        for check, given in further.items():
            if given and not wanted:
                raise AssertionError(f"Setting {check}=True requires {name} to be True")


def _check_inputs(inputs: Sequence[Any]) -> None:
    places = moving(inputs)
    for k in places:
        x = inputs[k]
        if x.dtype not in (dtypes.float64, dtypes.complex128):
            warnings.warn(
                f"Input #{k} requires gradient and is not a double precision floating point or "
                "complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. ",
                stacklevel=outside(),
            )
        if any(s == 0 and n > 1 for s, n in zip(x.stride(), x.shape, strict=True)):
            raise RuntimeError(
                f"The {k}th input has a dimension with stride 0. gradcheck only supports inputs "
                "that are non-overlapping to be able to compute the numerical gradients correctly. "
                "You should call .contiguous on the input before passing it to gradcheck."
            )
    if not places:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )


# -------------------------------------------------------------------------------- second order


def gradgradcheck(
    func: Function,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compare the second derivatives of `func` with finite differences of the first.

    Parameters
    ----------
    func, inputs
        As for `gradcheck`.
    grad_outputs : Tensor or tuple of Tensors, optional
        The cotangents of the outputs; random by default, with `gen_non_contig_grad_outputs` in
        memory with gaps.
    check_fwd_over_rev, check_rev_over_rev : bool
        In which mode the backward pass is differentiated.

    Notes
    -----
    The other parameters, the result and the errors are those of `gradcheck`.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(lambda x: x.sin() * x, x, check_fwd_over_rev=True)
    True
    """
    further = {
        "check_undefined_grad": check_undefined_grad,
        "check_batched_grad": check_batched_grad,
    }
    _check_modes(
        ("check_fwd_over_rev", check_fwd_over_rev, {}),
        ("check_rev_over_rev", check_rev_over_rev, further),
    )
    given = as_tuple(inputs)
    if grad_outputs is None:
        cotangents = _random_cotangents(func, given, gen_non_contig_grad_outputs)
    else:
        cotangents = as_tuple(grad_outputs)
    return gradcheck(
        _slope(func, given, cotangents),
        (*given, *cotangents),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        masked=masked,
    )


def _slope(func: Function, given: Sequence[Any], cotangents: Sequence[Any]) -> Function:
    """The backward pass as a function of the inputs and the cotangents."""
    places, pulled = moving(given), moving(cotangents)
    count = len(given)

    def slope(*args: Any) -> tuple[Any, ...]:
        xs = [x.requires_grad_() if k in places else x for k, x in enumerate(args[:count])]
        gs = [g.requires_grad_() if k in pulled else g for k, g in enumerate(args[count:])]
        found = grad(
            differentiable(func(*xs)),
            [xs[k] for k in places],
            gs,
            create_graph=True,
            allow_unused=True,
        )
        return tuple(g for g in found if g is not None)

    return slope


def _random_cotangents(func: Function, given: Sequence[Any], gaps: bool) -> tuple[Tensor, ...]:
    rng = np.random.default_rng()
    return tuple(_cotangent(o, rng, gaps) for o in differentiable(func(*given)))


def _cotangent(o: Tensor, rng: np.random.Generator, gaps: bool) -> Tensor:
    """A random cotangent of `o`."""
    kind = as_array(o).dtype
    shape = (*o.shape, 2) if gaps else tuple(o.shape)
    made = rng.uniform(-1.0, 1.0, shape)
    if kind.kind == "c":
        made = made + 1j * rng.uniform(-1.0, 1.0, shape)
    made = made.astype(kind)
    out: Tensor = box(made[..., 0] if gaps else made).requires_grad_()
    return out
