"""A weight over its largest singular value, by a hook before each call: PyTorch's older way."""

from __future__ import annotations

from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.modes import no_grad
from funcgrad.torch.nn import functional as F
from funcgrad.torch.nn.parameter import Parameter
from funcgrad.torch.nn.utils.parametrizations import as_matrix, outputs_of, random_direction
from funcgrad.torch.nn.utils.weight_norm import refuse_lazy

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]


class SpectralNorm:
    """The hook: it computes the weight `name` from ``name_orig``, ``name_u`` and ``name_v``."""

    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.name, self.dim, self.eps = name, dim, eps
        self.n_power_iterations = n_power_iterations

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """The weight; the vectors go on in place where it is asked for."""
        weight, u, v = (getattr(module, f"{self.name}_{which}") for which in ("orig", "u", "v"))
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    F.normalize(matrix.t().mv(u), dim=0, eps=self.eps, out=v)
                    F.normalize(matrix.mv(v), dim=0, eps=self.eps, out=u)
                u, v = u.clone(), v.clone()  # which the next call changes
        out: Tensor = weight / u.dot(matrix.mv(v))
        return out

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, False)
        for which in ("", "_u", "_v", "_orig"):
            delattr(module, f"{self.name}{which}")
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


class StateHook:
    """What tells in the metadata of a state how the vectors are meant."""

    def __init__(self, hook: SpectralNorm) -> None:
        self.hook = hook

    def __call__(self, module: Any, state: Any, prefix: str, metadata: dict[str, Any]) -> None:
        versions = metadata.setdefault("spectral_norm", {})
        key = f"{self.hook.name}.version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.hook._version


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Divide a weight by its largest singular value; see `parametrizations.spectral_norm`.

    Raises
    ------
    RuntimeError
        The weight has such a hook.
    ValueError
        It is None, or there are no steps of the power method.
    """
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            raise RuntimeError(
                f"Cannot register two spectral_norm hooks on the same parameter {name}"
            )
    made = SpectralNorm(name, n_power_iterations, outputs_of(module, dim), eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    refuse_lazy(weight, "SpectralNorm", "spectral")
    sizes = as_matrix(weight, made.dim).shape
    u, v = (random_direction(weight, size, eps) for size in sizes)
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(made)
    module.register_state_dict_post_hook(StateHook(made))
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Make a weight a parameter again.

    Raises
    ------
    ValueError
        It has no such hook.
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for key, hook in module._state_dict_hooks.items():
        if isinstance(hook, StateHook) and hook.hook.name == name:
            del module._state_dict_hooks[key]
            break
    return module
