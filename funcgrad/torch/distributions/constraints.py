"""What parameters and draws have to satisfy: `torch.distributions.constraints`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import funcgrad.torch as torch
from funcgrad.core.tracer import Tracer
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.staged import required
from funcgrad.torch.tensor_arrays import UnknownValueError
from funcgrad.transforms.batch import BatchTracer

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent",
    "dependent_property", "greater_than", "greater_than_eq", "half_open_interval", "independent",
    "integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky",
    "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive",
    "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector",
    "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


def holds(constraint: Constraint, value: Tensor) -> bool:
    """Whether a constraint holds for all elements, those of all examples of a `vmap` too."""
    return _all(constraint.check(value))


def _raw(x: Tensor) -> Any:
    """The numbers behind a tensor, of all examples of a `vmap`."""
    t: Any = x._t
    while isinstance(t, BatchTracer) or (isinstance(t, Tracer) and not t.abstract):
        t = t.value
    return known(t, "a check of a distribution (validate_args=False leaves it out)")


def shown(x: Tensor) -> str:
    """A tensor for a message; under `vmap` with all examples."""
    try:
        return f"{x}"
    except UnknownValueError:
        return f"{torch.tensor(_raw(x))}"


def _all(valid: Tensor) -> bool:
    """Whether all are true; in a compiled step each call looks, and raises eagerly if not."""
    return required(valid._t) or bool(np.all(_raw(valid)))


class Constraint:
    """A region of tensors; `check` says which elements, or events, lie within.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.distributions.constraints.positive.check(torch.tensor([-1.0, 2.0]))
    tensor([False,  True])
    """

    is_discrete: Any = False
    event_dim: Any = 0
    _bounds: tuple[str, ...] = ()

    def check(self, value: Any) -> Any:
        """A boolean for each element or event."""
        raise NotImplementedError

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={getattr(self, name)}" for name in self._bounds)
        return f"{self.__class__.__name__.removeprefix('_')}({told})"


class _Dependent(Constraint):
    """One that only an instance of a distribution knows."""

    def __init__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        """Whether the region is one of whole numbers."""
        return _determined(self._is_discrete, "is_discrete")

    @property
    def event_dim(self) -> Any:
        """How many dimensions belong to one event."""
        return _determined(self._event_dim, "event_dim")

    def __call__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> _Dependent:
        if is_discrete is NotImplemented:
            is_discrete = self._is_discrete
        if event_dim is NotImplemented:
            event_dim = self._event_dim
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


def _determined(value: Any, name: str) -> Any:
    if value is NotImplemented:
        raise NotImplementedError(f".{name} cannot be determined statically")
    return value


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint is one that only an instance knows."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of a class that says of itself, asked of the class, that it is dependent."""

    def __init__(
        self, fn: Any = None, *, is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:  # fmt: skip
        property.__init__(self, fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Any) -> Any:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def dependent_on_instance(
    is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
) -> Callable[[Callable[[Any], Any]], Any]:
    """`dependent_property` with a type that a checker of types can follow."""
    made: Any = _DependentProperty(is_discrete=is_discrete, event_dim=event_dim)
    return lambda function: made(function)


def _refuse_other(given: Any) -> None:
    if not isinstance(given, Constraint):
        raise AssertionError(f"base_constraint must be a Constraint, got {type(given).__name__}")


class _IndependentConstraint(Constraint):
    """One that holds for an event if it holds for all of its elements."""

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: Any) -> None:
        _refuse_other(base_constraint)
        count = reinterpreted_batch_ndims
        if not isinstance(count, int):
            raise AssertionError(
                f"reinterpreted_batch_ndims must be an int, got {type(count).__name__}"
            )
        if count < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {count}")
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, count
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        """Whether the region is one of whole numbers."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        """How many dimensions belong to one event."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        result = self.base_constraint.check(value)
        kept = result.dim() - self.reinterpreted_batch_ndims
        if kept < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_after(result, kept)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


def _all_after(result: Any, kept: int) -> Any:
    return result.reshape((*result.shape[:kept], -1)).all(-1)


class MixtureSameFamilyConstraint(Constraint):
    """That of the components of a mixture, for values without their dimension."""

    def __init__(self, base_constraint: Any) -> None:
        _refuse_other(base_constraint)
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        """Whether the region is one of whole numbers."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        """How many dimensions belong to one event."""
        return self.base_constraint.event_dim

    def check(self, value: Any) -> Any:
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_after(result, value.dim() - self.event_dim)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_constraint!r})"


def _zero_or_one(value: Any) -> Any:
    return (value == 0) | (value == 1)


def _whole(value: Any) -> Any:
    return value % 1 == 0


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return _zero_or_one(value)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        return _zero_or_one(value).all(-1) & value.sum(-1).eq(1)


class _Above(Constraint):
    """A base of those with a lower bound."""

    _bounds = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound
        super().__init__()


class _Below(Constraint):
    """A base of those with an upper bound."""

    _bounds = ("upper_bound",)

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound
        super().__init__()


class _Between(Constraint):
    """A base of those with two bounds."""

    _bounds = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound
        super().__init__()


class _IntegerInterval(_Between):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return _whole(value) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Below):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return _whole(value) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Above):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return _whole(value) & (value >= self.lower_bound)


class _Real(Constraint):
    def check(self, value: Any) -> Any:
        return value == value  # all but NaN


class _GreaterThan(_Above):
    def check(self, value: Any) -> Any:
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    def check(self, value: Any) -> Any:
        return self.lower_bound <= value


class _LessThan(_Below):
    def check(self, value: Any) -> Any:
        return value < self.upper_bound


class _Interval(_Between):
    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return (value.tril() == value).all(-1).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Any) -> Any:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value: Any) -> Any:
        least = torch.finfo(value.dtype).eps * value.size(-1) * 10  # 10 is an adjustable fudge
        norm = torch.linalg.norm(value.detach(), dim=-1)
        return super().check(value) & (norm - 1.0).abs().le(least).all(-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        square = value.shape[-2] == value.shape[-1]
        return torch.full(value.shape[:-2], square, dtype=torch.bool)


class _Symmetric(_Square):
    def check(self, value: Any) -> Any:
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        if value.shape[-2] != value.shape[-1] or not _all(symmetric):
            return symmetric
        return torch.linalg.eigvalsh(value.detach()).ge(0).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        if value.shape[-2] != value.shape[-1] or not _all(symmetric):
            return symmetric
        return torch.linalg.cholesky_ex(value.detach()).info.eq(0)


class _Listed(Constraint):
    """A base of those that are several, one for each piece along a dimension."""

    def __init__(self, cseq: Sequence[Any], dim: int = 0) -> None:
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        """Whether one of the regions is one of whole numbers."""
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> Any:
        """How many dimensions belong to one event."""
        return max(c.event_dim for c in self.cseq)

    def _check_dim(self, value: Any) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for value with {value.dim()} dimensions"
            )


class _Cat(_Listed):
    def __init__(self, cseq: Sequence[Any], dim: int = 0, lengths: Any = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})"
            )

    def check(self, value: Any) -> Any:
        self._check_dim(value)
        pieces = value.split(self.lengths, self.dim)
        checks = [c.check(v) for c, v in zip(self.cseq, pieces, strict=True)]
        return torch.cat(checks, self.dim)


class _Stack(_Listed):
    @property
    def event_dim(self) -> Any:
        """How many dimensions belong to one event."""
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Any) -> Any:
        self._check_dim(value)
        pieces = value.unbind(self.dim)
        checks = [c.check(v) for c, v in zip(self.cseq, pieces, strict=False)]
        return torch.stack(checks, self.dim)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
