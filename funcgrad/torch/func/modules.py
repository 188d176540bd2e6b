"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from funcgrad.ops.shape import stack
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.modes import no_grad

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers than its own.

    Parameters
    ----------
    module : Module
    parameter_and_buffer_dicts : dict or sequence of dicts
        Tensors by their names in ``module.named_parameters()`` and ``named_buffers()``.
    args, kwargs
        What the module is called with; anything but a tuple is the only argument.
    tie_weights : bool
        Whether a parameter that has several names takes the tensor given under one of them.
    strict : bool
        Whether all names have to be given, and no others.

    Raises
    ------
    ValueError, RuntimeError
        A name is given twice, is unknown or (`strict`) is missing.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> new = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
    >>> torch.func.functional_call(layer, new, torch.tensor([1.0, 2.0]))
    tensor([3.])
    """
    tensors = _joined(parameter_and_buffer_dicts)
    given = args if isinstance(args, tuple) else () if args is None else (args,)
    with _replaced(module, _spread(module, tensors, tie_weights, strict)):
        return module(*given, **(kwargs or {}))


def _joined(dicts: Any) -> dict[str, Tensor]:
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts)}"
        )
    if not all(isinstance(d, dict) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    keys = [k for d in dicts for k in d]
    repeated = list(dict.fromkeys(k for k in keys if keys.count(k) > 1))
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous"
        )
    return {k: v for d in dicts for k, v in d.items()}


def _named(module: Any) -> dict[str, Any]:
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _spread(
    module: Any, tensors: dict[str, Tensor], tie_weights: bool, strict: bool
) -> dict[str, Tensor]:
    """The tensors by name, those of tied parameters under all names."""
    own = _named(module)
    unexpected = sorted(k for k in tensors if k not in own)
    out = dict(tensors)
    if tie_weights:
        names: dict[int, list[str]] = {}
        for name, x in own.items():
            names.setdefault(id(x), []).append(name)
        for group in names.values():
            values = {id(tensors[k]): tensors[k] for k in group if k in tensors}
            if len(values) > 1:
                raise ValueError(
                    f"functional_call got multiple values for keys {sorted(group)}, which are "
                    "tied. Consider using tie_weights=False"
                )
            for value in values.values():
                out.update(dict.fromkeys(group, value))
    missing = sorted(k for k in own if k not in out)
    if strict and (unexpected or missing):
        parts = []
        if unexpected:
            parts.append(f"Unexpected key(s): {', '.join(map(repr, unexpected))}.")
        if missing:
            parts.append(f"Missing key(s): {', '.join(map(repr, missing))}.")
        lines = "\n\t".join(["", *parts])
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:{lines}")
    return {k: x for k, x in out.items() if k in own}


@contextmanager
def _replaced(module: Any, tensors: dict[str, Tensor]) -> Iterator[None]:
    """While it holds, the module has these tensors in the place of its own."""
    before: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for name, x in tensors.items():
            owner, _, last = name.rpartition(".")
            where = module.get_submodule(owner) if owner else module
            table = where._parameters if last in where._parameters else where._buffers
            before.append((table, last, table[last]))
            table[last] = x
        yield
    finally:
        for table, last, old in reversed(before):
            table[last] = old


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several modules of one kind, stacked by name.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> params, _ = torch.func.stack_module_state([torch.nn.Linear(2, 1) for _ in range(3)])
    >>> params["weight"].shape
    torch.Size([3, 1, 2])
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({bool(m.training) for m in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return (
        {k: _stacked([p[k] for p in params], k) for k in params[0]},
        {k: _stacked([b[k] for b in buffers], k) for k in buffers[0]},
    )


def _stacked(tensors: Sequence[Tensor], name: str) -> Tensor:
    flags = {bool(t.requires_grad) for t in tensors}
    if len(flags) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    with no_grad():
        made = box(stack([t.content() for t in tensors]))
    return made.requires_grad_() if flags == {True} else made


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let the batch norms of a module forget their running moments, in place; the module.

    Such a module may run inside `vmap`, where a moment of all examples cannot be written.
    """
    from funcgrad.torch.nn.modules.channels import BatchNorm

    for module in root.modules():
        if isinstance(module, BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
