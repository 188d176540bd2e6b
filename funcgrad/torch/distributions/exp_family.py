"""Exponential families: entropies from the derivative of the logarithm of the normaliser."""

from __future__ import annotations

from typing import Any

import funcgrad.torch as torch
from funcgrad.torch.distributions.distribution import OPEN, Distribution
from funcgrad.torch.distributions.utils import sum_rightmost

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Densities exp(t(x)·θ - F(θ) + k(x)) with natural parameters θ.

    A subclass states `_natural_params`, `_log_normalizer` F and `_mean_carrier_measure`, the
    expected value of k; `entropy` and the divergence from another of its kind follow.
    """

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    _mean_carrier_measure: float = 0

    def _moments(self) -> tuple[Any, Any, Any]:
        """Natural parameters of their own, F of them and its derivatives."""
        given = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*given)
        return given, normalizer, torch.autograd.grad(normalizer.sum(), given, create_graph=True)

    def entropy(self) -> Any:
        given, normalizer, slopes = self._moments()
        result = normalizer - self._mean_carrier_measure
        for p, g in zip(given, slopes, strict=True):
            result = result - (p * g).reshape((*self._batch_shape, -1)).sum(-1)
        return result

    def _divergence(self, other: Any) -> Any:
        """The Bregman divergence of the normalisers."""
        given, normalizer, slopes = self._moments()
        result = other._log_normalizer(*other._natural_params) - normalizer
        for p, q, g in zip(given, other._natural_params, slopes, strict=True):
            result = result - sum_rightmost((q - p) * g, len(other.event_shape))
        return result


OPEN.append(ExponentialFamily)
