"""The text of a tensor: PyTorch's, to the letter.

All elements are written in one format that is found from the values: as integers with a point, with
a fixed number of decimals, or in scientific notation, padded to the widest. Rows are broken at the
width of the line; of a tensor with many elements only the edges are shown. What the numbers do not
say (dtype, gradient) follows as suffixes. The specification is ``torch/_tensor_str.py`` of PyTorch
2.13; elements are converted to Python's numbers first, which is exact, and written by Python.

The file imports NumPy and the dtypes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from funcgrad.torch import dtypes

__all__ = ["get_printoptions", "printoptions", "set_printoptions", "tensor_text"]


@dataclasses.dataclass(frozen=True)
class PrintOptions:
    """How tensors are written; see `set_printoptions`."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


class _Current:
    """Holds the options in force: one set of the process, as in PyTorch."""

    options: ClassVar[PrintOptions] = PrintOptions()


_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Choose how tensors are written. What is not given stays as it is, but for `sci_mode`.

    Parameters
    ----------
    precision : int, optional
        Decimals of floating numbers (at first 4).
    threshold : float, optional
        Tensors with more elements are shortened (at first 1000).
    edgeitems : int, optional
        Elements that a shortened tensor shows at either end of each dimension (at first 3).
    linewidth : int, optional
        Characters of a line (at first 80).
    profile : {'default', 'short', 'full'}, optional
        Values for the four options above, which those that are given override; other names are
        ignored.
    sci_mode : bool, optional
        Scientific notation always or never; by default as the values need it.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.torch.dtypes import float32
    >>> from funcgrad.torch.printing import set_printoptions, tensor_text
    >>> set_printoptions(precision=2)
    >>> tensor_text(np.float32([1.12345]), float32)
    'tensor([1.12])'
    >>> set_printoptions(profile="default")
    """
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    changes = dict(_PROFILES.get(profile, {})) if profile is not None else {}
    changes.update({name: value for name, value in given.items() if value is not None})
    _Current.options = dataclasses.replace(_Current.options, **changes, sci_mode=sci_mode)


def get_printoptions() -> dict[str, Any]:
    """The options in force, as keywords of `set_printoptions`.

    Examples
    --------
    >>> from funcgrad.torch.printing import get_printoptions
    >>> get_printoptions()
    {'precision': 4, 'threshold': 1000, 'edgeitems': 3, 'linewidth': 80, 'sci_mode': None}
    """
    return dataclasses.asdict(_Current.options)


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Set options of `set_printoptions` for the length of a ``with`` statement.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.torch.dtypes import float32
    >>> from funcgrad.torch.printing import printoptions, tensor_text
    >>> with printoptions(sci_mode=True):
    ...     tensor_text(np.float32(0.5), float32)
    'tensor(5.0000e-01)'
    """
    before = _Current.options
    set_printoptions(**options)
    try:
        yield
    finally:
        _Current.options = before


# One element


class ElementFormat(NamedTuple):
    """How one element is written: a format of Python, and the width to which it is padded."""

    spec: str = ""
    point: bool = False  # finite numbers end with a point: integers of a floating type
    width: int = 1

    def text(self, value: Any) -> str:
        return self.unpadded(value).rjust(self.width)

    def unpadded(self, value: Any) -> str:
        text = format(value, self.spec)
        return text + "." if self.point and math.isfinite(value) else text

    def fitted(self, values: Sequence[Any]) -> ElementFormat:
        return self._replace(width=max([1, *(len(self.unpadded(v)) for v in values)]))


class ComplexFormat(NamedTuple):
    """How one complex element is written: both parts, of which only the first is padded."""

    real: ElementFormat
    imag: ElementFormat

    @property
    def width(self) -> int:
        return self.real.width + self.imag.width + 1  # the sign between the parts is not counted

    def text(self, value: complex) -> str:
        imag = self.imag.text(value.imag).lstrip()
        return self.real.text(value.real) + ("" if imag[0] == "-" else "+") + imag + "j"


def format_of(shown: NDArray[Any], options: PrintOptions) -> ElementFormat | ComplexFormat:
    """The format that suits the elements that will be shown."""
    if shown.dtype.kind == "c":
        return ComplexFormat(
            _floating_format(shown.real, options), _floating_format(shown.imag, options)
        )
    if shown.dtype.kind == "f":
        return _floating_format(shown, options)
    return ElementFormat().fitted(shown.ravel().tolist())


def _floating_format(shown: NDArray[Any], options: PrintOptions) -> ElementFormat:
    values = [v for v in shown.ravel().tolist() if v != 0 and math.isfinite(v)]
    if not values:  # zeros, infinities and NaN stand unpadded, whatever the options
        return ElementFormat(".0f", point=True)
    magnitudes = [abs(v) for v in values]
    small, large = min(magnitudes), max(magnitudes)
    scientific = options.sci_mode
    if scientific is None:
        scientific = large / small > 1e3 or large > 1e8 or small < 1e-4
    if scientific:
        form = ElementFormat(f".{options.precision}e")
    elif all(v.is_integer() for v in values):
        form = ElementFormat(".0f", point=True)
    else:
        form = ElementFormat(f".{options.precision}f")
    return form.fitted(values)


# All elements


def contents_text(values: NDArray[Any], indent: int, options: PrintOptions) -> str:
    """The elements between brackets, where the lines after the first are indented."""
    if values.size == 0:
        return "[]"
    shortened = values.size > options.threshold
    shown = _edges(values, options.edgeitems) if shortened else values
    return _nested(values, indent, shortened, format_of(shown, options), options)


def _edges(values: NDArray[Any], count: int) -> NDArray[Any]:
    """The elements that a shortened tensor shows."""
    for axis, size in enumerate(values.shape):
        if size > 2 * count:
            ends = [*range(count), *range(size - count, size)]
            values = np.take(values, ends, axis)
    return values


def _nested(
    values: NDArray[Any],
    indent: int,
    shortened: bool,
    form: ElementFormat | ComplexFormat,
    options: PrintOptions,
) -> str:
    if values.ndim == 0:
        return form.text(values.item())

    def texts(part: NDArray[Any]) -> list[str]:
        if part.ndim == 1:
            return [form.text(value) for value in part.tolist()]
        return [_nested(inner, indent + 1, shortened, form, options) for inner in part]

    count = options.edgeitems
    if shortened and len(values) > 2 * count:
        dots = " ..." if values.ndim == 1 and count else "..."
        parts = [*texts(values[:count]), dots, *texts(values[len(values) - count :])]
    else:
        parts = texts(values)
    start = " " * (indent + 1)
    if values.ndim > 1:
        return "[" + ("," + "\n" * (values.ndim - 1) + start).join(parts) + "]"
    per_line = max(1, math.floor((options.linewidth - indent) / (form.width + 2)))
    lines = [", ".join(parts[k : k + per_line]) for k in range(0, len(parts), per_line)]
    return "[" + (",\n" + start).join(lines) + "]"


# The whole


def tensor_text(
    values: NDArray[Any],
    kind: dtypes.dtype,
    *,
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    prefix: str = "tensor(",
    contents: str | None = None,
    suffixes: Sequence[str] = (),
) -> str:
    """The text of a tensor, as ``repr`` gives it.

    Parameters
    ----------
    values : ndarray
        The elements, of any shape.
    kind : dtype
        The dtype of the tensor; it is written where the elements do not tell it, that is unless it
        is the default, the complex default, int64 or bool.
    requires_grad : bool, optional
        Write ``requires_grad=True``, unless there is a `grad_fn_name`.
    grad_fn_name : str, optional
        The name of the node of the graph that made the tensor.
    prefix : str, optional
        What the text begins with; a subclass of the tensor writes its name and a parenthesis.
    contents : str, optional
        Written in place of the elements.
    suffixes : sequence of str, optional
        Written last, such as ``tangent=...``.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.torch.dtypes import float32, float64
    >>> from funcgrad.torch.printing import tensor_text
    >>> x = np.full((2, 2), 27.0)
    >>> print(tensor_text(x, float32, grad_fn_name="MulBackward0"))
    tensor([[27., 27.],
            [27., 27.]], grad_fn=<MulBackward0>)
    >>> print(tensor_text(np.zeros((0, 3)), float64, requires_grad=True))
    tensor([], size=(0, 3), dtype=torch.float64, requires_grad=True)
    """
    options = _Current.options
    if contents is None:
        contents = contents_text(values, len(prefix), options)
    endings = _kind_suffixes(values, kind, options)
    if grad_fn_name is not None:
        endings.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        endings.append("requires_grad=True")
    return _with_suffixes(prefix + contents, [*endings, *suffixes], len(prefix), options.linewidth)


def _kind_suffixes(values: NDArray[Any], kind: dtypes.dtype, options: PrintOptions) -> list[str]:
    """The size and the dtype, where the elements do not show them."""
    default = dtypes.get_default_dtype()
    if values.size:
        sized = not options.edgeitems
        shown = {default, dtypes.default_complex_dtype(), dtypes.int64, dtypes.bool}
    else:
        sized = values.ndim != 1
        shown = {default}
    size = [f"size={values.shape}"] if sized else []
    return size if kind in shown else [*size, f"dtype={kind}"]


def _with_suffixes(text: str, suffixes: Sequence[str], indent: int, linewidth: int) -> str:
    """Append the suffixes, each on a new line where it does not fit, and close the parenthesis."""
    # One more than the length of the last line: where lines break, so do PyTorch's.
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if length + len(suffix) + 2 > linewidth:
            text += ",\n" + " " * indent + suffix
            length = indent + len(suffix)
        else:
            text += ", " + suffix
            length += len(suffix) + 2
    return text + ")"
