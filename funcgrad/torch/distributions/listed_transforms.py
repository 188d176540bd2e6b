"""Changes of variables of the parts of a tensor, each by its own."""

from __future__ import annotations

from typing import Any

import funcgrad.torch as torch
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.constraints import dependent_on_instance
from funcgrad.torch.distributions.transform_base import Transform
from funcgrad.torch.distributions.utils import lazy_property, sum_rightmost

__all__ = ["CatTransform", "StackTransform"]


class _Listed(Transform):
    """A base of those that are several, one for each piece along a dimension."""

    def __init__(self, tseq: Any, dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms: list[Transform] = list(tseq)
        self.dim = dim

    def _pieces(self, value: Any, name: str = "tensor") -> Any:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for {name} with {value.dim()} dimensions"
            )
        return value

    @property
    def bijective(self) -> Any:
        return all(t.bijective for t in self.transforms)


class CatTransform(_Listed):
    """A transform for each of some pieces that lie one after the other along a dimension."""

    def __init__(self, tseq: Any, dim: int = 0, lengths: Any = None, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})"
            )

    def _arguments(self) -> tuple[Any, ...]:
        return self.transforms, self.dim, self.lengths

    @lazy_property
    def event_dim(self) -> Any:
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> Any:
        return sum(self.lengths)

    def _pieces(self, value: Any, name: str = "tensor", short: str = "x") -> Any:
        super()._pieces(value, name)
        if value.size(self.dim) != self.length:
            raise AssertionError(
                f"{short}.size({self.dim}) = {value.size(self.dim)} must equal length {self.length}"
            )
        return value.split(self.lengths, self.dim)

    def _call(self, x: Any) -> Any:
        pieces = zip(self.transforms, self._pieces(x), strict=True)
        return torch.cat([t(piece) for t, piece in pieces], dim=self.dim)

    def _inverse(self, y: Any) -> Any:
        pieces = zip(self.transforms, self._pieces(y, short="y"), strict=True)
        return torch.cat([t.inv(piece) for t, piece in pieces], dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        terms = []
        pieces = self._pieces(x, "x"), self._pieces(y, "y", "y")
        for t, before, after in zip(self.transforms, *pieces, strict=True):
            term = t.log_abs_det_jacobian(before, after)
            terms.append(sum_rightmost(term, max(self.event_dim - t.event_dim, 0)))
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return torch.cat(terms, dim=dim) if dim < 0 else sum(terms)

    @dependent_on_instance()
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @dependent_on_instance()
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Listed):
    """A transform for each slice along a dimension."""

    def _arguments(self) -> tuple[Any, ...]:
        return self.transforms, self.dim

    def _pieces(self, value: Any, name: str = "tensor", short: str = "x") -> Any:
        super()._pieces(value, name)
        if value.size(self.dim) != len(self.transforms):
            raise AssertionError(
                f"{short}.size({self.dim}) = {value.size(self.dim)} must equal len(transforms) "
                f"{len(self.transforms)}"
            )
        return value.unbind(self.dim)

    def _call(self, x: Any) -> Any:
        pieces = zip(self.transforms, self._pieces(x), strict=True)
        return torch.stack([t(piece) for t, piece in pieces], dim=self.dim)

    def _inverse(self, y: Any) -> Any:
        pieces = zip(self.transforms, self._pieces(y, short="y"), strict=True)
        return torch.stack([t.inv(piece) for t, piece in pieces], dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        pieces = self._pieces(x, "x"), self._pieces(y, "y", "y")
        terms = [
            t.log_abs_det_jacobian(before, after)
            for t, before, after in zip(self.transforms, *pieces, strict=True)
        ]
        return torch.stack(terms, dim=self.dim)

    @dependent_on_instance()
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @dependent_on_instance()
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
