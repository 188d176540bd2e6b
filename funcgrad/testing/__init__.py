"""Checks of derivatives against differences: `check_grads`."""

from funcgrad.testing.check import check_grads, derivative_along

__all__ = ["check_grads", "derivative_along"]
