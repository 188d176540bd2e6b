"""``torch.testing``: comparing tensors, numbers and containers of them, and drawing tensors."""

from __future__ import annotations

import cmath
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import funcgrad.torch as torch
from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.absent import absent
from funcgrad.torch.drawn_tensors import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

NARROW, WIDE = (1.3e-6, 1e-5), (1e-7, 1e-7)
TOLERANCES = {  # relative, absolute; of other dtypes 0
    torch.float16: (0.001, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: NARROW,
    torch.complex64: NARROW,
    torch.float64: WIDE,
    torch.complex128: WIDE,
}
NUMBERS = {int: torch.int64, float: torch.float64, complex: torch.complex128}
NUMBER = (int, float, complex, np.number)
Message = str | Callable[[str], str] | None
Place = tuple[Any, ...]


@dataclass(frozen=True)
class Options:
    """What is asked of a comparison."""

    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool

    def tolerances(self, *dtypes: Any) -> tuple[float, float]:
        """Those that are given, or the loosest of the dtypes."""
        if (self.rtol is None) != (self.atol is None):
            missing = "rtol" if self.rtol is None else "atol"
            raise ValueError(
                f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
            )
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        found = [TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
        return max(r for r, _ in found), max(a for _, a in found)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Raise unless tensors, numbers or containers of them agree but for rounding.

    Parameters
    ----------
    actual, expected : Tensor, array, number, None, or sequences and mappings of them
    rtol, atol : float, optional
        Both or neither; without them what their dtypes suggest.
    equal_nan : bool, optional
        Whether NaN agrees with NaN.
    check_dtype, check_stride, check_device, check_layout : bool, optional
        Whether these have to be the same.
    msg : str or callable, optional
        The text of the error, or what makes it of the usual one.

    Raises
    ------
    AssertionError
        The first difference, with its place and how large it is.
    TypeError
        What cannot be compared.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-7]))
    >>> torch.testing.assert_close({"a": 1.0}, {"a": 2.0})
    Traceback (most recent call last):
    ...
    AssertionError: Scalars are not close!
    ...
    """
    __tracebackhide__ = True
    options = Options(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype,
                      check_layout, check_stride)  # fmt: skip
    try:
        pairs = list(_pairs(actual, expected, (), options))
    except _Found as found:
        raise found.error(None) from None
    for place, compare in pairs:
        try:
            compare()
        except AssertionError as error:
            raise _Found(AssertionError, str(error), place).error(msg) from None


OLD_TOLERANCES = {
    torch.float16: (1e-3, 1e-3),
    torch.float32: (1e-4, 1e-5),
    torch.float64: (1e-5, 1e-8),
}
DEPRECATED = (
    "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future "
    "release. Please use `torch.testing.assert_close()` instead. You can find detailed upgrade "
    "instructions in https://github.com/pytorch/pytorch/issues/61844."
)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """`assert_close` of what tensors are made of, with wider tolerances; deprecated by PyTorch."""
    __tracebackhide__ = True
    warnings.warn(DEPRECATED, FutureWarning, stacklevel=outside())
    a = actual if isinstance(actual, Tensor) else torch.tensor(actual)
    b = expected if isinstance(expected, Tensor) else torch.tensor(expected, dtype=a.dtype)
    if rtol is None and atol is None:
        found = [OLD_TOLERANCES.get(x.dtype, (0.0, 0.0)) for x in (a, b)]
        rtol, atol = (max(pair) for pair in zip(*found, strict=True))
    assert_close(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False,
                 msg=msg or None)  # fmt: skip


class _Found(Exception):
    """A difference, or what keeps from looking, and where."""

    def __init__(self, kind: type[Exception], text: str, place: Place) -> None:
        super().__init__(text)
        self.kind, self.text, self.place = kind, text, place

    def error(self, msg: Message) -> Exception:
        if isinstance(msg, str):
            return self.kind(msg)
        text = self.text
        if self.place:
            text += f"\n\nThe failure occurred for item {''.join(f'[{x!r}]' for x in self.place)}"
        return self.kind(msg(text) if callable(msg) else text)


def _is_list(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, str)


def _pairs(
    actual: Any, expected: Any, place: Place, options: Options
) -> Iterator[tuple[Place, Callable[[], None]]]:
    """What is to be compared, each with its place; containers are checked before their parts."""
    if _is_list(actual) and _is_list(expected):
        if len(actual) != len(expected):
            text = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            raise _Found(AssertionError, text, place)
        for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
            yield from _pairs(a, b, (*place, i), options)
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        for key in _common_keys(actual, expected, place):
            yield from _pairs(actual[key], expected[key], (*place, key), options)
    else:
        try:
            yield place, _comparison(actual, expected, options)
        except (TypeError, ValueError) as error:
            raise _Found(type(error), str(error), place) from None


def _common_keys(actual: Any, expected: Any, place: Place) -> list[Any]:
    have, want = set(actual), set(expected)
    if have != want:
        text = (
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {sorted(want - have)}\n"
            f"Additional keys in the actual mapping: {sorted(have - want)}"
        )
        raise _Found(AssertionError, text, place)
    try:
        return sorted(have)
    except TypeError:  # keys that have no order
        return list(have)


def _comparison(actual: Any, expected: Any, options: Options) -> Callable[[], None]:
    """What compares two things that are no containers; TypeError for what has no comparison."""
    both = (actual, expected)
    if actual is None or expected is None:
        return lambda: _compare_none(actual, expected)
    if all(isinstance(x, (bool, np.bool_)) for x in both):
        return lambda: _compare_booleans(bool(actual), bool(expected))
    if all(isinstance(x, NUMBER) and not isinstance(x, bool) for x in both):
        a, b = (x.item() if isinstance(x, np.number) else x for x in both)
        tolerances = options.tolerances(*(NUMBERS[type(x)] for x in (a, b)))
        return lambda: _compare_numbers(a, b, tolerances, options)
    tensors = _as_tensors(actual, expected, options.allow_subclasses)
    if tensors is None:
        raise TypeError(
            "No comparison pair was able to handle inputs of type "
            f"{type(actual)} and {type(expected)}."
        )
    a, b = tensors
    allowed = options.tolerances(a.dtype, b.dtype)
    return lambda: _compare_tensors(a, b, allowed, options)


def _as_tensors(actual: Any, expected: Any, allow_subclasses: bool) -> Any:
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if not related or not (allow_subclasses or type(actual) is type(expected)):
        return None
    try:
        return [x if isinstance(x, Tensor) else torch.as_tensor(x) for x in (actual, expected)]
    except Exception:  # whatever makes no tensor
        return None


def _compare_none(actual: Any, expected: Any) -> None:
    if actual is not expected:
        raise AssertionError(f"None mismatch: {actual} is not {expected}")


def _compare_booleans(actual: bool, expected: bool) -> None:
    if actual is not expected:
        raise AssertionError(f"Booleans mismatch: {actual} is not {expected}")


def _compare_numbers(
    actual: Any, expected: Any, tolerances: tuple[float, float], options: Options
) -> None:
    # numbers need not have one type, unless somebody asks for it
    if options.check_dtype and type(actual) is not type(expected):
        kinds = f"{type(actual)} != {type(expected)}"
        raise AssertionError(f"The (d)types do not match: {kinds}.")
    if actual == expected or (options.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return
    rtol, atol = tolerances
    difference = abs(actual - expected)
    if cmath.isfinite(difference) and difference <= atol + rtol * abs(expected):
        return
    raise AssertionError(_numbers_text(actual, expected, tolerances))


def _compare_tensors(
    actual: Tensor, expected: Tensor, tolerances: tuple[float, float], options: Options
) -> None:
    for name, checked in [("shape", True), ("stride", options.check_stride),
                          ("device", options.check_device),
                          ("dtype", options.check_dtype)]:  # fmt: skip
        a, b = (_attribute(x, name) for x in (actual, expected))
        if checked and a != b:
            shown = "stride()" if name == "stride" else name
            raise AssertionError(f"The values for attribute '{shown}' do not match: {a} != {b}.")
    dtype = torch.promote_types(actual.dtype, expected.dtype)
    a, b = actual.detach().to(dtype), expected.detach().to(dtype)
    rtol, atol = tolerances
    matches = torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if matches.all():
        return
    if a.dim() == 0:
        raise AssertionError(_numbers_text(a.item(), b.item(), tolerances))
    raise AssertionError(_tensors_text(a, b, matches, tolerances))


def _attribute(x: Tensor, name: str) -> Any:
    found = getattr(x, name)
    return found() if name == "stride" else found


def _numbers_text(actual: Any, expected: Any, tolerances: tuple[float, float]) -> str:
    difference = abs(actual - expected)
    relative = float("inf") if expected == 0 else difference / abs(expected)
    extra = f"Expected {expected} but got {actual}."
    return _text("Scalars", extra, [(difference, None), (relative, None)], tolerances)


def _tensors_text(a: Tensor, b: Tensor, matches: Tensor, tolerances: tuple[float, float]) -> str:
    """How many elements differ, and where most."""
    x, y, agree = (t.numpy() for t in (a, b, matches))
    if x.dtype.kind not in "fc":
        x, y = x.astype(np.int64), y.astype(np.int64)
    with np.errstate(all="ignore"):
        difference = np.where(agree, 0, np.abs(x - y))
        size = np.abs(y)
        if size.dtype.kind != "f":  # PyTorch divides whole numbers in float32
            relative = (difference / size).astype(np.float32)
        else:
            relative = difference / size
        relative = np.where(agree, 0, relative)
    wrong = int((~agree).sum())
    extra = f"Mismatched elements: {wrong} / {agree.size} ({wrong / agree.size:.1%})"
    return _text("Tensor-likes", extra, [_largest(difference), _largest(relative)], tolerances)


def _largest(x: np.ndarray[Any, Any]) -> tuple[Any, tuple[int, ...]]:
    """The largest element, a NaN before all, and its place."""
    place = int(np.argmax(x))
    return x.flat[place].item(), tuple(int(i) for i in np.unravel_index(place, x.shape))


def _text(
    what: str, extra: str, differences: Sequence[Any], tolerances: tuple[float, float]
) -> str:
    rtol, atol = tolerances
    equal = rtol == 0 and atol == 0
    lines = [f"{what} are not {'equal' if equal else 'close'}!\n", extra]
    kinds = zip(("absolute", "relative"), differences, (atol, rtol), strict=True)
    for kind, (size, place), allowed in kinds:
        line = f"{kind.title()} difference: {size}"
        if place is not None:
            line = f"Greatest {kind} difference: {size} at index {place}"
        lines.append(line if equal else f"{line} (up to {allowed} allowed)")
    return "\n".join(lines)


absent(__name__)
