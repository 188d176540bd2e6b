"""The base class of distributions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import funcgrad.torch as torch
from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.utils import is_lazy
from funcgrad.torch.size import Size

__all__ = ["Distribution"]

NONE = Size(())


def library_class(kind: type) -> Any:
    """The class of this package that a class is or is made from."""
    package = __name__.rpartition(".")[0]
    return next(c for c in kind.__mro__ if c.__module__.startswith(package))


class Distribution:
    """A probability distribution, or a batch of them.

    Parameters
    ----------
    batch_shape : torch.Size
        Of independent distributions with parameters of their own.
    event_shape : torch.Size
        Of one draw of one of them.
    validate_args : bool, optional
        Whether parameters and arguments are looked at, and refused with a ValueError where they
        are not what they should be. `set_default_validate_args` says it for all.

    Notes
    -----
    `rsample` is differentiable in the parameters, `sample` is not recorded; `log_prob`, `cdf`,
    `icdf`, `entropy` and the moments are differentiable in all that is real, to every order.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> normal = torch.distributions.Normal(torch.zeros(2, 3), 1.0)
    >>> normal.batch_shape, normal.event_shape
    (torch.Size([2, 3]), torch.Size([]))
    >>> normal.sample((5,)).shape
    torch.Size([5, 2, 3])
    """

    has_rsample: bool = False
    has_enumerate_support: bool = False
    _validate_args: bool = __debug__
    _kept: tuple[str, ...] = ()  # attributes that a copy by `expand` shares
    _expanded: tuple[str, ...] = ()  # attributes besides the parameters that it broadcasts

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions made from now on look at their arguments."""
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Any = NONE, event_shape: Any = NONE,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._batch_shape: Size = batch_shape
        self._event_shape: Size = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            found = self.arg_constraints
        except NotImplementedError:
            found = {}
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints "
                "= {}` or initialize the distribution with `validate_args=False` to turn off "
                "validation.",
                stacklevel=outside(),
            )
        for name, constraint in found.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and is_lazy(type(self), name):
                continue
            value = getattr(self, name)
            if not constraints.holds(constraint, value):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n"
                    f"{constraints.shown(value)}"
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with its batch broadcast to a shape, without copying parameters."""
        owner = library_class(type(self))
        if owner in OPEN:
            raise NotImplementedError
        new = self._get_checked_instance(owner, _instance)
        shape, before = Size(batch_shape), len(self._batch_shape)
        for name, value in self.__dict__.items():
            if name in self._kept:
                setattr(new, name, value)
            elif isinstance(value, Distribution):
                setattr(new, name, value.expand(shape + value.batch_shape[before:]))
            elif name in self.arg_constraints or name in self._expanded:
                setattr(new, name, value.expand(shape + value.shape[before:]))
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw of one distribution."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """What each parameter has to satisfy."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """What draws satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Any:
        """The expected value."""
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        """The most likely value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws, which are not recorded."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws, differentiable in the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Any:
        """`n` draws; `sample((n,))` is the same."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.",
            FutureWarning,
            stacklevel=outside(),
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Any:
        """The logarithm of the density, or of the probability, at a value."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Any:
        """The probability of a draw that is not above a value."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Any:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values that a discrete distribution can draw."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """The expected value of `-log_prob`."""
        raise NotImplementedError

    def perplexity(self) -> Any:
        """The exponential of the entropy."""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size(Size(sample_shape) + self._batch_shape + self._event_shape)

    def _full(self, value: float, like: Tensor) -> Any:
        """One number for each element of a draw."""
        return torch.full(self._extended_shape(), value, dtype=like.dtype)

    def _checked(self, value: Any) -> None:
        """Look at an argument, if this distribution does."""
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, expected = value.size(), self._batch_shape + self._event_shape
        start = len(shape) - len(self._event_shape)
        if shape[start:] != self._event_shape:
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{shape} vs {self._event_shape}."
            )
        for i, j in zip(reversed(shape), reversed(expected), strict=False):
            if 1 not in (i, j) and i != j:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{shape} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=outside(),
            )
            return
        if not constraints.holds(support, value):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(shape)}) to be "
                f"within the support ({support!r}) of the distribution {self!r}, but found invalid "
                f"values:\n{constraints.shown(value)}"
            )

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        own: Callable[..., Any] = type(self).__init__
        if _instance is None and own != cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom "
                "__init__ method must also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        told = []
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                one = value.numel() == 1
                told.append(f"{name}: {constraints.shown(value) if one else value.size()}")
        return f"{self.__class__.__name__}({', '.join(told)})"


OPEN: list[type] = [Distribution]  # bases that know no parameters
