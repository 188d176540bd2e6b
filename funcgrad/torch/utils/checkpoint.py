"""``torch.utils.checkpoint``: give up intermediate values and compute them again for backward.

With ``use_reentrant=False`` saved-tensor hooks leave a holder in the place of each saved tensor;
the first one that is unpacked in a pass runs the function again, and what it saves fills the
holders. With ``use_reentrant=True`` the call is a custom function whose backward runs the function
again and passes through it.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from funcgrad.core.boundary import bound_names
from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.autograd.backward_and_grad import backward
from funcgrad.torch.autograd.function import Function
from funcgrad.torch.autograd.graph import saved_tensors_hooks
from funcgrad.torch.graph_task import current_task
from funcgrad.torch.modes import enable_grad, modes, no_grad
from funcgrad.torch.utils.checkpoint_frame import CheckpointError, Frame

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "checkpoint",
    "checkpoint_sequential",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]

ContextPair = tuple[Any, Any]


class _Settings:
    early_stop: bool | None = None
    debug: bool | None = None


settings = _Settings()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """A context that says for all checkpoints whether recomputation stops as early as it can."""
    before, settings.early_stop = settings.early_stop, enable
    try:
        yield
    finally:
        settings.early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A context that says for all checkpoints whether errors list the operations."""
    before, settings.debug = settings.debug, enabled
    try:
        yield
    finally:
        settings.debug = before


def noop_context_fn() -> ContextPair:
    """Two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def _random_state(state: Any) -> Iterator[None]:
    """The state of the random generator, until the end; None leaves it alone."""
    from funcgrad.torch.operations.generator import get_rng_state, set_rng_state

    if state is None:
        yield
        return
    outside = get_rng_state()
    set_rng_state(state)
    try:
        yield
    finally:
        set_rng_state(outside)


def _state_if(preserve: bool) -> Any:
    from funcgrad.torch.operations.generator import get_rng_state

    return get_rng_state() if preserve else None


# ------------------------------------------------------------------------------- reentrant


class CheckpointFunction(Function):
    """The call of a function whose backward pass runs the function again."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        if not any(x.requires_grad for x in args if isinstance(x, Tensor)):
            warnings.warn(
                "None of the inputs have requires_grad=True. Gradients will be None",
                stacklevel=outside(),
            )
        ctx.run_function = run_function
        ctx.random_state = _state_if(preserve_rng_state)
        ctx.inputs = [None if isinstance(x, Tensor) else x for x in args]
        ctx.tensor_indices = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.tensor_indices))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        task = current_task()
        if task is not None and not task.everything:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        inputs = list(ctx.inputs)
        for i, x in zip(ctx.tensor_indices, ctx.saved_tensors, strict=True):
            inputs[i] = x.detach()
            inputs[i].requires_grad = x.requires_grad
        with _random_state(ctx.random_state), enable_grad():
            outputs = ctx.run_function(*inputs)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        moving = [
            (o, g)
            for o, g in zip(outputs, args, strict=True)
            if isinstance(o, Tensor) and o.requires_grad
        ]
        if not moving:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        backward([o for o, _ in moving], [g for _, g in moving])
        return (None, None, *(x.grad if isinstance(x, Tensor) else None for x in inputs))


# ----------------------------------------------------------------------------- not reentrant


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], ContextPair] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call `function` without keeping its intermediate values; backward computes them again.

    Parameters
    ----------
    function : callable
        Run once now, and once more in a backward pass.
    *args, **kwargs
        Its arguments; keywords with ``use_reentrant=False`` only.
    use_reentrant : bool
        False is recommended: it works with `autograd.grad`, nests, and stops the recomputation
        early. True records nothing now and runs a whole backward pass inside backward.
    preserve_rng_state : bool
        Whether random functions give the same numbers again; True by default.
    context_fn : callable
        Returns two contexts: for the call, and for the recomputation.
    determinism_check : {"default", "none"}
        Whether shapes and dtypes of what is computed again are compared.
    debug : bool
        Whether errors list the operations of both runs.
    early_stop : bool
        Whether the recomputation stops when all that is needed has been computed.

    Raises
    ------
    CheckpointError
        The recomputation saves other tensors than the forward pass.
    ValueError
        An argument is not supported in the mode.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> from funcgrad.torch.utils.checkpoint import checkpoint
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint(lambda x: (x.exp() * x).sum(), x, use_reentrant=False).backward()
    >>> x.grad
    tensor([ 5.4366, 22.1672])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
            "exception. use_reentrant=False is recommended, but if you need to preserve the "
            "current default behavior, you can pass use_reentrant=True. Refer to docs for more "
            "details on the differences between the two variants.",
            stacklevel=outside(),
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            )
        return CheckpointFunction.apply(function, preserve, *args)
    debug = debug if settings.debug is None else settings.debug
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        )
    first, second = context_fn()
    state = _state_if(preserve)

    def again(*inputs: Any) -> None:
        with _random_state(state), second:
            function(*inputs, **kwargs)

    if not modes.grad:
        return function(*args, **kwargs)
    stop = early_stop if settings.early_stop is None else settings.early_stop
    frame = Frame(again, stop, determinism_check, debug)
    frame.save_inputs(args)
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        out = function(*args, **kwargs)
    frame.completed = True
    return out


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Apply functions one after the other, all but the last of `segments` parts checkpointed.

    Parameters
    ----------
    functions : Sequential or sequence of callables
    segments : int
        In how many parts they are divided.
    input : Tensor
    use_reentrant, preserve_rng_state : bool
        As for `checkpoint`.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> from funcgrad.torch.utils.checkpoint import checkpoint_sequential
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint_sequential([torch.exp, torch.sin], 2, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([-2.4784,  3.3129])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be "
            "passed explicitly. In version 2.9 we will raise an exception if use_reentrant is not "
            "passed. use_reentrant=False is recommended, but if you need to preserve the current "
            "default behavior, you can pass use_reentrant=True. Refer to docs for more details on "
            "the differences between the two variants.",
            stacklevel=outside(),
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    parts = list(functions.children() if hasattr(functions, "children") else functions)
    size, end = len(parts) // segments, 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(
            _composed(parts[start:end]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
    return _composed(parts[end:])(input)


def _composed(parts: list[Any]) -> Callable[[Any], Any]:
    def run(input: Any) -> Any:
        for part in parts:
            input = part(input)
        return input

    return run


bound_names(__name__, ("checkpoint", "checkpoint_sequential"))
