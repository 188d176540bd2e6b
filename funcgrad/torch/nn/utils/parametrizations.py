"""Parametrizations that are often used: `orthogonal`, `spectral_norm`, `weight_norm`."""

from __future__ import annotations

import enum
from typing import Any

import funcgrad.torch as torch
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.modes import no_grad
from funcgrad.torch.nn import functional as F
from funcgrad.torch.nn.modules.convolution import (
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from funcgrad.torch.nn.modules.module import Module
from funcgrad.torch.nn.utils.parametrize import register_parametrization
from funcgrad.torch.nn.utils.weight_norm import length_of, scaled_direction

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

TRANSPOSED = (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)


def tensor_of(module: Any, name: str) -> Tensor:
    """A tensor of a module; PyTorch's ValueError where there is none."""
    found = getattr(module, name, None)
    if not isinstance(found, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return found


# -------------------------------------------------------------------------------- weight norm


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return scaled_direction(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return length_of(weight, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Let a weight be a length times a direction, which are learnt apart (Salimans & Kingma 2016).

    Parameters
    ----------
    module : Module
    name : str, optional
        The weight; ``parametrizations.weight.original0`` is the length, ``original1`` the
        direction. States of the older `nn.utils.weight_norm` can be loaded.
    dim : int or None, optional
        The dimension whose places have lengths of their own; None: there is one length.

    Returns
    -------
    Module
        `module` itself.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(20, 40))
    >>> [tuple(p.shape) for p in layer.parametrizations.weight.parameters()]
    [(40, 1), (40, 20)]
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def older(_: Any, state: Any, prefix: str, *rest: Any) -> None:
        keys = [f"{prefix}{name}_{which}" for which in "gv"]
        if all(key in state for key in keys):
            for i, key in enumerate(keys):
                state[f"{prefix}parametrizations.{name}.original{i}"] = state.pop(key)

    module.register_load_state_dict_pre_hook(older)
    return module


# ------------------------------------------------------------------------------ spectral norm


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        rank = weight.ndim
        if not -rank <= dim < rank:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{rank}, {rank - 1}] but "
                f"got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps = dim % rank, eps
        if rank > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            for which, size in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(which, random_direction(matrix, size, eps))
            self._iterate(matrix, 15)

    def _iterate(self, matrix: Tensor, times: int) -> None:
        with no_grad():
            for _ in range(times):
                F.normalize(matrix.mv(self._v), dim=0, eps=self.eps, out=self._u)
                F.normalize(matrix.H.mv(self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # which the next call changes in place
        sigma = torch.vdot(u, matrix.mv(v))
        out: Tensor = weight / sigma
        return out

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight with one dimension first and the others as one."""
    if dim:
        weight = weight.permute(dim, *(d for d in range(weight.dim()) if d != dim))
    out: Tensor = weight.flatten(1)
    return out


def random_direction(like: Tensor, size: int, eps: float) -> Tensor:
    """A vector of length 1."""
    with no_grad():
        return F.normalize(like.new_empty(size).normal_(0, 1), dim=0, eps=eps)


def outputs_of(module: Any, dim: int | None) -> int:
    """The dimension of the outputs of a layer's weight."""
    return (1 if isinstance(module, TRANSPOSED) else 0) if dim is None else dim


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Divide a weight by its largest singular value (Miyato et al. 2018).

    It is estimated by the power method, which goes on each time the weight is read while training.

    Parameters
    ----------
    module : Module
    name : str, optional
    n_power_iterations : int, optional
        The steps of the power method at each time.
    eps : float, optional
        The least length of a vector that is normalised.
    dim : int, optional
        The dimension of the outputs; by default 0, for transposed convolutions 1.

    Returns
    -------
    Module
        `module` itself.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(20, 40))
    >>> bool(torch.linalg.matrix_norm(layer.weight, 2) < 1.2)
    True
    """
    weight = tensor_of(module, name)
    made = _SpectralNorm(weight, n_power_iterations, outputs_of(module, dim), eps)
    return register_parametrization(module, name, made)


# --------------------------------------------------------------------------------- orthogonal


class _OrthMaps(enum.Enum):
    matrix_exp = enum.auto()
    cayley = enum.auto()
    householder = enum.auto()


def _orthonormal(x: Tensor) -> Tensor:
    """The factor Q of a QR decomposition whose R has a real diagonal that is not negative."""
    q, r = torch.linalg.qr(x)
    out: Tensor = q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    return out


def _is_orthogonal(q: Tensor) -> bool:
    n, k = q.shape[-2:]
    return bool(
        torch.allclose(
            q.mH @ q, torch.eye(k, dtype=q.dtype), atol=10.0 * n * torch.finfo(q.dtype).eps
        )
    )


class _Orthogonal(Module):
    base: Any

    def __init__(
        self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.shape[-2] < x.shape[-1]
        if wide:
            x = x.mT
        if self.orthogonal_map is _OrthMaps.householder:
            q = self._reflections(x)
        else:
            q = self._rotation(x)
        if hasattr(self, "base"):
            q = self.base @ q
        out: Tensor = q.mT if wide else q
        return out

    def _reflections(self, x: Tensor) -> Tensor:
        a = x.tril(-1)
        tau = 2.0 / (1.0 + (a * a).sum(-2))
        signs = x.detach().diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        out: Tensor = torch.linalg.householder_product(a, tau) * signs
        return out

    def _rotation(self, x: Tensor) -> Any:
        n, k = x.shape[-2:]
        x = x.tril()
        if n != k:
            x = torch.cat([x, x.new_zeros(*x.shape[:-2], n, n - k)], -1)
        a = x - x.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            q = torch.matrix_exp(a)
        else:
            one = torch.eye(n, dtype=a.dtype)
            q = torch.linalg.solve(torch.add(one, a, alpha=-0.5), torch.add(one, a, alpha=0.5))
        return q[..., :k] if n != k else q

    def right_inverse(self, q: Tensor) -> Tensor:
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {q.shape}."
            )
        with no_grad():
            wide = q.shape[-2] < q.shape[-1]
            tall = q.mT if wide else q
            if hasattr(self, "base"):
                self.base = self._completed(tall)
                signs = torch.zeros_like(q)
                signs.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
                start: Tensor = signs
                return start
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley "
                    "parametrizations when use_trivialization=False."
                )
            found = self._reflected(tall)
            out: Tensor = found.mT if wide else found
            return out

    def _completed(self, q: Tensor) -> Tensor:
        """A square orthogonal matrix whose first columns are those of `q`, made orthonormal."""
        n, k = q.shape[-2:]
        if n == k:
            return q.clone() if _is_orthogonal(q) else _orthonormal(q)
        more = torch.randn(*q.shape[:-2], n, n - k, dtype=q.dtype)
        return _orthonormal(torch.cat([q, more], -1))

    def _reflected(self, q: Tensor) -> Tensor:
        """The reflections of `q` below the diagonal, and signs on it."""
        a, tau = torch.geqrf(q)
        signs = a.diagonal(dim1=-2, dim2=-1)
        signs.sign_()
        signs[tau == 0.0] *= -1
        out: Tensor = a
        return out


def orthogonal(
    module: Any,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Any:
    """Keep a matrix, or a batch of them, orthogonal (or unitary).

    Parameters
    ----------
    module : Module
    name : str, optional
    orthogonal_map : {"matrix_exp", "cayley", "householder"}, optional
        How parameters become a matrix: by the exponential (SciPy's) or the Cayley map of an
        antisymmetric one, or as a product of reflections. By default the first for square and
        complex matrices, else the last.
    use_trivialization : bool, optional
        Whether the parameters say how far the matrix is from where it began (Lezcano-Casado 2019).

    Returns
    -------
    Module
        `module` itself.

    Raises
    ------
    ValueError
        There is no such tensor, or it is no matrix; there is no such map.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(20, 40))
    >>> torch.allclose(layer.weight.T @ layer.weight, torch.eye(20), atol=1e-5)
    True
    """
    weight = tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    found = getattr(_OrthMaps, orthogonal_map, None)
    if found is None:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    made = _Orthogonal(weight, found, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
