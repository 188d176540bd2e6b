"""The public face: `compile`, and the module that a compiled module is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.torch.compiling.compiled import Compiled
from funcgrad.torch.nn.modules.module import Module

__all__ = ["OptimizedModule", "compile"]

MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
BACKENDS = ("inductor", "funcgrad")


class OptimizedModule(Module):
    """A module that runs as a compiled program; the module itself is ``_orig_mod``.

    Parameters, buffers, attributes and modes are those of the module, names in the `state_dict`
    begin with ``_orig_mod.``.
    """

    def __init__(self, module: Module, fullgraph: bool) -> None:
        super().__init__()
        self._orig_mod = module
        self.__dict__["training"] = module.training
        self.__dict__["_compiled"] = Compiled(module, fullgraph)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_compiled"](*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self(*args, **kwargs)

    def report(self) -> str:
        """How many calls ran as programs, how many eagerly, and why."""
        text: str = self.__dict__["_compiled"].report()
        return text

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_orig_mod", "training"):
            super().__setattr__(name, value)
            if name == "training":
                self._orig_mod.training = value
        else:
            setattr(self._orig_mod, name, value)


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """A function, a training step or a module that runs as one compiled program.

    Parameters
    ----------
    model : callable or Module, optional
        What runs: also a step with ``backward()`` and optimizers. Without it a decorator is
        returned.
    fullgraph : bool, optional
        Whether to raise an error where a call would run eagerly.
    dynamic : bool, optional
        Not ``True``: a program is made for each set of shapes.
    backend : {"inductor", "funcgrad", "eager"}, optional
        The first two are the compiler of funcgrad; "eager" runs the function as it is.
    mode : str, optional
        PyTorch's names are accepted; there is one way to compile.
    options : dict, optional
        Not available.
    disable : bool, optional
        Whether to run the function as it is.

    Returns
    -------
    callable
        With the method ``report()``, which says how many calls ran as programs, how many eagerly,
        and why. Of a module it is a module with the same parameters.

    Raises
    ------
    RuntimeError
        An unknown mode or backend; with `fullgraph`, a call that cannot be compiled.

    Notes
    -----
    The first call of a kind runs the function once without numbers. What it does to tensors becomes
    the program: contents, gradients, the state of optimizers, random numbers. All else that it can
    see (numbers, flags, containers) is looked at on every call, and a change traces anew. A call
    that asks for numbers in Python (``loss.item()``, ``if loss > 1``), or changes anything but
    tensors, runs eagerly, with a warning that names the reason.

    The results can be differentiated: ``backward()`` goes on through the program.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> @torch.compile
    ... def step(x):
    ...     optimizer.zero_grad()
    ...     loss = (w * x).sum()
    ...     loss.backward()
    ...     optimizer.step()
    ...     return loss.detach()
    >>> step(torch.ones(2)), step(torch.ones(2))
    (tensor(3.), tensor(2.8000))
    >>> w
    tensor([0.8000, 1.8000], requires_grad=True)
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if options is not None:
        raise RuntimeError("options= are those of PyTorch's compiler; there are none here")
    if dynamic:
        raise RuntimeError(
            "dynamic=True is not available: a program is made for each set of shapes; leave it out"
        )
    if backend not in (*BACKENDS, "eager"):
        raise RuntimeError(f"Invalid backend: {backend!r}; there are {', '.join(BACKENDS)}, eager")
    if model is None:
        return lambda f: compile(
            f, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, disable=disable
        )
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if disable or backend == "eager":
        return model
    if isinstance(model, Module):
        return OptimizedModule(model, fullgraph)
    return Compiled(model, fullgraph)
